//===- GraphImporter.h - imports the nodes of ONNX graphs -------*- C++ -*-===//
//
// Imports the nodes of a graph in topological order. A graph in an attribute (a
// branch, the body of a loop) is imported at its node and sees the values of
// enclosing graphs; its own names hide theirs.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_GRAPHIMPORTER_H
#define PERPEND_FRONTEND_ONNX_GRAPHIMPORTER_H

#include "frontend/onnx/UserOperators.h"

#include <map>

namespace perpend::onnx {

/// The versions of operator sets that a model imports, by domain; "ai.onnx" is the same as "".
class OperatorSets {
public:
  /// Adds a set; returns the version of the domain, which is an earlier one if it already had one.
  int64_t add(const OperatorSet &set) { return versions.try_emplace(normal(set.domain), set.version).first->second; }
  std::optional<int64_t> versionOf(StringRef domain) const {
    auto found = versions.find(normal(domain));
    return found == versions.end() ? std::nullopt : std::optional(found->second);
  }

private:
  static std::string normal(StringRef domain) { return domain == "ai.onnx" ? "" : domain.str(); }
  std::map<std::string, int64_t> versions;
};

class GraphImporter : public SubgraphImporter {
public:
  GraphImporter(Builder &builder, TensorReader &tensors, const OperatorSets &operatorSets,
                const UserOperators &userOperators, const llvm::StringMap<SymbolicInt> &freedDimensions)
      : builder(builder), tensors(tensors), operatorSets(operatorSets), userOperators(userOperators),
        freedDimensions(freedDimensions) {}

  /// Enters a graph and registers its initializers, which become constants on first use.
  llvm::LogicalResult enter(const GraphProto &graph);
  bool isInitializer(StringRef name) const { return scopes.back().initializers.contains(name); }
  /// False: the innermost graph already has this name.
  bool define(StringRef name, Value value) { return scopes.back().values.try_emplace(name, value).second; }
  llvm::LogicalResult importNodes();
  /// The innermost value of that name. Errors: null.
  Value valueOf(StringRef name);
  /// The value that a graph returns, with the declared element type. Errors: null.
  Value outputOf(const ValueInfo &output);

  std::optional<Results> importSubgraph(const GraphProto &graph, llvm::ArrayRef<Value> inputs) override;
  Value importAnew(StringRef name, const llvm::StringMap<Value> &replacements) override;
  const ValueInfo *declared(StringRef name) const override;
  std::string labelOf(mlir::Operation *op) const override;

private:
  struct Scope {
    const GraphProto *graph; ///< null: nodes of other scopes, imported anew
    mlir::Block *block;
    llvm::StringMap<Value> values;
    llvm::StringMap<const TensorProto *> initializers;
    std::vector<const NodeProto *> order;
  };

  llvm::LogicalResult importNode(const NodeProto &proto);
  std::vector<const NodeProto *> nodesBetween(const llvm::StringMap<Value> &from, StringRef to) const;
  llvm::LogicalResult bindOutputs(const NodeProto &proto, llvm::ArrayRef<Value> results);
  /// Emits an error if another element type was declared.
  llvm::LogicalResult checkDeclared(const ValueInfo &declared, Value value);
  Attributes attributesOf(const NodeProto &proto);
  Value constantOf(Scope &scope, const TensorProto &tensor);

  Builder &builder;
  TensorReader &tensors;
  const OperatorSets &operatorSets;
  const UserOperators &userOperators;
  const llvm::StringMap<SymbolicInt> &freedDimensions;
  std::vector<Scope> scopes;
};
} // namespace perpend::onnx

#endif
