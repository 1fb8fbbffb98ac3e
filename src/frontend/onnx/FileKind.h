//===- FileKind.h - recognises files that are not ONNX models ---*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_FILEKIND_H
#define PERPEND_FRONTEND_ONNX_FILEKIND_H

#include "llvm/ADT/StringRef.h"

namespace perpend::onnx {

/// A format that is mistaken for ONNX, and how to get an ONNX model instead.
struct FileKind {
  llvm::StringRef name, hint;
};

/// Recognises the bytes of a file that could not be read; null for an unknown format.
const FileKind *kindOfFile(llvm::StringRef bytes);
} // namespace perpend::onnx

#endif
