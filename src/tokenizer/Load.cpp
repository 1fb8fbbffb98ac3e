//===- Load.cpp - reads the files of a tokenizer --------------------------===//

#include "tokenizer/Load.h"
#include "tokenizer/Gguf.h"
#include "tokenizer/JsonReader.h"
#include "tokenizer/Refusal.h"
#include "tokenizer/SentencePiece.h"
#include "tokenizer/VocabularyFiles.h"

#include "support/MappedFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

namespace perpend::tokenizer {

constexpr size_t maxNesting = 32;

/// The parser of JSON calls itself for each level.
static bool isNestedTooDeep(llvm::StringRef text) {
  size_t depth = 0;
  bool isInText = false;
  for (size_t i = 0; i < text.size() && depth <= maxNesting; ++i) {
    const char c = text[i];
    if (isInText && c == '\\')
      ++i;
    else if (c == '"')
      isInText = !isInText;
    else if (!isInText && (c == '[' || c == '{'))
      ++depth;
    else if (!isInText && (c == ']' || c == '}'))
      depth -= depth > 0;
  }
  return depth > maxNesting;
}

static llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef bytes) {
  const char *hint = "the file may be damaged; fetch it again";
  if (isNestedTooDeep(bytes))
    return refuse("expected JSON of at most 32 levels, got more", hint);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(bytes);
  if (!value)
    return refuse("expected JSON, got something else: " + llvm::toString(value.takeError()), hint);
  return value;
}

static llvm::Error readJson(llvm::StringRef bytes, llvm::StringRef path, const LoadOptions &options,
                            TableBuilder &builder) {
  llvm::Expected<llvm::json::Value> value = parseJson(bytes);
  if (!value)
    return value.takeError();
  const llvm::json::Object *file = value->getAsObject();
  if (!file || file->getObject("model") || file->getArray("added_tokens"))
    return JsonReader(builder, bytes.size()).read(*value);
  for (const char *name : {"merges.txt", "vocab.bpe"}) {
    llvm::SmallString<128> beside(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(beside, name);
    if (auto merges = support::mapFile(beside.str().str()))
      return readVocabularyAndMerges(*file, (*merges)->getBuffer(), options.pattern, builder);
  }
  return refuse("expected tokenizer.json, or a vocabulary with merges.txt or vocab.bpe beside it, got neither",
                "put both files in one folder");
}

static llvm::Error readModelFile(llvm::StringRef bytes, TableBuilder &builder) {
  llvm::Expected<SentencePieceModel> model = readSentencePieceModel(bytes);
  return model ? addSentencePiece(builder, *model) : model.takeError();
}

static llvm::Error readGguf(llvm::StringRef bytes, TableBuilder &builder) {
  llvm::Expected<Metadata> metadata = readGgufMetadata(bytes);
  return metadata ? readGgufTokenizer(*metadata, builder) : metadata.takeError();
}

static llvm::Error readFile(llvm::StringRef bytes, llvm::StringRef path, const LoadOptions &options,
                            TableBuilder &builder) {
  if (bytes.ltrim().starts_with("{"))
    return readJson(bytes, path, options, builder);
  if (bytes.starts_with("GGUF"))
    return readGguf(bytes, builder);
  if (isRankFile(bytes))
    return readRankFile(bytes, options.pattern, builder);
  if (llvm::sys::path::extension(path) == ".txt")
    return readWordList(bytes, options.pattern, builder);
  return readModelFile(bytes, builder);
}

static llvm::Expected<std::string> fileIn(llvm::StringRef folder) {
  for (const char *name : {"tokenizer.json", "tokenizer.model", "vocab.json", "encoder.json", "vocab.txt"}) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return refuse("'" + folder + "' has no tokenizer; expected tokenizer.json, tokenizer.model, vocab.json or vocab.txt",
                "one of these files has to be in the folder");
}

llvm::Expected<TableBytes> readTokenizer(llvm::StringRef bytes, llvm::StringRef path, const LoadOptions &options) {
  TableBuilder builder;
  if (llvm::Error error = readFile(bytes, path, options, builder))
    return std::move(error);
  llvm::Expected<std::string> table = builder.write();
  if (!table)
    return table.takeError();
  return TableBytes(*table);
}

llvm::Expected<TableBytes> loadTokenizer(llvm::StringRef path, const LoadOptions &options) {
  std::string file = path.str();
  if (llvm::sys::fs::is_directory(path)) {
    llvm::Expected<std::string> found = fileIn(path);
    if (!found)
      return found.takeError();
    file = *found;
  }
  support::FileWatch watch;
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = support::mapFile(file);
  if (!buffer)
    return llvm::createStringError("cannot read '" + file + "': " + buffer.getError().message());
  llvm::Expected<TableBytes> table = readTokenizer((*buffer)->getBuffer(), file, options);
  if (std::optional<std::string> changed = watch.changedFile()) {
    llvm::consumeError(table.takeError());
    return llvm::createStringError(support::changedText(*changed));
  }
  if (!table)
    return llvm::createStringError("'" + file + "': " + llvm::toString(table.takeError()));
  return table;
}
} // namespace perpend::tokenizer
