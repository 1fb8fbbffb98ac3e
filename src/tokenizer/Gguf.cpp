//===- Gguf.cpp - tokenizers in GGUF files --------------------------------===//

#include "tokenizer/Gguf.h"
#include "tokenizer/JsonReader.h"
#include "tokenizer/Refusal.h"
#include "tokenizer/SentencePiece.h"

#include "llvm/ADT/StringExtras.h"

namespace perpend::tokenizer {
namespace {

constexpr char damaged[] = "the file may be damaged; fetch it again";

//===----------------------------------------------------------------------===//
// Splits by name
//===----------------------------------------------------------------------===//

constexpr uint32_t None = 0, AddsStart = 1u << 30, Composes = 1u << 29; // and WholePieces
struct NamedSplit {
  llvm::StringRef names;
  uint32_t flags;
  const char *patterns[6];
};
constexpr NamedSplit splits[] = {
#define SPLIT(names, flags, ...) {names, flags, {__VA_ARGS__}},
#include "tokenizer/NamedPatterns.def"
#undef SPLIT
};

//===----------------------------------------------------------------------===//
// Vocabularies
//===----------------------------------------------------------------------===//

class Reader {
public:
  Reader(const Metadata &values, TableBuilder &table) : metadata(values), builder(table) {}
  llvm::Error read();

private:
  template <typename T> const T *find(llvm::StringRef key) const {
    auto found = metadata.find(("tokenizer.ggml." + key).str());
    return found == metadata.end() ? nullptr : std::get_if<T>(&found->second);
  }
  template <typename T> T valueOr(llvm::StringRef key, T otherwise) const {
    const T *found = find<T>(key);
    return found ? *found : otherwise;
  }
  llvm::Error readTokens();
  llvm::Error readPieces(SentencePieceModel::Kind kind);
  llvm::Error readMergePairs();
  llvm::Error readMerges();
  llvm::Error readWords();
  llvm::Error addEnds(bool addsStart, bool addsEnd);
  uint32_t idOf(llvm::StringRef key) const {
    const int64_t id = valueOr<int64_t>(key, -1);
    return id < 0 || id >= static_cast<int64_t>(texts.size()) ? noId : static_cast<uint32_t>(id);
  }
  PieceType typeOf(size_t id) const { return types.empty() ? PieceType::Normal : static_cast<PieceType>(types[id]); }

