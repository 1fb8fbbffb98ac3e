//===- Operators.h - the table of ONNX operators ----------------*- C++ -*-===//
//
// A table that maps (domain, name, operator set) to a composite, if inputs and
// attributes have the same meaning, or to a function that adapts them.
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

/// Imports the graphs in a node's attributes, and parts of enclosing graphs.
class SubgraphImporter {
public:
  /// Builds the graph at the builder's insertion point and returns its outputs. Errors: nullopt.
  virtual std::optional<Results> importSubgraph(const GraphProto &graph, llvm::ArrayRef<Value> inputs) = 0;
  /// Imports the nodes that compute a value once more, with replacements for some values that it depends on. Errors:
  /// null.
  virtual Value importAnew(StringRef name, const llvm::StringMap<Value> &replacements) = 0;
  /// What the model declares about a value of the graph that is being imported; null: nothing.
  virtual const ValueInfo *declared(StringRef name) const = 0;
  /// "node 'a' (Conv)": the node from which this operator was imported.
  virtual std::string labelOf(mlir::Operation *op) const = 0;

protected:
  ~SubgraphImporter() = default;
};

/// A node during import. Absent inputs are null.
struct Node {
  Builder &builder;
  const NodeProto &proto;
  llvm::SmallVector<Value> inputs;
  /// Numbers, strings, lists and tensors; graphs are only in `proto`.
  Attributes attributes;
  /// Symbols that replace numbers of the exported model, with these numbers.
  const llvm::StringMap<SymbolicInt> &freedDimensions;
  SubgraphImporter &subgraphs;

  /// Whether the first `count` inputs are present; otherwise emits an error.
  bool hasInputs(size_t count) const;
  Value input(size_t index) const { return index < inputs.size() ? inputs[index] : Value(); }
  /// Expands a composite with these inputs and this node's attributes, some of them replaced or added.
  Results composite(StringRef name, llvm::ArrayRef<Value> operands,
                    llvm::ArrayRef<mlir::NamedAttribute> changes = {}) const;
  mlir::NamedAttribute attribute(StringRef name, mlir::Attribute value) const;
  mlir::NamedAttribute attribute(StringRef name, llvm::ArrayRef<SymbolicInt> dims) const;
  mlir::NamedAttribute attribute(StringRef name, llvm::ArrayRef<int64_t> integers) const;
  Results fail(const llvm::Twine &message) const;
  /// The graph in an attribute; null, with an error, if it is missing.
  const GraphProto *graph(StringRef name) const;
  /// The rank that the model declares for an output, if any.
  std::optional<int64_t> declaredRank(size_t output = 0) const;
  /// Whether the model declares the same extent for a dimension of an input and of an output.
  bool declaresSameExtent(size_t input, size_t output, size_t dim) const;
  /// For a vector of unknown length: requires that it has as many elements as the node needs. Does nothing without a
  /// count.
  void assumeLength(size_t index, std::optional<int64_t> count);
  /// The same for the last dimension of any tensor.
  void assumeLastExtent(size_t index, std::optional<int64_t> extent);
  /// The elements of an input that gives sizes, measured at run time if unknown.
  std::optional<Shape> sizes(size_t index, StringRef what) const;
  /// The known elements of an input that determines shapes; an error if unknown.
  std::optional<Shape> known(size_t index, StringRef what) const;
  std::optional<llvm::SmallVector<int64_t>> knownNumbers(size_t index, StringRef what) const;
};

/// The element type named by an attribute, or `otherwise`; null, with an error, for an unsupported type.
mlir::Type typeAttribute(Node &node, StringRef name, mlir::Type otherwise = {});

using ImportFunction = Results (*)(Node &);

struct Operator {
  StringRef domain, name;
  /// The first operator set for which this entry is valid, until a later entry.
  int64_t since;
  /// Either a composite that takes inputs and attributes unchanged, or a function.
  StringRef composite;
  ImportFunction function;
  /// "110>1+": its formal inputs and outputs, as Operators.def says.
  StringRef values;
  /// "A.A": which formal inputs have one element type, as Operators.def says.
  StringRef types;
  /// "alpha:f axis:i": names and types, as Operators.def says.
  StringRef attributes;
};

/// Null if the operator is not supported.
const Operator *lookupOperator(StringRef domain, StringRef name, int64_t operatorSet);
/// The newest form of the same operator for which `isWanted` is true, or null.
const Operator *findForm(const Operator &entry, llvm::function_ref<bool(const Operator &)> isWanted);

// The functions of the table.
#define ONNX_COMPOSITE(DOMAIN, NAME, SINCE, COMPOSITE, VALUES, TYPES, ATTRIBUTES)
#define ONNX_FUNCTION(DOMAIN, NAME, SINCE, FUNCTION, VALUES, TYPES, ATTRIBUTES) Results FUNCTION(Node &node);
#include "frontend/onnx/Operators.def"
} // namespace perpend::onnx

#endif
