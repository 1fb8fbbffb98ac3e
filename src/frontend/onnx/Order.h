//===- Order.h - the nodes of an ONNX graph in topological order -*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ORDER_H
#define PERPEND_FRONTEND_ONNX_ORDER_H

#include "frontend/onnx/Model.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace perpend::onnx {

/// The node's name, or that of its first output.
StringRef nodeName(const NodeProto &node);

/// Whether the text of an attribute names values of the graph: xs, zs and y of a Gradient.
bool namesValues(const NodeProto &node, const AttributeProto &attribute);

/// The inputs of a node, and the names that its attributes, or graphs in them, take from outside.
llvm::SmallVector<StringRef> usedNames(const NodeProto &node);

using NamePredicate = llvm::function_ref<bool(StringRef)>;

/// Every node after those whose outputs it uses, in its own inputs or in graphs of its attributes; otherwise in the
/// file's order. `isKnown`: names of inputs and initializers, which no node may define again; `isOuter`: names that
/// graphs around define. Errors: nullopt and a message: a name defined twice, an undefined name, a cycle.
std::optional<std::vector<const NodeProto *>> topologicalOrder(const GraphProto &graph, NamePredicate isKnown,
                                                               NamePredicate isOuter, std::string &error);
} // namespace perpend::onnx

#endif
