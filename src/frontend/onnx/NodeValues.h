//===- NodeValues.h - checks inputs and outputs of ONNX nodes ---*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_NODEVALUES_H
#define PERPEND_FRONTEND_ONNX_NODEVALUES_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {

/// Checks the number of a node's inputs and outputs, and which are absent. Empty: no error.
std::string complaintAboutValues(const NodeProto &node, const Operator &entry);
/// Checks the element types of its inputs, some of which must be equal. Empty: no error.
std::string complaintAboutTypes(const Node &node, const Operator &entry);
} // namespace perpend::onnx

#endif
