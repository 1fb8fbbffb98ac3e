//===- NodeValues.h - the inputs and outputs of ONNX's operators -*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_NODEVALUES_H
#define PERPEND_FRONTEND_ONNX_NODEVALUES_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {

/// What is wrong with the number of a node's inputs or outputs, or with one that is left out. Empty: nothing.
std::string complaintAboutValues(const NodeProto &node, const Operator &entry);
/// What is wrong with the element types of its inputs, of which some must have the same. Empty: nothing.
std::string complaintAboutTypes(const Node &node, const Operator &entry);
} // namespace perpend::onnx

#endif
