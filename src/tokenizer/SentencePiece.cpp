//===- SentencePiece.cpp - vocabularies of SentencePiece ------------------===//

#include "tokenizer/SentencePiece.h"
#include "tokenizer/Refusal.h"

#include "llvm/ADT/DenseMap.h"

#include <cfloat>

namespace perpend::tokenizer {
namespace {

using Entry = SentencePieceModel::Entry;
constexpr uint32_t unusedResult = 0x80000000; ///< in a merge: SentencePiece splits the piece again

bool isInModel(PieceType type) {
  return type == PieceType::Normal || type == PieceType::UserDefined || type == PieceType::Unused;
}

/// -1: the text is not <0xNN>.
int byteOf(llvm::StringRef text) {
  unsigned byte = 0;
  const bool isByte =
      text.size() == 6 && text.consume_front("<0x") && text.consume_back(">") && !text.getAsInteger(16, byte);
  return isByte ? static_cast<int>(byte) : -1;
}

class Adder {
public:
  Adder(TableBuilder &table, const SentencePieceModel &source) : builder(table), model(source) {}
  llvm::Error run();

private:
  llvm::Error addTokens();
  void addPieces();
  void addHiddenCharacters();
  void rankScores();
  void addMerges(const Entry &entry, uint32_t id);
  void addSteps();

