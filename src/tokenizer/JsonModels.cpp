//===- JsonModels.cpp - the models of tokenizer.json ----------------------===//

#include "tokenizer/JsonReader.h"
#include "tokenizer/Refusal.h"

namespace perpend::tokenizer {

using llvm::json::Value;

void JsonReader::readVocabulary(const Object &model) {
  for (const auto &[text, value] : object(model.get("vocab"), "model")) {
    const uint32_t number = id(&value, "model: vocab");
    if (failed())
      return;
    builder.setToken(number, StringRef(text), 0);
    if (!StringRef(text).empty())
      builder.addPiece(StringRef(text), number);
    ++modelSize;
  }
}

void JsonReader::readUnknown(const Object &model) {
  const StringRef unknown = string(model, "unk_token", "model", "");
  if (const std::optional<uint32_t> found = builder.pieceId(unknown))
    builder.unknownId = *found;
  else if (!unknown.empty())
    builder.flags |= UnknownIsError;
}

/// "left right" or ["left", "right"]. If tokens have spaces in them, there is one space between tokens of the
/// vocabulary.
std::pair<StringRef, StringRef> JsonReader::readMerge(const Value &value) {
  if (const llvm::json::Array *pair = value.getAsArray())
    if (pair->size() == 2 && (*pair)[0].getAsString() && (*pair)[1].getAsString())
      return {*(*pair)[0].getAsString(), *(*pair)[1].getAsString()};
  const StringRef text = value.getAsString().value_or("");
  std::vector<std::pair<StringRef, StringRef>> choices;
  for (size_t space = text.find(' '); space != StringRef::npos; space = text.find(' ', space + 1)) {
    const StringRef left = text.take_front(space), right = text.drop_front(space + 1);
    if (text.count(' ') == 1 ||
        (builder.pieceId(left) && builder.pieceId(right) && builder.pieceId((left + right).str())))
      choices.push_back({left, right});
  }
  if (choices.size() == 1)
    return choices[0];
  fail("model: merges: expected pairs of tokens, got '" + text + "'");
  return {"", ""};
}

void JsonReader::readMergePairs(const Object &model) {
  builder.model = Model::MergePairs;
  if (const Value *dropout = model.get("dropout"))
    if (dropout->getAsNumber().value_or(0) != 0)
      fail("model: dropout: expected none, got random merges", "set \"dropout\" to null");
  builder.continuingPrefix = string(model, "continuing_subword_prefix", "model", "").str();
  builder.wordSuffix = string(model, "end_of_word_suffix", "model", "").str();
  builder.flags |= (boolean(model, "fuse_unk", "model", false) ? FuseUnknown : 0) |
                   (boolean(model, "ignore_merges", "model", false) ? WholePieces : 0) |
                   (boolean(model, "byte_fallback", "model", false) ? ByteFallback : 0);
  readVocabulary(model);
  readUnknown(model);
  builder.findByteTokens();
  uint32_t rank = 0;
  for (const Value &value : array(model, "merges", "model")) {
    const std::optional<StringRef> line = value.getAsString();
    if (line && line->starts_with("#version"))
      continue;
    const auto [left, right] = readMerge(value);
    if (failed())
      return;
    const size_t dropped = std::min(builder.continuingPrefix.size(), right.size());
    const std::optional<uint32_t> leftId = builder.pieceId(left), rightId = builder.pieceId(right),
                                  result = builder.pieceId((left + right.drop_front(dropped)).str());
    if (!leftId || !rightId || !result)
      return fail("model: merges: expected tokens of the vocabulary, got '" + left + " " + right + "'");
    builder.addMerge({*leftId, *rightId, rank++, *result});
  }
}

void JsonReader::readUnigram(const Object &model) {
  builder.model = Model::Unigram;
  builder.flags |= boolean(model, "byte_fallback", "model", false) ? ByteFallback : 0;
  double least = std::numeric_limits<double>::infinity();
  for (const Value &value : array(model, "vocab", "model")) {
    const llvm::json::Array *pair = value.getAsArray();
    const std::optional<StringRef> text = pair && pair->size() == 2 ? (*pair)[0].getAsString() : std::nullopt;
    const std::optional<double> score = text ? (*pair)[1].getAsNumber() : std::nullopt;
    if (!score)
      return fail("model: vocab: expected pairs of a text and a score, got something else");
    const auto number = static_cast<uint32_t>(modelSize++);
    builder.setToken(number, *text, 0);
    if (!text->empty())
      builder.addPiece(*text, number, 0, *score);
    least = std::min(least, *score);
  }
  builder.unknownScore = least - 10;
  if (const Value *unknown = model.get("unk_id"); unknown && unknown->kind() != Value::Null)
    builder.unknownId = id(unknown, "model: unk_id");
  if (builder.unknownId != noId && builder.unknownId >= modelSize)
    fail("model: unk_id: expected an id of the vocabulary, got " + Twine(builder.unknownId));
  builder.findByteTokens();
}

void JsonReader::readWordPiece(const Object &model) {
  builder.model = Model::WordPiece;
  builder.continuingPrefix = string(model, "continuing_subword_prefix", "model", "##").str();
  builder.maxWordCharacters = number(model, "max_input_chars_per_word", "model", 100);
  readVocabulary(model);
  readUnknown(model);
}

/// Old files do not name the type of the model.
static StringRef guessedType(const Object &model) {
  return model.get("merges")                     ? "BPE"
         : model.getArray("vocab")               ? "Unigram"
         : model.get("max_input_chars_per_word") ? "WordPiece"
                                                 : "WordLevel";
}

void JsonReader::readModel(const Object &model) {
  if (failed())
    return;
  const StringRef type = string(model, "type", "model", guessedType(model));
  if (type == "BPE")
    return readMergePairs(model);
  if (type == "Unigram")
    return readUnigram(model);
  if (type == "WordPiece")
    return readWordPiece(model);
  if (type != "WordLevel")
    return failComponent("model", type, "BPE, Unigram, WordPiece or WordLevel");
  builder.model = Model::WordLevel;
  readVocabulary(model);
  readUnknown(model);
}
} // namespace perpend::tokenizer
