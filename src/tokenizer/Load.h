//===- Load.h - reads the files of a tokenizer ------------------*- C++ -*-===//

#ifndef PERPEND_TOKENIZER_LOAD_H
#define PERPEND_TOKENIZER_LOAD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace perpend::tokenizer {

/// A table as the runtime reads it, at an address that is a multiple of 8.
class TableBytes {
public:
  explicit TableBytes(llvm::StringRef bytes) : words((bytes.size() + 7) / 8), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(words.data()));
  }
  const void *data() const { return words.data(); }
  size_t sizeBytes() const { return size; }

private:
  std::vector<uint64_t> words;
  size_t size;
};

struct LoadOptions {
  /// How texts are split, by a name that GGUF files use ("llama-bpe"), where a file does not say it.
  std::string pattern;
};

/// Reads the bytes of a file. `path` says what it is where the bytes do not, and where other files lie.
llvm::Expected<TableBytes> readTokenizer(llvm::StringRef bytes, llvm::StringRef path, const LoadOptions &options = {});

/// Reads tokenizer.json, tokenizer.model (SentencePiece, or ranks of tiktoken), a GGUF file, vocab.txt, vocab.json with
/// merges.txt, or the first of these in a folder. Errors name the file.
llvm::Expected<TableBytes> loadTokenizer(llvm::StringRef path, const LoadOptions &options = {});
} // namespace perpend::tokenizer

#endif