  TableBuilder &builder;
  const SentencePieceModel &model;
  std::vector<float> scores; ///< of merges, without repeats, the highest first
};

llvm::Error Adder::addTokens() {
  const char *hint = "the file may be damaged; fetch it again";
  builder.byteIds.assign(256, noId);
  size_t bytes = 0;
  for (uint32_t id = 0; id < model.pieces.size(); ++id) {
    const Entry &entry = model.pieces[id];
    const int byte = byteOf(entry.text);
    if (entry.type == PieceType::Byte && byte < 0)
      return refuse("tokenizer: expected <0xNN> as a piece of a byte, got '" + entry.text + "'", hint);
    if (entry.type == PieceType::Byte)
      bytes += builder.byteIds[byte] == noId, builder.byteIds[byte] = id;
    if (entry.type == PieceType::Unknown)
      builder.unknownId = id;
    const uint32_t flags = entry.type == PieceType::Byte      ? TokenByte | static_cast<uint32_t>(byte) << 24
                           : entry.type == PieceType::Unknown ? TokenUnknown
                           : entry.type == PieceType::Control ? TokenControl | TokenSpecial
                                                              : 0;
    builder.setToken(id, entry.text, flags);
    if (entry.type == PieceType::Control || entry.type == PieceType::Unknown)
      builder.addedRaw.push_back({entry.text, id, AddedSpecial});
    if (entry.type == PieceType::UserDefined)
      builder.addedNormalized.push_back(
          {entry.text, id, model.kind == SentencePieceModel::Unigram ? AddedToModel : 0u});
  }
  if (builder.unknownId == noId)
    return refuse("tokenizer: expected a piece for unknown characters, got none", hint);
  if (model.fallsBackToBytes && bytes < 256)
    return refuse("tokenizer: expected pieces for 256 bytes, got " + llvm::Twine(bytes), hint);
  return llvm::Error::success();
}

/// The scores of Unigram as SentencePiece has them: in 32 bits, user-defined symbols above all others.
void Adder::addPieces() {
  float least = FLT_MAX, most = FLT_MIN;
  for (const Entry &entry : model.pieces)
    if (entry.type == PieceType::Normal) {
      least = std::min(least, entry.score);
      most = std::max(most, entry.score);
    }
  for (uint32_t id = 0; id < model.pieces.size(); ++id) {
    const Entry &entry = model.pieces[id];
    if (!isInModel(entry.type))
      continue;
    const bool isUser = entry.type == PieceType::UserDefined;
    const double userScore = static_cast<double>(static_cast<float>(entry.text.size()) * most) - 0.1;
    builder.addPiece(entry.text, id, entry.type == PieceType::Unused ? PieceUnused : 0,
                     isUser ? userScore : static_cast<double>(entry.score));
  }
  builder.unknownScore = static_cast<double>(least - 10);
}

/// Characters that are only parts of pieces are symbols too, with ids that no token has.
void Adder::addHiddenCharacters() {
  auto next = static_cast<uint32_t>(model.pieces.size());
  for (const Entry &entry : model.pieces)
    if (const auto codes = isInModel(entry.type) ? codesOf(entry.text) : std::nullopt)
      for (const uint32_t code : *codes) {
        std::string character;
        appendCode(character, code);
        if (!builder.pieceId(character))
          builder.addPiece(character, next++);
      }
}

void Adder::rankScores() {
  for (const Entry &entry : model.pieces)
    if (isInModel(entry.type))
      scores.push_back(entry.score);
  llvm::sort(scores, std::greater<float>());
  scores.erase(std::unique(scores.begin(), scores.end()), scores.end());
}

/// Each way to make the piece of two others.
void Adder::addMerges(const Entry &entry, uint32_t id) {
  const auto place = std::lower_bound(scores.begin(), scores.end(), entry.score, std::greater<float>());
  const auto rank = static_cast<uint32_t>(place - scores.begin());
  const uint32_t result = id | (entry.type == PieceType::Unused ? unusedResult : 0);
  const llvm::StringRef text = entry.text;
  for (size_t cut = 1; cut < text.size(); ++cut) {
    if ((static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80)
      continue;
    const std::optional<uint32_t> left = builder.pieceId(text.take_front(cut));
    const std::optional<uint32_t> right = left ? builder.pieceId(text.drop_front(cut)) : std::nullopt;
    if (right)
      builder.addMerge({*left, *right, rank, result});
  }
}

void Adder::addSteps() {
  const uint32_t flags = (model.addsPrefix ? SpacePrefix : 0u) | (model.removesExtraSpaces ? SpaceRemoveExtra : 0u) |
                         (model.escapesSpaces ? SpaceEscape : 0u) | (model.spaceIsSuffix ? SpaceAsSuffix : 0u);
  builder.flags |= KeepsBytes; // the map does not see the U+FFFD that stands for a byte
  builder.normalizer.push_back({StepKind::SentencePieceText, flags, 0, 0, 0, {0, 0}});
  const uint32_t drops = (model.addsPrefix ? 1u : 0u) | (model.removesExtraSpaces ? 2u : 0u);
  builder.decoder.push_back({StepKind::SentencePieces, drops, 0, 0, 0, builder.text(model.unknownSurface)});
}

llvm::Error Adder::run() {
  if (model.kind == SentencePieceModel::Word)
    return refuse("tokenizer: expected a SentencePiece model of kind unigram, bpe or char, got 'word'",
                  "train it as another kind");
  if (model.hasDenormalizer)
    return refuse("tokenizer: expected a SentencePiece model without a denormalizer, got one", "train it without");
  builder.flags |= SentencePiece | FuseUnknown | (model.fallsBackToBytes ? ByteFallback : 0);
  if (llvm::Error error = addTokens())
    return error;
  addPieces();
  if (!model.charsmap.empty())
    if (llvm::Error error = builder.setCharsmap(model.charsmap))
      return error;
  addSteps();
  if (model.kind == SentencePieceModel::Unigram) {
    builder.model = Model::Unigram;
    builder.flags |= FloatScores;
    return llvm::Error::success();
  }
  builder.model = Model::MergePairs;
  if (model.kind == SentencePieceModel::Character)
    return llvm::Error::success();
  addHiddenCharacters();
  rankScores();
  for (uint32_t id = 0; id < model.pieces.size(); ++id)
    if (isInModel(model.pieces[id].type))
      addMerges(model.pieces[id], id);
  return llvm::Error::success();
}

} // namespace

llvm::Error addSentencePiece(TableBuilder &builder, const SentencePieceModel &model) {
  return Adder(builder, model).run();
}
} // namespace perpend::tokenizer
