//===- Safetensors.h - reads safetensors files ------------------*- C++ -*-===//
//
// A file is the length of a header (8 bytes), the header, which is JSON, and
// the bytes of all tensors, without gaps. A checkpoint may be split into several
// files; then an index names the file of each tensor.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_SAFETENSORS_H
#define PERPEND_FRONTEND_CHECKPOINT_SAFETENSORS_H

#include "frontend/checkpoint/StoredTensors.h"

namespace perpend::checkpoint {

/// Adds the tensors of a file. Errors: false, and a message without the file's name.
bool readSafetensors(std::shared_ptr<llvm::MemoryBuffer> file, StoredTensors &tensors, std::string &error);

/// Adds the tensors of model.safetensors in this folder, or of the files that its index names. Errors: false, and a
/// message.
bool readSafetensorsFolder(StringRef folder, StoredTensors &tensors, std::string &error);
} // namespace perpend::checkpoint

#endif
