//===- Gguf.h - tokenizers in GGUF files ------------------------*- C++ -*-===//

#ifndef PERPEND_TOKENIZER_GGUF_H
#define PERPEND_TOKENIZER_GGUF_H

#include "tokenizer/TableBuilder.h"

#include <variant>

namespace perpend::tokenizer {

/// Values of a checkpoint's metadata by key. Texts lie in the file's bytes.
using MetadataValue = std::variant<int64_t, double, bool, llvm::StringRef, std::vector<int64_t>, std::vector<double>,
                                   std::vector<llvm::StringRef>>;
using Metadata = llvm::StringMap<MetadataValue>;

/// Reads the metadata of a GGUF file: versions 2 and 3, little-endian. Every count is compared with the bytes that are
/// left before anything is allocated.
llvm::Expected<Metadata> readGgufMetadata(llvm::StringRef bytes);

/// Reads the values with keys "tokenizer.ggml.*".
llvm::Error readGgufTokenizer(const Metadata &metadata, TableBuilder &builder);

/// Adds the splitter that GGUF files name by `tokenizer.ggml.pre`, and whether whole pieces are not merged. The error
/// for an unknown name lists the known ones.
llvm::Error addNamedPattern(llvm::StringRef name, TableBuilder &builder, bool *addsStart = nullptr);
} // namespace perpend::tokenizer

#endif
