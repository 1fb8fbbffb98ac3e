//===- SentencePiece.h - vocabularies of SentencePiece ----------*- C++ -*-===//

#ifndef PERPEND_TOKENIZER_SENTENCEPIECE_H
#define PERPEND_TOKENIZER_SENTENCEPIECE_H

#include "tokenizer/TableBuilder.h"

namespace perpend::tokenizer {

enum class PieceType { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };

struct SentencePieceModel {
  struct Entry {
    std::string text;
    float score = 0;
    PieceType type = PieceType::Normal;
  };
  enum Kind { Unigram = 1, MergePairs = 2, Word = 3, Character = 4 } kind = Unigram;
  std::vector<Entry> pieces;
  bool fallsBackToBytes = false, spaceIsSuffix = false;
  bool addsPrefix = true, removesExtraSpaces = true, escapesSpaces = true;
  std::string charsmap, unknownSurface = " \xE2\x81\x87 ";
  bool hasDenormalizer = false;
};

/// Reads a tokenizer.model.
llvm::Expected<SentencePieceModel> readSentencePieceModel(llvm::StringRef bytes);

llvm::Error addSentencePiece(TableBuilder &builder, const SentencePieceModel &model);
} // namespace perpend::tokenizer

#endif
