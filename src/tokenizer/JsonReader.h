//===- JsonReader.h - reads tokenizer.json ----------------------*- C++ -*-===//
//
// Components are added to a TableBuilder in the order in which they are applied.
// Errors are sticky: after the first one everything that is read is harmless.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TOKENIZER_JSONREADER_H
#define PERPEND_TOKENIZER_JSONREADER_H

#include "tokenizer/TableBuilder.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace perpend::tokenizer {

using llvm::StringRef;
using llvm::Twine;
using Object = llvm::json::Object;

class JsonReader {
public:
  /// `fileBytes` limits ids: a file does not have more tokens than bytes.
  JsonReader(TableBuilder &table, size_t fileBytes) : builder(table), idLimit(fileBytes + 65536) {}

  /// The whole file.
  llvm::Error read(const llvm::json::Value &file);

private:
  // Fields: `where` names the object, for errors.
  void fail(const Twine &what, const Twine &hint = "the file may be damaged; fetch it again");
  void failComponent(StringRef role, StringRef name, StringRef expected);
  bool failed() const { return !problem.empty(); }
  StringRef string(const Object &object, StringRef key, StringRef where, std::optional<StringRef> missing = {});
  bool boolean(const Object &object, StringRef key, StringRef where, std::optional<bool> missing = {});
  uint32_t number(const Object &object, StringRef key, StringRef where, std::optional<uint32_t> missing = {});
  uint32_t id(const llvm::json::Value *value, StringRef where);
  const llvm::json::Array &array(const Object &object, StringRef key, StringRef where);
  const Object &object(const llvm::json::Value *value, StringRef where);
  /// Its value is a component or null.
  const Object *optionalObject(const Object &file, StringRef key);
  uint32_t pattern(const Object &object, StringRef where);

  // Models (JsonModels.cpp).
  void readModel(const Object &model);
  void readVocabulary(const Object &model);
  void readUnknown(const Object &model);
  void readMergePairs(const Object &model);
  std::pair<StringRef, StringRef> readMerge(const llvm::json::Value &value);
  void readUnigram(const Object &model);
  void readWordPiece(const Object &model);

  // Steps (JsonSteps.cpp).
  void readNormalizer(const Object &component, int depth = 0);
  void readBertNormalizer(const Object &component);
  void readSplitter(const Object &component, int depth = 0);
  void readByteLevel(const Object &component);
  void readMetaspace(const Object &component);
  void readDecoder(const Object &component, int depth = 0);
  bool prepends(const Object &component, StringRef where, bool &first);
  void addSplit(uint32_t program, uint32_t behavior) {
    builder.splitter.push_back({StepKind::Split, behavior, program, 0, 0, {0, 0}});
  }
  uint32_t behavior(const Object &component, StringRef where, std::optional<StringRef> missing = {});
  void readProcessor(const Object &component, int depth = 0);
  void readTemplate(const Object &component);

  void readAddedTokens(const llvm::json::Array &tokens);
  void addAddedToken(const Object &token, uint32_t &nextId);
  void normaliseAddedTokens();
  void markSpecialTokens();

  TableBuilder &builder;
  const size_t idLimit;
  std::string problem;
  llvm::StringSet<> special; ///< spellings
  size_t modelSize = 0;      ///< entries of the model's vocabulary
};

/// What BertNormalizer and others do, as maps; also for vocabularies that name no components.
void addBertNormalizer(TableBuilder &builder, bool cleans, bool spacesChinese, bool stripsAccents, bool lowers);
void addBertSplitter(TableBuilder &builder);
void addLowerCase(TableBuilder &builder);
/// GPT-2's pattern.
extern const char gpt2Pattern[];
} // namespace perpend::tokenizer

#endif
