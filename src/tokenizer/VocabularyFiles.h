//===- VocabularyFiles.h - files of tokens without rules --------*- C++ -*-===//
//
// These files do not say how texts are split, so LoadOptions::pattern must.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TOKENIZER_VOCABULARYFILES_H
#define PERPEND_TOKENIZER_VOCABULARYFILES_H

#include "tokenizer/JsonReader.h"

namespace perpend::tokenizer {

/// Lines of a token in base64 and its rank, as tiktoken has them.
bool isRankFile(llvm::StringRef bytes);
llvm::Error readRankFile(llvm::StringRef bytes, llvm::StringRef pattern, TableBuilder &builder);

/// GPT-2's vocab.json (spellings and ids) with merges.txt.
llvm::Error readVocabularyAndMerges(const Object &vocabulary, llvm::StringRef merges, llvm::StringRef pattern,
                                    TableBuilder &builder);

/// BERT's vocab.txt, a token in each line; the pattern is "bert-cased" or "bert-uncased".
llvm::Error readWordList(llvm::StringRef bytes, llvm::StringRef pattern, TableBuilder &builder);
} // namespace perpend::tokenizer

#endif
