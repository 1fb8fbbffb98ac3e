//===- Operators.h - the table of ONNX operators ----------------*- C++ -*-===//
//
// One table maps (domain, name, operator set) to a composite, when inputs and
// attributes mean the same, or to a function that adapts them.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_OPERATORS_H
#define PERPEND_FRONTEND_ONNX_OPERATORS_H

#include "frontend/onnx/Tensors.h"
#include "graph/composites/Composites.h"

namespace perpend::onnx {
using graph::Attributes;
using graph::Builder;
using graph::Results;
using graph::Shape;
using graph::SymbolicInt;
using mlir::Value;

/// What imports the graphs in a node's attributes, and parts of the graphs around it.
class SubgraphImporter {
public:
  /// The outputs, built at the builder's insertion point. Errors: nullopt.
  virtual std::optional<Results> importSubgraph(const GraphProto &graph, llvm::ArrayRef<Value> inputs) = 0;
  /// The value of that name computed anew by the nodes around, with others in the place of some that it depends on.
  /// Errors: null.
  virtual Value importAnew(StringRef name, const llvm::StringMap<Value> &replacements) = 0;
  /// The number of dimensions that the model declares for a value, if it does.
  virtual std::optional<int64_t> declaredRank(StringRef name) const = 0;
  /// "node 'a' (Conv)" of what was imported as this operator.
  virtual std::string labelOf(mlir::Operation *op) const = 0;

protected:
  ~SubgraphImporter() = default;
};

/// A node while it is imported. Absent inputs are null.
struct Node {
  Builder &builder;
  const NodeProto &proto;
  llvm::SmallVector<Value> inputs;
  /// Numbers, strings, lists and tensors; graphs are only in `proto`.
  Attributes attributes;
  /// Symbols in the place of numbers that the model was exported with, and these numbers.
  const llvm::StringMap<SymbolicInt> &freedDimensions;
  SubgraphImporter &subgraphs;

  /// Whether the first `count` inputs are there; an error otherwise.
  bool hasInputs(size_t count) const;
  Value input(size_t index) const { return index < inputs.size() ? inputs[index] : Value(); }
  /// A composite with these inputs and this node's attributes, some of them replaced or added.
  Results composite(StringRef name, llvm::ArrayRef<Value> operands,
                    llvm::ArrayRef<mlir::NamedAttribute> changes = {}) const;
  mlir::NamedAttribute attribute(StringRef name, mlir::Attribute value) const;
  mlir::NamedAttribute attribute(StringRef name, llvm::ArrayRef<SymbolicInt> dims) const;
  mlir::NamedAttribute attribute(StringRef name, llvm::ArrayRef<int64_t> integers) const;
  Results fail(const llvm::Twine &message) const;
  /// The graph in an attribute; null, with an error, when it is missing.
  const GraphProto *graph(StringRef name) const;
  /// The rank that the model declares for an output, if it does.
  std::optional<int64_t> declaredRank(size_t output = 0) const;
  /// Of an input that is a vector of unknown length: it has as many elements as the node needs. Binding checks that.
  /// Nothing without a count.
  void assumeLength(size_t index, std::optional<int64_t> count);
  /// The same of the last dimension of any tensor.
  void assumeLastExtent(size_t index, std::optional<int64_t> extent);
  /// The elements of an input that gives sizes, measured at run time where they are not known.
  std::optional<Shape> sizes(size_t index, StringRef what) const;
  /// The known elements of an input that decides about shapes; an error otherwise.
  std::optional<Shape> known(size_t index, StringRef what) const;
  std::optional<llvm::SmallVector<int64_t>> knownNumbers(size_t index, StringRef what) const;
};

/// The element type that an attribute names, or `otherwise`; null with an error for one without a counterpart.
mlir::Type typeAttribute(Node &node, StringRef name, mlir::Type otherwise = {});

using ImportFunction = Results (*)(Node &);

struct Operator {
  StringRef domain, name;
  /// Valid from this operator set on, until a later entry.
  int64_t since;
  /// Either a composite that takes the inputs and attributes as they are, or a function.
  StringRef composite;
  ImportFunction function;
  /// "110>1+": its formal inputs and outputs, as Operators.def says.
  StringRef values;
  /// "A.A": which formal inputs have one element type, as Operators.def says.
  StringRef types;
  /// "alpha:f axis:i": names and types, as Operators.def says.
  StringRef attributes;
};

/// Null when the operator is not supported.
const Operator *lookupOperator(StringRef domain, StringRef name, int64_t operatorSet);
/// The newest form of the same operator that is as wanted, or null.
const Operator *findForm(const Operator &entry, llvm::function_ref<bool(const Operator &)> isWanted);

// The functions of the table.
#define ONNX_COMPOSITE(DOMAIN, NAME, SINCE, COMPOSITE, VALUES, TYPES, ATTRIBUTES)
#define ONNX_FUNCTION(DOMAIN, NAME, SINCE, FUNCTION, VALUES, TYPES, ATTRIBUTES) Results FUNCTION(Node &node);
#include "frontend/onnx/Operators.def"
} // namespace perpend::onnx

#endif
