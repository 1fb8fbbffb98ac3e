//===- Order.h - the nodes of an ONNX graph in topological order -*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ORDER_H
#define PERPEND_FRONTEND_ONNX_ORDER_H

#include "frontend/onnx/Model.h"

#include "llvm/ADT/ArrayRef.h"

namespace perpend::onnx {

/// The node's name, or that of its first output.
StringRef nodeName(const NodeProto &node);

/// Every node after those whose outputs it uses, otherwise in the file's order. `known` are the names of inputs and
/// initializers. Errors: nullopt and a message: a name defined twice, an undefined name, a cycle.
std::optional<std::vector<const NodeProto *>> topologicalOrder(const GraphProto &graph, llvm::ArrayRef<StringRef> known,
                                                               std::string &error);
} // namespace perpend::onnx

#endif
