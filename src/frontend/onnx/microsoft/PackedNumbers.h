//===- PackedNumbers.h - unpacks numbers from bytes -------------*- C++ -*-===//
#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_PACKEDNUMBERS_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_PACKEDNUMBERS_H

#include "graph/builder/Builder.h"

namespace perpend::onnx {
/// Unpacks numbers of 2, 4 or 8 bits, lowest bits first, from the bytes of the last dimension. Propagates null.
mlir::Value unpackedNumbers(graph::Builder &builder, mlir::Value bytes, int64_t bits);
} // namespace perpend::onnx

#endif
