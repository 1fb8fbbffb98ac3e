//===- AttributeNames.h - the attributes of ONNX's operators ----*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ATTRIBUTENAMES_H
#define PERPEND_FRONTEND_ONNX_ATTRIBUTENAMES_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {

/// What is wrong with a node's attributes: one that its operator requires and that is absent, one that the operator
/// does not have in this operator set, of another type, or given twice. Empty: nothing.
std::string complaintAboutAttributes(const NodeProto &node, const Operator &entry, int64_t operatorSet);
} // namespace perpend::onnx

#endif
