//===- JsonReader.cpp - reads tokenizer.json ------------------------------===//

#include "tokenizer/JsonReader.h"
#include "tokenizer/Refusal.h"

#include "../runtime/tokenizer/Normalize.h"

#include "llvm/Support/FormatVariadic.h"

namespace perpend::tokenizer {

using llvm::json::Value;

void JsonReader::fail(const Twine &what, const Twine &hint) {
  if (problem.empty())
    problem = ("tokenizer.json: " + what + "\nhint: " + hint).str();
}

void JsonReader::failComponent(StringRef role, StringRef name, StringRef expected) {
  fail("no " + role + " is named '" + name + "', expected " + expected, "remove it, or ask for it");
}

StringRef JsonReader::string(const Object &object, StringRef key, StringRef where, std::optional<StringRef> missing) {
  const Value *value = object.get(key);
  const bool isMissing = !value || value->kind() == Value::Null;
  if (isMissing && missing)
    return *missing;
  if (isMissing || value->kind() != Value::String) {
    fail(where + ": expected text as '" + key + "', got " + (isMissing ? "nothing" : "something else"));
    return "";
  }
  return *value->getAsString();
}

bool JsonReader::boolean(const Object &object, StringRef key, StringRef where, std::optional<bool> missing) {
  const Value *value = object.get(key);
  const bool isMissing = !value || value->kind() == Value::Null;
  if (isMissing && missing)
    return *missing;
  if (isMissing || value->kind() != Value::Boolean)
    fail(where + ": expected true or false as '" + key + "', got " + (isMissing ? "nothing" : "something else"));
  return !failed() && *value->getAsBoolean();
}

uint32_t JsonReader::number(const Object &object, StringRef key, StringRef where, std::optional<uint32_t> missing) {
  const Value *value = object.get(key);
  if ((!value || value->kind() == Value::Null) && missing)
    return *missing;
  const std::optional<int64_t> found = value ? value->getAsInteger() : std::nullopt;
  if (!found || *found < 0 || *found > UINT32_MAX) {
    fail(where + ": expected a whole number as '" + key + "', got " + (value ? "something else" : "nothing"));
    return 0;
  }
  return static_cast<uint32_t>(*found);
}

uint32_t JsonReader::id(const Value *value, StringRef where) {
  const std::optional<int64_t> found = value ? value->getAsInteger() : std::nullopt;
  if (found && *found >= 0 && *found < static_cast<int64_t>(idLimit) && *found < maxTokens)
    return static_cast<uint32_t>(*found);
  fail(where + ": expected an id, got " +
       (found ? Twine(*found) + ", more than the file has tokens" : "something else"));
  return 0;
}

const llvm::json::Array &JsonReader::array(const Object &object, StringRef key, StringRef where) {
  static const llvm::json::Array empty;
  if (const llvm::json::Array *found = object.getArray(key))
    return *found;
  fail(where + ": expected a list as '" + key + "'");
  return empty;
}

const Object &JsonReader::object(const Value *value, StringRef where) {
  static const Object empty;
  if (const Object *found = value ? value->getAsObject() : nullptr)
    return *found;
  fail(where + ": expected an object");
  return empty;
}

const Object *JsonReader::optionalObject(const Object &file, StringRef key) {
  const Value *value = file.get(key);
  if (!value || value->kind() == Value::Null)
    return nullptr;
  return &object(value, key);
}

/// {"String": ...} or {"Regex": ...}.
uint32_t JsonReader::pattern(const Object &component, StringRef where) {
  const Value *value = component.get("pattern");
  const Object *choice = value ? value->getAsObject() : nullptr;
  const bool isLiteral = choice ? choice->get("String") != nullptr : true;
  const StringRef text = choice  ? string(*choice, isLiteral ? "String" : "Regex", where)
                         : value ? value->getAsString().value_or("")
                                 : "";
  llvm::Expected<uint32_t> program = builder.pattern(text, isLiteral);
  if (program)
    return *program;
  fail(where + ": " + llvm::toString(program.takeError()));
  return 0;
}

//===----------------------------------------------------------------------===//
// Added tokens
//===----------------------------------------------------------------------===//

/// A token has the id of the model's vocabulary, or the next free one, as in `tokenizers`.
void JsonReader::addAddedToken(const Object &token, uint32_t &nextId) {
  const StringRef where = "added_tokens", content = string(token, "content", where);
  if (content.empty() || failed())
    return;
  AddedTokenSpec added;
  added.text = content.str();
  const bool isNormalized = boolean(token, "normalized", where, true);
  added.flags = (boolean(token, "special", where, false) ? AddedSpecial : 0) |
                (boolean(token, "single_word", where, false) ? AddedSingleWord : 0) |
                (boolean(token, "lstrip", where, false) ? AddedStripLeft : 0) |
                (boolean(token, "rstrip", where, false) ? AddedStripRight : 0);
  auto same = [&](const AddedTokenSpec &other) { return other.text == added.text; };
  std::optional<uint32_t> known = builder.pieceId(content);
  for (auto *list : {&builder.addedRaw, &builder.addedNormalized}) {
    auto found = llvm::find_if(*list, same);
    if (found == list->end())
      continue;
    known = found->id;
    list->erase(found);
  }
  if (!known && nextId >= maxTokens)
    return fail("added_tokens: too many tokens");
  added.id = known ? *known : nextId++;
  (isNormalized ? builder.addedNormalized : builder.addedRaw).push_back(added);
}

void JsonReader::readAddedTokens(const llvm::json::Array &tokens) {
  auto nextId = static_cast<uint32_t>(modelSize);
  for (const Value &token : tokens)
    addAddedToken(object(&token, "added_tokens"), nextId);
  for (auto *list : {&builder.addedRaw, &builder.addedNormalized})
    for (const AddedTokenSpec &added : *list) {
      builder.setToken(added.id, added.text, 0);
      if (added.flags & AddedSpecial)
        special.insert(added.text);
    }
}

/// As in `tokenizers`, what a special token decodes to decides if it is left out.
void JsonReader::markSpecialTokens() {
  for (uint32_t id = 0; id < builder.tokenCount(); ++id)
    if (special.contains(builder.tokenText(id)))
      builder.addTokenFlags(id, TokenSpecial);
}

/// Tokens that are looked for in normalised texts are spelt as the normaliser leaves them, and decoded so.
void JsonReader::normaliseAddedTokens() {
  if (builder.normalizer.empty() || builder.addedNormalized.empty() || failed())
    return;
  std::vector<AddedTokenSpec> specs;
  std::swap(specs, builder.addedNormalized);
  TableBuilder copy = builder;
  llvm::Expected<std::string> bytes = copy.write();
  if (!bytes)
    return fail(llvm::toString(bytes.takeError()));
  std::vector<uint64_t> aligned((bytes->size() + 7) / 8);
  memcpy(aligned.data(), bytes->data(), bytes->size());
  Table table;
  Memory memory;
  if (openTable(aligned.data(), static_cast<int64_t>(bytes->size()), table))
    return fail("the normaliser cannot be applied");
  Normalizer normalizer(table, memory);
  for (AddedTokenSpec &added : specs) {
    const Array<char> &text = normalizer.run(added.text.data(), added.text.size());
    added.text.assign(text.data(), text.size());
    builder.setToken(added.id, added.text, builder.tokenFlags(added.id));
    if (!added.text.empty())
      builder.addedNormalized.push_back(added);
  }
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

llvm::Error JsonReader::read(const Value &value) {
  const Object &file = object(&value, "the file");
  readModel(object(file.get("model"), "model"));
  if (const Object *normalizer = optionalObject(file, "normalizer"))
    readNormalizer(*normalizer);
  if (const Object *splitter = optionalObject(file, "pre_tokenizer"))
    readSplitter(*splitter);
  if (const Object *decoder = optionalObject(file, "decoder"))
    readDecoder(*decoder);
  else
    builder.decoder.push_back({StepKind::JoinBySpaces, 0, 0, 0, 0, {0, 0}});
  if (file.get("added_tokens") && !failed())
    readAddedTokens(array(file, "added_tokens", "the file"));
  if (const Object *processor = optionalObject(file, "post_processor"))
    readProcessor(*processor);
  normaliseAddedTokens();
  markSpecialTokens();
  for (const auto *steps : {&builder.normalizer, &builder.splitter, &builder.decoder})
    if (steps->size() > maxSteps)
      fail("expected at most 64 steps, got more");
  if (failed())
    return llvm::createStringError(problem);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Processors
//===----------------------------------------------------------------------===//

void JsonReader::readTemplate(const Object &component) {
  const StringRef where = "post_processor";
  const Object &special = object(component.get("special_tokens"), where);
  std::vector<uint32_t> before, after;
  bool isBehind = false;
  for (const Value &value : array(component, "single", where)) {
    const Object &piece = object(&value, where);
    if (const Object *sequence = piece.getObject("Sequence")) {
      if (isBehind || string(*sequence, "id", where) != "A")
        fail(where + ": expected the text once in 'single', as Sequence A");
      isBehind = true;
      continue;
    }
    const Object &token = object(piece.get("SpecialToken"), where);
    const Object &entry = object(special.get(string(token, "id", where)), where);
    for (const Value &number : array(entry, "ids", where))
      (isBehind ? after : before).push_back(id(&number, where));
  }
  if (!isBehind)
    fail(where + ": expected the text in 'single', as Sequence A");
  builder.prefixIds.insert(builder.prefixIds.begin(), before.begin(), before.end());
  builder.suffixIds.insert(builder.suffixIds.end(), after.begin(), after.end());
}

void JsonReader::readProcessor(const Object &component, int depth) {
  const StringRef where = "post_processor", type = string(component, "type", where);
  if (type == "TemplateProcessing")
    return readTemplate(component);
  if (type == "Sequence" && depth < 8) {
    for (const Value &part : array(component, "processors", where))
      readProcessor(object(&part, where), depth + 1);
    return;
  }
  if (type == "ByteLevel") // offsets only
    return;
  if (type != "RobertaProcessing" && type != "BertProcessing")
    return failComponent("post-processor", type,
                         "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or Sequence");
  auto idOf = [&](StringRef key) {
    const llvm::json::Array &pair = array(component, key, where);
    return id(pair.size() == 2 ? &pair[1] : nullptr, where);
  };
  builder.prefixIds.insert(builder.prefixIds.begin(), idOf("cls"));
  builder.suffixIds.push_back(idOf("sep"));
}
} // namespace perpend::tokenizer
