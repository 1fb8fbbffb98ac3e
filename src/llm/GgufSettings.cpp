//===- GgufSettings.cpp - settings in the metadata of a GGUF file ---------===//

#include "llm/Settings.h"

#include "support/MappedFile.h"
#include "tokenizer/Gguf.h"

namespace perpend::llm {
using llvm::StringRef;
using tokenizer::Metadata;

template <typename T> static llvm::Expected<std::optional<T>> find(const Metadata &metadata, StringRef key) {
  auto found = metadata.find(key);
  if (found == metadata.end())
    return std::nullopt;
  if (const T *value = std::get_if<T>(&found->second))
    return *value;
  return llvm::createStringError("'" + key +
                                 "' in the metadata is of another type than expected\nhint: the file may be "
                                 "damaged; fetch it again");
}

static llvm::Error readToken(const Metadata &metadata, StringRef key, std::optional<int32_t> &token) {
  llvm::Expected<std::optional<int64_t>> value = find<int64_t>(metadata, key);
  if (!value)
    return value.takeError();
  if (!*value)
    return llvm::Error::success();
  if (**value < 0 || **value > INT32_MAX)
    return llvm::createStringError("'" + key + "' in the metadata: expected the id of a token, got " +
                                   std::to_string(**value));
  token = static_cast<int32_t>(**value);
  return llvm::Error::success();
}

static llvm::Error readTokens(const Metadata &metadata, Settings &settings) {
  if (llvm::Error error = readToken(metadata, "tokenizer.ggml.bos_token_id", settings.start))
    return error;
  if (llvm::Error error = readToken(metadata, "tokenizer.ggml.eos_token_id", settings.end))
    return error;
  // The ends of the text, of a turn and of a message.
  for (StringRef key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"}) {
    std::optional<int32_t> token;
    if (llvm::Error error = readToken(metadata, key, token))
      return error;
    if (token && !llvm::is_contained(settings.stops, *token))
      settings.stops.push_back(*token);
  }
  return llvm::Error::success();
}

/// Whole numbers are numbers, too.
static llvm::Error readNumber(const Metadata &metadata, StringRef key, std::optional<double> &number) {
  auto found = metadata.find(key);
  if (found == metadata.end())
    return llvm::Error::success();
  if (const auto *whole = std::get_if<int64_t>(&found->second)) {
    number = static_cast<double>(*whole);
    return llvm::Error::success();
  }
  llvm::Expected<std::optional<double>> value = find<double>(metadata, key);
  if (!value)
    return value.takeError();
  number = *value;
  return llvm::Error::success();
}

static llvm::Error readSampling(const Metadata &metadata, Settings &settings) {
  auto keyOf = [](StringRef option) { return ("general.sampling." + option).str(); };
  const std::pair<StringRef, std::optional<double> *> numbers[] = {{"temp", &settings.temperature},
                                                                   {"top_p", &settings.topP},
                                                                   {"min_p", &settings.minP},
                                                                   {"penalty_repeat", &settings.repetitionPenalty}};
  for (auto [option, number] : numbers)
    if (llvm::Error error = readNumber(metadata, keyOf(option), *number))
      return error;
  llvm::Expected<std::optional<int64_t>> topK = find<int64_t>(metadata, keyOf("top_k"));
  if (!topK)
    return topK.takeError();
  if (*topK && **topK <= INT32_MAX)
    settings.topK = std::max<int64_t>(**topK, 0); // others write all tokens as 0 or less
  if (settings.temperature && *settings.temperature < 0)
    settings.temperature = 0;
  return checkSampling(settings, [&](StringRef option) { return "'" + keyOf(option) + "' in the metadata"; });
}

static llvm::Error read(StringRef bytes, Settings &settings) {
  llvm::Expected<Metadata> metadata = tokenizer::readGgufMetadata(bytes);
  if (!metadata)
    return metadata.takeError();
  auto architecture = find<StringRef>(*metadata, "general.architecture");
  if (!architecture)
    return architecture.takeError();
  auto context = find<int64_t>(*metadata, (architecture->value_or("") + ".context_length").str());
  if (!context)
    return context.takeError();
  settings.context = *context;
  auto text = find<StringRef>(*metadata, "tokenizer.chat_template");
  if (!text)
    return text.takeError();
  settings.chatTemplate = text->value_or("").str();
  if (llvm::Error error = readSampling(*metadata, settings))
    return error;
  return readTokens(*metadata, settings);
}

llvm::Expected<Settings> readGgufSettings(StringRef path) {
  auto file = support::mapFile(path.str());
  if (!file)
    return llvm::createStringError("cannot read '" + path + "': " + file.getError().message());
  Settings settings;
  if (llvm::Error error = read((*file)->getBuffer(), settings))
    return llvm::createStringError("'" + path + "': " + llvm::toString(std::move(error)));
  return settings;
}
} // namespace perpend::llm
