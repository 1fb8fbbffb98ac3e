//===- NodeValues.h - the inputs and outputs of ONNX's operators -*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_NODEVALUES_H
#define PERPEND_FRONTEND_ONNX_NODEVALUES_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {

/// What is wrong with the number of a node's inputs or outputs, or with one that is left out. Empty: nothing.
std::string complaintAboutValues(const NodeProto &node, const Operator &entry);
} // namespace perpend::onnx

#endif
