//===- PackedNumbers.h - several numbers in a byte --------------*- C++ -*-===//
#ifndef PERPEND_FRONTEND_ONNX_MICROSOFT_PACKEDNUMBERS_H
#define PERPEND_FRONTEND_ONNX_MICROSOFT_PACKEDNUMBERS_H

#include "graph/builder/Builder.h"

namespace perpend::onnx {
/// Numbers of 2, 4 or 8 bits, low bits first, that are side by side in the bytes of the last dimension. Propagates
/// null.
mlir::Value unpackedNumbers(graph::Builder &builder, mlir::Value bytes, int64_t bits);
} // namespace perpend::onnx

#endif