  const Metadata &metadata;
  TableBuilder &builder;
  std::vector<llvm::StringRef> texts;
  std::vector<int64_t> types;
};

llvm::Error Reader::readTokens() {
  if (const auto *list = find<std::vector<llvm::StringRef>>("tokens"))
    texts = *list;
  if (const auto *list = find<std::vector<int64_t>>("token_type"))
    types = *list;
  if (texts.empty() || texts.size() > maxTokens || (!types.empty() && types.size() != texts.size()))
    return refuse("tokenizer.ggml: expected tokens and as many types, got " + llvm::Twine(texts.size()) + " and " +
                      llvm::Twine(types.size()),
                  damaged);
  for (const int64_t type : types)
    if (type < 0 || type > 6)
      return refuse("tokenizer.ggml.token_type: expected 0 to 6, got " + llvm::Twine(type), damaged);
  return llvm::Error::success();
}

llvm::Error Reader::addEnds(bool addsStart, bool addsEnd) {
  addsStart = valueOr("add_bos_token", addsStart);
  addsEnd = valueOr("add_eos_token", addsEnd);
  const uint32_t start = idOf("bos_token_id"), end = idOf("eos_token_id");
  if ((addsStart && start == noId) || (addsEnd && end == noId))
    return refuse("tokenizer.ggml: expected the ids of the tokens to add, got none", damaged);
  if (addsStart)
    builder.prefixIds.push_back(start);
  if (addsEnd)
    builder.suffixIds.push_back(end);
  return llvm::Error::success();
}

/// A vocabulary of SentencePiece. Pieces of the kind "unknown" are spare ones, but for the one that the file names.
llvm::Error Reader::readPieces(SentencePieceModel::Kind kind) {
  SentencePieceModel model;
  const auto *scores = find<std::vector<double>>("scores");
  if (!scores || scores->size() < texts.size())
    return refuse("tokenizer.ggml.scores: expected " + llvm::Twine(texts.size()) + " scores, got " +
                      llvm::Twine(scores ? scores->size() : 0),
                  damaged);
  const uint32_t unknown = idOf("unknown_token_id");
  size_t bytes = 0;
  for (size_t id = 0; id < texts.size(); ++id) {
    PieceType type = typeOf(id);
    if (texts[id].empty() || (*scores)[id] != (*scores)[id])
      return refuse("tokenizer.ggml: expected tokens with a text and a score, got another with id " + llvm::Twine(id),
                    damaged);
    if (unknown != noId && (id == unknown || type == PieceType::Unknown))
      type = id == unknown ? PieceType::Unknown : PieceType::Control;
    bytes += type == PieceType::Byte;
    model.pieces.push_back(
        {texts[id].str(), static_cast<float>((*scores)[id]), type == PieceType{} ? PieceType::Normal : type});
  }
  model.kind = kind;
  model.fallsBackToBytes = bytes >= 256;
  model.addsPrefix = valueOr("add_space_prefix", true);
  model.removesExtraSpaces = valueOr("remove_extra_whitespaces", false);
  if (const auto *map = find<std::vector<int64_t>>("precompiled_charsmap"))
    for (const int64_t byte : *map)
      model.charsmap.push_back(static_cast<char>(byte));
  if (llvm::Error error = addSentencePiece(builder, model))
    return error;
  return kind == SentencePieceModel::Unigram ? addEnds(false, true) : addEnds(true, false);
}

llvm::Error Reader::readMerges() {
  const auto *merges = find<std::vector<llvm::StringRef>>("merges");
  if (!merges)
    return refuse("tokenizer.ggml.merges: expected a list of pairs, got nothing", damaged);
  uint32_t rank = 0;
  for (const llvm::StringRef merge : *merges) {
    const size_t space = merge.find(' ', 1);
    const llvm::StringRef left = merge.take_front(space), right = merge.substr(space).drop_front(space < merge.size());
    const std::optional<uint32_t> leftId = builder.pieceId(left), rightId = builder.pieceId(right),
                                  result = builder.pieceId((left + right).str());
    if (!leftId || !rightId || !result)
      return refuse("tokenizer.ggml.merges: expected pairs of tokens, got '" + merge + "'", damaged);
    builder.addMerge({*leftId, *rightId, rank++, *result});
  }
  return llvm::Error::success();
}

/// Byte-level: tokens are spelt in GPT-2's letters, but special and user-defined ones as they are.
llvm::Error Reader::readMergePairs() {
  builder.model = Model::MergePairs;
  builder.flags |= KeepsBytes;
  for (uint32_t id = 0; id < texts.size(); ++id) {
    const PieceType type = typeOf(id);
    const bool isSpecial = type == PieceType::Control || type == PieceType::Unknown;
    builder.setToken(id, texts[id], isSpecial ? TokenSpecial : 0);
    if (texts[id].empty())
      continue;
    builder.addPiece(texts[id], id);
    if (isSpecial || type == PieceType::UserDefined)
      builder.addedRaw.push_back({texts[id].str(), id, isSpecial ? AddedSpecial : 0u});
  }
  if (llvm::Error error = readMerges())
    return error;
  const llvm::StringRef name = valueOr<llvm::StringRef>("pre", "");
  if (name.empty() || name == "default")
    return refuse("tokenizer.ggml.pre: expected the name of a way to split texts, got '" + name + "'",
                  "make the file again with a newer converter, which writes the name");
  bool addsStart = false;
  if (llvm::Error error = addNamedPattern(name, builder, &addsStart))
    return error;
  builder.decoder.push_back({StepKind::LettersToBytes, 0, 0, 0, 0, {0, 0}});
  return addEnds(addsStart, false);
}

/// WordPiece: tokens at the start of a word have the mark of a space before them, others nothing.
llvm::Error Reader::readWords() {
  builder.model = Model::WordPiece;
  builder.continuingPrefix = "##";
  builder.maxWordCharacters = unlimited;
  for (uint32_t id = 0; id < texts.size(); ++id) {
    llvm::StringRef text = texts[id];
    const bool isSpecial = typeOf(id) == PieceType::Control || typeOf(id) == PieceType::Unknown;
    const bool isStart = text.consume_front("\xE2\x96\x81");
    const std::string spelling = isSpecial || isStart ? text.str() : ("##" + text).str();
    builder.setToken(id, spelling, isSpecial ? TokenSpecial : 0);
    if (isSpecial && !spelling.empty())
      builder.addedRaw.push_back({spelling, id, AddedSpecial});
    else if (!spelling.empty())
      builder.addPiece(spelling, id);
  }
  builder.unknownId = idOf("unknown_token_id");
  const uint32_t start = idOf("cls_token_id") != noId ? idOf("cls_token_id") : idOf("bos_token_id");
  const uint32_t end = idOf("seperator_token_id") != noId ? idOf("seperator_token_id") : idOf("separator_token_id");
  if (builder.unknownId == noId || start == noId || end == noId)
    return refuse("tokenizer.ggml: expected ids of the unknown, the start and the separator token, got less", damaged);
  builder.prefixIds.push_back(start);
  builder.suffixIds.push_back(end);
  const bool lowers = valueOr("normalizer.lowercase", true);
  addBertNormalizer(builder, /*cleans=*/true, /*spacesChinese=*/true, valueOr("normalizer.strip_accents", lowers),
                    lowers);
  addBertSplitter(builder);
  builder.decoder.push_back({StepKind::WordPieces, 1, 0, 0, 0, builder.text("##")});
  return llvm::Error::success();
}

llvm::Error Reader::read() {
  const llvm::StringRef model = valueOr<llvm::StringRef>("model", "");
  if (model.empty())
    return refuse("tokenizer.ggml.model: expected the kind of the tokenizer, got nothing", "the file has no tokenizer");
  if (llvm::Error error = readTokens())
    return error;
  if (model == "llama")
    return readPieces(SentencePieceModel::MergePairs);
  if (model == "t5")
    return readPieces(SentencePieceModel::Unigram);
  if (model == "gpt2")
    return readMergePairs();
  if (model == "bert")
    return readWords();
  return refuse("tokenizer.ggml.model: no tokenizer is named '" + model + "', expected llama, gpt2, bert or t5",
                "use the model's tokenizer.json");
}

} // namespace

llvm::Error addNamedPattern(llvm::StringRef name, TableBuilder &builder, bool *addsStart) {
  std::vector<llvm::StringRef> known;
  for (const NamedSplit &split : splits) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::SplitString(split.names, names);
    known.insert(known.end(), names.begin(), names.end());
    if (!llvm::is_contained(names, name))
      continue;
    if (split.flags & Composes)
      builder.normalizer.push_back(builder.normalForm(/*isCompatible=*/false, /*composes=*/true));
    for (const char *pattern : split.patterns)
      if (pattern)
        builder.splitter.push_back(
            {StepKind::Split, Isolated, llvm::cantFail(builder.pattern(pattern, /*isLiteral=*/false)), 0, 0, {0, 0}});
    builder.splitter.push_back({StepKind::ByteLetters, 0, 0, 0, 0, {0, 0}});
    builder.flags |= KeepsBytes | (split.flags & WholePieces);
    if (addsStart)
      *addsStart = split.flags & AddsStart;
    return llvm::Error::success();
  }
  return refuse("no way to split texts is named '" + name + "'; expected one of " + llvm::join(known, ", "),
                "use the model's tokenizer.json, which has the pattern itself");
}

llvm::Error readGgufTokenizer(const Metadata &metadata, TableBuilder &builder) {
  return Reader(metadata, builder).read();
}
} // namespace perpend::tokenizer
