//===- AttributeNames.h - checks attributes of ONNX nodes -------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ATTRIBUTENAMES_H
#define PERPEND_FRONTEND_ONNX_ATTRIBUTENAMES_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {

/// Checks a node's attributes: one that its operator requires is missing; one does not exist in this operator set, has
/// another type, or occurs twice. Empty: no error.
std::string complaintAboutAttributes(const NodeProto &node, const Operator &entry, int64_t operatorSet);
} // namespace perpend::onnx

#endif
