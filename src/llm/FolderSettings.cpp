//===- FolderSettings.cpp - settings in the files of a folder -------------===//

#include "llm/Settings.h"

#include "frontend/checkpoint/Json.h"
#include "support/MappedFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>

namespace perpend::llm {
using llvm::StringRef;
using llvm::Twine;
using llvm::json::Object;
using llvm::json::Value;

namespace {
class FolderReader {
public:
  explicit FolderReader(StringRef folder) : folder(folder) {}
  llvm::Expected<Settings> read();

private:
  std::string pathOf(StringRef name) const {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  llvm::Error refuse(StringRef file, const Twine &what) const {
    return llvm::createStringError("'" + pathOf(file) + "': " + what + "\nhint: fetch the file again");
  }
  /// Nullopt if there is no such file.
  llvm::Expected<std::optional<std::string>> readText(StringRef name) const;
  llvm::Expected<Object> readObject(StringRef name) const;
  /// A number, or a list of numbers.
  llvm::Error readStops(StringRef file, const Object &object);
  llvm::Error readContext(const Object &config);
  llvm::Error readSampling(const Object &generation);
  void readSpecial(const Object &object, StringRef key, std::string &text) const;
  llvm::Error readTemplate(const Object &tokenizer);

  StringRef folder;
  Settings settings;
};
} // namespace

llvm::Expected<std::optional<std::string>> FolderReader::readText(StringRef name) const {
  if (!llvm::sys::fs::exists(pathOf(name)))
    return std::nullopt;
  auto file = support::mapFile(pathOf(name));
  if (!file)
    return llvm::createStringError("cannot read '" + pathOf(name) + "': " + file.getError().message());
  return (*file)->getBuffer().str();
}

llvm::Expected<Object> FolderReader::readObject(StringRef name) const {
  llvm::Expected<std::optional<std::string>> text = readText(name);
  if (!text)
    return text.takeError();
  if (!*text)
    return Object();
  std::string error;
  std::optional<Object> object = checkpoint::parseObject(**text, error);
  if (!object)
    return refuse(name, error);
  return std::move(*object);
}

llvm::Error FolderReader::readStops(StringRef file, const Object &object) {
  const Value *value = object.get("eos_token_id");
  if (!value || value->getAsNull() || !settings.stops.empty())
    return llvm::Error::success();
  llvm::SmallVector<const Value *> tokens{value};
  if (const llvm::json::Array *list = value->getAsArray()) {
    tokens.clear();
    for (const Value &token : *list)
      tokens.push_back(&token);
  }
  for (const Value *token : tokens) {
    std::optional<int64_t> id = token->getAsInteger();
    if (!id || *id < 0 || *id > INT32_MAX)
      return refuse(file, "eos_token_id: expected the id of a token, or a list of them");
    if (!llvm::is_contained(settings.stops, static_cast<int32_t>(*id)))
      settings.stops.push_back(static_cast<int32_t>(*id));
  }
  return llvm::Error::success();
}

llvm::Error FolderReader::readContext(const Object &config) {
  const Object *text = config.getObject("text_config"); // of models of images and texts
  for (StringRef key : {"max_position_embeddings", "n_positions", "n_ctx"}) {
    const Value *value = (text ? *text : config).get(key);
    if (!value || value->getAsNull())
      continue;
    std::optional<int64_t> context = value->getAsInteger();
    if (!context || *context < 1)
      return llvm::createStringError("'" + pathOf("config.json") + "': " + key +
                                     ": expected a number of tokens above 0\nhint: correct it");
    settings.context = context;
    return llvm::Error::success();
  }
  return llvm::Error::success();
}

/// do_sample: false asks for the most likely token. Where it is missing, a file that says how to draw wants draws.
llvm::Error FolderReader::readSampling(const Object &generation) {
  StringRef file = "generation_config.json";
  auto read = [&](StringRef key, std::optional<double> &number) -> llvm::Error {
    const Value *value = generation.get(key);
    if (!value || value->getAsNull())
      return llvm::Error::success();
    number = value->getAsNumber();
    return number ? llvm::Error::success() : refuse(file, key + ": expected a number");
  };
  std::optional<double> topK;
  const std::pair<StringRef, std::optional<double> *> numbers[] = {{"temperature", &settings.temperature},
                                                                   {"top_p", &settings.topP},
                                                                   {"min_p", &settings.minP},
                                                                   {"top_k", &topK},
                                                                   {"repetition_penalty", &settings.repetitionPenalty}};
  for (auto [key, number] : numbers)
    if (llvm::Error error = read(key, *number))
      return error;
  const Value *draws = generation.get("do_sample");
  if (draws && !draws->getAsNull() && !draws->getAsBoolean())
    return refuse(file, "do_sample: expected true or false");
  if (draws && draws->getAsBoolean() == false)
    settings.temperature = 0;
  if (topK && (*topK < 0 || *topK > INT32_MAX || std::floor(*topK) != *topK))
    return refuse(file, "top_k: expected a whole number of at least 0");
  if (topK)
    settings.topK = static_cast<int64_t>(*topK);
  return checkSampling(settings, [&](StringRef option) { return "'" + pathOf(file) + "': " + option.str(); });
}

/// A token is a text, or an object with its text and how it is found.
void FolderReader::readSpecial(const Object &object, StringRef key, std::string &text) const {
  if (std::optional<StringRef> plain = object.getString(key))
    text = plain->str();
  else if (const Object *token = object.getObject(key))
    text = token->getString("content").value_or("").str();
}

/// A file of its own wins. tokenizer_config.json has a text, or a list of templates with names.
llvm::Error FolderReader::readTemplate(const Object &tokenizer) {
  llvm::Expected<std::optional<std::string>> own = readText("chat_template.jinja");
  if (!own)
    return own.takeError();
  settings.templateFile = *own ? "chat_template.jinja" : "tokenizer_config.json";
  if (*own)
    settings.chatTemplate = std::move(**own);
  else if (std::optional<StringRef> text = tokenizer.getString("chat_template"))
    settings.chatTemplate = text->str();
  else if (const llvm::json::Array *list = tokenizer.getArray("chat_template"))
    for (const Value &entry : *list)
      if (const Object *named = entry.getAsObject(); named && named->getString("name") == "default")
        settings.chatTemplate = named->getString("template").value_or("").str();
  return llvm::Error::success();
}

llvm::Expected<Settings> FolderReader::read() {
  llvm::Expected<Object> config = readObject("config.json"), generation = readObject("generation_config.json"),
                         tokenizer = readObject("tokenizer_config.json");
  llvm::Error error =
      llvm::joinErrors(config.takeError(), llvm::joinErrors(generation.takeError(), tokenizer.takeError()));
  if (error)
    return std::move(error);
  if ((error = readContext(*config)) || (error = readStops("generation_config.json", *generation)) ||
      (error = readSampling(*generation)) || (error = readStops("config.json", *config)) ||
      (error = readTemplate(*tokenizer)))
    return std::move(error);
  readSpecial(*tokenizer, "bos_token", settings.startText);
  readSpecial(*tokenizer, "eos_token", settings.endText);
  return settings;
}

llvm::Expected<Settings> readFolderSettings(StringRef folder) { return FolderReader(folder).read(); }
} // namespace perpend::llm
