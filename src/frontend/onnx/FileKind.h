//===- FileKind.h - what a file is that is no ONNX model --------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_FILEKIND_H
#define PERPEND_FRONTEND_ONNX_FILEKIND_H

#include "llvm/ADT/StringRef.h"

namespace perpend::onnx {

/// A format that is mistaken for ONNX, and how to get an ONNX model from it.
struct FileKind {
  llvm::StringRef name, hint;
};

/// By the bytes of a file that could not be read; null when they look like nothing that is known.
const FileKind *kindOfFile(llvm::StringRef bytes);
} // namespace perpend::onnx

#endif
