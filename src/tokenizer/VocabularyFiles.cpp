//===- VocabularyFiles.cpp - files of tokens without rules ----------------===//

#include "tokenizer/VocabularyFiles.h"
#include "tokenizer/Gguf.h"
#include "tokenizer/Refusal.h"

#include "../runtime/tokenizer/Characters.h"

#include "llvm/Support/Base64.h"

namespace perpend::tokenizer {

static llvm::Error addPattern(llvm::StringRef pattern, llvm::StringRef example, TableBuilder &builder) {
  if (pattern.empty())
    return refuse("the file does not say how texts are split",
                  "name it: --pattern " + example + " (in Python: pattern=\"" + example + "\")");
  return addNamedPattern(pattern, builder);
}

static llvm::Error refuseLine(size_t line, llvm::StringRef expected) {
  return refuse("line " + llvm::Twine(line) + ": expected " + expected + ", got something else",
                "the file may be damaged; fetch it again");
}

static std::string lettersOf(llvm::StringRef bytes) {
  std::string letters;
  for (const char byte : bytes)
    appendCode(letters, letterOfByte(static_cast<unsigned char>(byte)));
  return letters;
}

/// False: the line is not a token and a rank.
static bool readRank(llvm::StringRef line, std::string &letters, uint32_t &rank) {
  const auto [encoded, number] = line.split(' ');
  std::vector<char> bytes;
  if (encoded.empty() || number.getAsInteger(10, rank))
    return false;
  if (llvm::Error error = llvm::decodeBase64(encoded, bytes))
    return llvm::consumeError(std::move(error)), false;
  letters = lettersOf({bytes.data(), bytes.size()});
  return !letters.empty();
}

bool isRankFile(llvm::StringRef bytes) {
  std::string letters;
  uint32_t rank = 0;
  const llvm::StringRef line = bytes.take_front(4096).split('\n').first.rtrim("\r");
  return readRank(line, letters, rank);
}

/// A pair is merged if the token of both exists; the one of lowest rank first.
static void addMergesByRank(const std::vector<std::pair<std::string, uint32_t>> &tokens, TableBuilder &builder) {
  for (const auto &[letters, rank] : tokens)
    for (size_t cut = 1; cut < letters.size(); ++cut) {
      if ((static_cast<unsigned char>(letters[cut]) & 0xC0) == 0x80)
        continue;
      const llvm::StringRef text = letters;
      const std::optional<uint32_t> left = builder.pieceId(text.take_front(cut));
      const std::optional<uint32_t> right = left ? builder.pieceId(text.drop_front(cut)) : std::nullopt;
      if (right)
        builder.addMerge({*left, *right, rank, rank});
    }
}

llvm::Error readRankFile(llvm::StringRef bytes, llvm::StringRef pattern, TableBuilder &builder) {
  builder.model = Model::MergePairs;
  if (llvm::Error error = addPattern(pattern, "llama-bpe", builder))
    return error;
  builder.flags |= WholePieces;
  std::vector<std::pair<std::string, uint32_t>> tokens;
  llvm::StringRef rest = bytes;
  for (size_t line = 1; !rest.empty(); ++line) {
    llvm::StringRef text;
    std::tie(text, rest) = rest.split('\n');
    text = text.rtrim("\r");
    std::string letters;
    uint32_t rank = 0;
    if (text.empty())
      continue;
    if (!readRank(text, letters, rank) || rank >= bytes.size())
      return refuseLine(line, "a token in base64 and its rank");
    builder.setToken(rank, letters, 0);
    builder.addPiece(letters, rank);
    tokens.push_back({letters, rank});
  }
  addMergesByRank(tokens, builder);
  builder.decoder.push_back({StepKind::LettersToBytes, 0, 0, 0, 0, {0, 0}});
  return llvm::Error::success();
}

llvm::Error readVocabularyAndMerges(const Object &vocabulary, llvm::StringRef merges, llvm::StringRef pattern,
                                    TableBuilder &builder) {
  builder.model = Model::MergePairs;
  if (llvm::Error error = addPattern(pattern, "gpt-2", builder))
    return error;
  for (const auto &[text, value] : vocabulary) {
    const std::optional<int64_t> id = value.getAsInteger();
    if (!id || *id < 0 || *id >= static_cast<int64_t>(vocabulary.size()) + 65536)
      return refuse("expected an object of tokens and ids, got something else",
                    "the file may be damaged; fetch it again");
    builder.setToken(static_cast<uint32_t>(*id), StringRef(text), 0);
    if (!StringRef(text).empty())
      builder.addPiece(StringRef(text), static_cast<uint32_t>(*id));
  }
  uint32_t rank = 0;
  size_t line = 1;
  for (llvm::StringRef rest = merges; !rest.empty(); ++line) {
    llvm::StringRef text;
    std::tie(text, rest) = rest.split('\n');
    text = text.rtrim("\r");
    if (text.empty() || text.starts_with("#version"))
      continue;
    const auto [left, right] = text.split(' ');
    const std::optional<uint32_t> leftId = builder.pieceId(left), rightId = builder.pieceId(right),
                                  result = builder.pieceId((left + right).str());
    if (!leftId || !rightId || !result)
      return refuseLine(line, "two tokens of the vocabulary");
    builder.addMerge({*leftId, *rightId, rank++, *result});
  }
  builder.decoder.push_back({StepKind::LettersToBytes, 0, 0, 0, 0, {0, 0}});
  return llvm::Error::success();
}

llvm::Error readWordList(llvm::StringRef bytes, llvm::StringRef pattern, TableBuilder &builder) {
  if (pattern != "bert-cased" && pattern != "bert-uncased")
    return refuse("the file does not say if texts become lower case, and '" + pattern + "' does not either",
                  "name it: --pattern bert-cased or --pattern bert-uncased (in Python: pattern=\"...\")");
  builder.model = Model::WordPiece;
  builder.continuingPrefix = "##";
  uint32_t id = 0;
  for (llvm::StringRef rest = bytes; !rest.empty(); ++id) {
    llvm::StringRef text;
    std::tie(text, rest) = rest.split('\n');
    text = text.rtrim("\r");
    builder.setToken(id, text, 0);
    if (!text.empty())
      builder.addPiece(text, id);
  }
  for (const char *name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"})
    if (const std::optional<uint32_t> found = builder.pieceId(name)) {
      builder.addTokenFlags(*found, TokenSpecial);
      builder.addedRaw.push_back({name, *found, AddedSpecial});
    }
  const std::optional<uint32_t> unknown = builder.pieceId("[UNK]"), start = builder.pieceId("[CLS]"),
                                end = builder.pieceId("[SEP]");
  if (!unknown || !start || !end)
    return refuse("expected a vocabulary of BERT with [UNK], [CLS] and [SEP], got another", "use tokenizer.json");
  builder.unknownId = *unknown;
  builder.prefixIds.push_back(*start);
  builder.suffixIds.push_back(*end);
  const bool lowers = pattern == "bert-uncased";
  addBertNormalizer(builder, /*cleans=*/true, /*spacesChinese=*/true, /*stripsAccents=*/lowers, lowers);
  addBertSplitter(builder);
  builder.decoder.push_back({StepKind::WordPieces, 1, 0, 0, 0, builder.text("##")});
  return llvm::Error::success();
}
} // namespace perpend::tokenizer
