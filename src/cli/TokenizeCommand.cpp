//===- TokenizeCommand.cpp - perpend tokenize -----------------------------===//

#include "cli/Command.h"
#include "tokenizer/Load.h"

#include "perpend_tokenizer.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace perpend::cli {
namespace {

struct FreeTokenizer {
  void operator()(perpend_tokenizer *tokenizer) const { perpend_tokenizer_free(tokenizer); }
};
struct Release {
  void operator()(void *memory) const { perpend_tokenizer_release(memory); }
};

struct TokenizeOptions {
  std::string text, pattern;
  bool decodes = false, isPlain = false, parsesSpecial = false, showsPieces = false;
};
} // namespace

static perpend_string view(StringRef text) { return {text.data(), static_cast<int64_t>(text.size())}; }

static void printPiece(const perpend_tokenizer &tokenizer, int32_t id) {
  const perpend_string token = perpend_tokenizer_token(&tokenizer, id);
  llvm::outs() << id << "\t" << StringRef(token.data, static_cast<size_t>(token.sizeBytes)) << "\n";
}

static int printIds(const perpend_tokenizer &tokenizer, StringRef text, const TokenizeOptions &options) {
  const uint32_t flags =
      (options.isPlain ? 0u : PERPEND_ADD_SPECIAL) | (options.parsesSpecial ? PERPEND_PARSE_SPECIAL : 0u);
  int32_t *found = nullptr;
  int64_t count = 0;
  if (perpend_tokenizer_encode(&tokenizer, view(text), flags, &found, &count))
    return fail(perpend_error_message());
  const std::unique_ptr<int32_t, Release> ids(found);
  for (int64_t i = 0; i < count; ++i)
    if (options.showsPieces)
      printPiece(tokenizer, found[i]);
    else
      llvm::outs() << (i ? " " : "") << found[i];
  if (!options.showsPieces)
    llvm::outs() << "\n";
  return Good;
}

static int printText(const perpend_tokenizer &tokenizer, StringRef text, const TokenizeOptions &options) {
  std::vector<int32_t> ids;
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(text, words, " \t\r\n,[]");
  for (StringRef word : words)
    if (word.getAsInteger(10, ids.emplace_back()))
      return fail("expected ids of tokens, got '" + word + "'", "separate whole numbers by spaces");
  char *found = nullptr;
  int64_t sizeBytes = 0;
  const uint32_t flags = PERPEND_RAW_BYTES | (options.isPlain ? PERPEND_SKIP_SPECIAL : 0u);
  if (perpend_tokenizer_decode(&tokenizer, ids.data(), static_cast<int64_t>(ids.size()), flags, &found, &sizeBytes))
    return fail(perpend_error_message());
  const std::unique_ptr<char, Release> owner(found);
  llvm::outs() << StringRef(found, static_cast<size_t>(sizeBytes));
  return Good;
}

int runTokenize(const Command &command, ArrayRef<StringRef> arguments) {
  TokenizeOptions options;
  OptionList list;
  std::vector<std::string> positional;
  list.add("text", options.text, "TEXT", "the text, or with --decode the ids; standard input if not given");
  list.add("decode", options.decodes, "", "print the text of ids instead");
  list.add("plain", options.isPlain, "", "add no special tokens, such as <s>; with --decode: print none");
  list.add("parse-special", options.parsesSpecial, "", "text spelt like a special token gives that token");
  list.add("pieces", options.showsPieces, "", "print a line for each token: its id and its spelling");
  list.add("pattern", options.pattern, "NAME",
           "how texts are split, as GGUF files name it, where the file does not say it");
  if (std::optional<int> code = parseArguments(command, list, arguments, 1, positional, "a tokenizer"))
    return *code;
  const bool hasText =
      llvm::any_of(arguments, [](StringRef word) { return word == "--text" || word.starts_with("--text="); });
  llvm::Expected<tokenizer::TableBytes> table = tokenizer::loadTokenizer(positional[0], {options.pattern});
  if (!table)
    return fail(table.takeError());
  perpend_tokenizer *opened = nullptr;
  if (perpend_tokenizer_create(table->data(), static_cast<int64_t>(table->sizeBytes()), &opened))
    return fail(perpend_error_message());
  const std::unique_ptr<perpend_tokenizer, FreeTokenizer> tokenizer(opened);
  StringRef text = options.text;
  std::unique_ptr<llvm::MemoryBuffer> input;
  if (!hasText) {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> read = llvm::MemoryBuffer::getSTDIN();
    if (!read)
      return fail("cannot read the standard input: " + read.getError().message(), "give the text with --text");
    input = std::move(*read);
    text = input->getBuffer();
  }
  return options.decodes ? printText(*tokenizer, text, options) : printIds(*tokenizer, text, options);
}
} // namespace perpend::cli
