//===- TableBuilder.h - collects and writes a tokenizer's table -*- C++ -*-===//

#ifndef PERPEND_TOKENIZER_TABLEBUILDER_H
#define PERPEND_TOKENIZER_TABLEBUILDER_H

#include "tokenizer/Pattern.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace perpend::tokenizer {

/// A token that is cut out of texts.
struct AddedTokenSpec {
  std::string text;
  uint32_t id = 0;
  uint32_t flags = 0; ///< AddedFlags
};

class TableBuilder {
public:
  // Head.
  Model model = Model::MergePairs;
  uint32_t flags = 0; ///< TableFlags
  uint32_t unknownId = noId, maxWordCharacters = 100;
  std::string continuingPrefix, wordSuffix;
  double unknownScore = 0;

  // Vocabulary.
  /// What a token decodes to. A later text of the same id replaces an earlier one.
  void setToken(uint32_t id, llvm::StringRef text, uint32_t tokenFlags);
  void addTokenFlags(uint32_t id, uint32_t tokenFlags) { tokens[id].flags |= tokenFlags; }
  /// An entry of the model. A later entry of the same text replaces an earlier one.
  void addPiece(llvm::StringRef text, uint32_t id, uint32_t pieceFlags = 0, double score = 0);
  std::optional<uint32_t> pieceId(llvm::StringRef text) const;
  llvm::StringRef tokenText(uint32_t id) const { return tokens[id].text; }
  uint32_t tokenFlags(uint32_t id) const { return tokens[id].flags; }
  size_t tokenCount() const { return tokens.size(); }
  size_t pieceCount() const { return pieces.size(); }
  void addMerge(const Merge &merge);
  bool hasMerge(uint32_t left, uint32_t right) const { return mergeIndex.count({left, right}); }
  /// The tokens <0x00> to <0xFF>, as far as they exist.
  void findByteTokens();
  std::vector<uint32_t> byteIds;
  std::vector<AddedTokenSpec> addedRaw, addedNormalized;
  std::vector<uint32_t> prefixIds, suffixIds;

  // Steps.
  std::vector<Step> normalizer, splitter, decoder;
  Text text(llvm::StringRef bytes);
  uint32_t characterClass(const CodeSet &set);
  llvm::Expected<uint32_t> pattern(llvm::StringRef text, bool isLiteral);
  uint32_t patternOf(const CodeSet &set);               ///< one character of a set
  uint32_t patternOfRuns(llvm::ArrayRef<CodeSet> sets); ///< as many characters of one of the sets as there are
  /// A step that maps characters. The maps are sorted here.
  Step mapCharacters(std::vector<CharacterMap> maps);
  Step normalForm(bool isCompatible, bool composes);
  llvm::Error setCharsmap(llvm::StringRef bytes);

  /// The table. Everything is as the runtime's openTable expects it.
  llvm::Expected<std::string> write();

private:
  struct TokenSpec {
    std::string text;
    uint32_t flags = 0;
  };
  struct PieceSpec {
    std::string text;
    uint32_t id, flags;
    double score;
  };

  void sortPieces();
  void writeSteps(Head &head, std::string &bytes);
  std::vector<AddedToken> sortedAdded(std::vector<AddedTokenSpec> specs);

  std::vector<TokenSpec> tokens;
  std::vector<PieceSpec> pieces;
  llvm::StringMap<uint32_t> pieceIndex;
  std::vector<Merge> merges;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, uint32_t> mergeIndex;
  std::string texts;
  std::vector<Instruction> instructions;
  std::vector<CodeSet> classSets;
  std::vector<CharacterClass> classes;
  std::vector<uint16_t> pages;
  std::vector<Bitmap> bitmaps;
  std::vector<CharacterMap> characters;
  std::vector<uint32_t> charsmapUnits;
  std::string charsmapTexts;
  bool needsForms = false, needsGraphemes = false;
};
} // namespace perpend::tokenizer

#endif
