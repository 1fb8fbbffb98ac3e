//===- Gguf.h - reads GGUF files --------------------------------*- C++ -*-===//
//
// A file consists of a header, metadata (pairs of a key and a value), descriptions of tensors, and their bytes,
// aligned. Versions 2 and 3 are supported, little endian. A checkpoint may be split into files such as
// NAME-00001-of-00003.gguf; the first has the metadata.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_GGUF_H
#define PERPEND_FRONTEND_CHECKPOINT_GGUF_H

#include "frontend/checkpoint/StoredTensors.h"

#include "llvm/Support/JSON.h"

namespace perpend::checkpoint {

/// The metadata of a file as JSON values. Arrays of texts, and of more than `mostElements` numbers, are those of
/// tokenizers: only their length is kept, as an object {"length": n}.
struct Metadata {
  static constexpr uint64_t mostElements = 4096;
  llvm::json::Object values;
};

/// Adds the tensors of one file. Errors: nullopt, and a message without the file's name.
std::optional<Metadata> readGguf(std::shared_ptr<llvm::MemoryBuffer> file, StoredTensors &tensors, std::string &error);

/// Reads a file and, if it is the first of several, all of them. Errors: nullopt, and a message.
std::optional<Metadata> readGgufCheckpoint(StringRef path, StoredTensors &tensors, std::string &error);
} // namespace perpend::checkpoint

#endif
