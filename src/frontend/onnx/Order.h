//===- Order.h - sorts the nodes of an ONNX graph topologically -*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ORDER_H
#define PERPEND_FRONTEND_ONNX_ORDER_H

#include "frontend/onnx/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace perpend::onnx {

/// The node's name, or that of its first output.
StringRef nodeName(const NodeProto &node);

/// Whether an attribute's text names values of the graph, like xs, zs and y of Gradient.
bool namesValues(const NodeProto &node, const AttributeProto &attribute);

/// The inputs of a node, and the outside names that its attributes, or graphs in them, use.
llvm::SmallVector<StringRef> usedNames(const NodeProto &node);

using NamePredicate = llvm::function_ref<bool(StringRef)>;

/// Every node after those whose outputs it uses, as inputs or in graphs of its attributes; otherwise in the file's
/// order. `isKnown`: names of inputs and initializers, which no node may redefine; `isOuter`: names defined by
/// enclosing graphs. Errors: nullopt and a message: a name defined twice, an undefined name, a cycle.
std::optional<std::vector<const NodeProto *>> topologicalOrder(const GraphProto &graph, NamePredicate isKnown,
                                                               NamePredicate isOuter, std::string &error);
} // namespace perpend::onnx

#endif
