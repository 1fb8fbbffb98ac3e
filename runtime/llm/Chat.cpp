// Texts and conversations become tokens. A template writes special tokens by their spelling, so the text that it
// renders is searched for them; but what a user says must not give any. Therefore spellings of special tokens in
// messages are taken apart by a mark before rendering, at which the rendered text is cut into pieces that are encoded
// on their own.
#include "Errors.h"
#include "include/perpend_template.h"
#include "library/Utf8.h"
#include "llm/Sequence.h"
#include <cstdlib>
#include <cstring>

using perpend::runtime::fail;
using perpend::runtime::failAllocation;

namespace perpend::llm {

static perpend_value textValue(perpend_string text) {
  perpend_value value{PERPEND_VALUE_TEXT, 0, {0}, static_cast<size_t>(text.sizeBytes)};
  value.as.text = text.data ? text.data : "";
  return value;
}

static perpend_value textValue(const char *text) { return textValue({text, static_cast<int64_t>(strlen(text))}); }

static perpend_value listValue(uint32_t kind, const perpend_value *items, size_t size) {
  perpend_value value{kind, 0, {0}, size};
  value.as.items = items;
  return value;
}

/// The spelling of a token; nothing if there is none.
static perpend_value spelling(const perpend_llm &llm, int32_t token) {
  return textValue(token < 0 ? perpend_string{"", 0} : perpend_tokenizer_token(llm.tokenizer, token));
}

static bool isUtf8(perpend_string text) {
  for (int64_t position = 0; position < text.sizeBytes;)
    if (library::decode(text.data, text.sizeBytes, position) >= library::invalidByte)
      return false;
  return true;
}

static perpend_status render(const perpend_llm &llm, const perpend_value *messages, int32_t count,
                             perpend_rendering &rendering) {
  perpend_value truth{PERPEND_VALUE_BOOL, 0, {1}, 0};
  const perpend_value none{PERPEND_VALUE_NONE, 0, {0}, 0};
  const perpend_value variables[] = {
      textValue("messages"),
      listValue(PERPEND_VALUE_LIST, messages, static_cast<size_t>(count)),
      textValue("add_generation_prompt"),
      truth,
      textValue("tools"),
      none,
      textValue("documents"),
      none,
      textValue("bos_token"),
      spelling(llm, llm.settings->startToken),
      textValue("eos_token"),
      spelling(llm, llm.settings->endToken),
  };
  const perpend_value all = listValue(PERPEND_VALUE_DICT, variables, sizeof variables / sizeof *variables / 2);
  const perpend_status status =
      perpend_template_render(llm.chatTemplate, static_cast<size_t>(llm.templateBytes), &all, nullptr, &rendering);
  return status ? fail(status, "chat template: %s", rendering.message) : PERPEND_OK;
}

static perpend_status checkTemplate(const perpend_llm &llm) {
  if (perpend_status status = requireTokenizer(llm))
    return status;
  if (llm.chatTemplate)
    return PERPEND_OK;
  if (llm.refusal.data)
    return fail(PERPEND_INVALID_ARGUMENT,
                "the model's chat template cannot be used: %.*s; hint: without it, the model "
                "continues a text (perpend llm run --raw --prompt TEXT)",
                static_cast<int>(llm.refusal.sizeBytes), llm.refusal.data);
  return fail(PERPEND_INVALID_ARGUMENT, "the checkpoint has no chat template; hint: without one, the model continues a "
                                        "text (perpend llm run --prompt TEXT)");
}

// A code point that is no character.
constexpr char mark[] = "\xF4\x8F\xBF\xBE";
constexpr size_t markBytes = sizeof mark - 1;

namespace {

class Encoder {
public:
  explicit Encoder(const perpend_tokenizer *tokenizer) : tokenizer(tokenizer) {}

  perpend_status encode(perpend_string text, uint32_t flags);
  // Appends the text with its special tokens taken apart.
  perpend_status disarm(perpend_string text, Array<char> &out);

  Memory memory;
  Array<int32_t> tokens{memory};

private:
  bool isSpecial(int32_t token);
  const perpend_tokenizer *tokenizer;
};

perpend_status Encoder::encode(perpend_string text, uint32_t flags) {
  int32_t *found = nullptr;
  int64_t count = 0;
  const perpend_status status = perpend_tokenizer_encode(tokenizer, text, flags, &found, &count);
  if (!status)
    tokens.append(found, static_cast<size_t>(count));
  perpend_tokenizer_release(found);
  return status;
}

/// Whether text of a user that is spelt like the token gives other ones.
bool Encoder::isSpecial(int32_t token) {
  const perpend_string spelling = perpend_tokenizer_token(tokenizer, token);
  int32_t *found = nullptr;
  int64_t count = 0;
  bool contains = perpend_tokenizer_encode(tokenizer, spelling, 0, &found, &count) != PERPEND_OK;
  for (int64_t i = 0; i < count; ++i)
    contains |= found[i] == token;
  perpend_tokenizer_release(found);
  return !contains;
}

/// The bytes of the first character.
size_t firstCharacter(const char *text, size_t size) {
  size_t bytes = 1;
  while (bytes < size && (text[bytes] & 0xC0) == 0x80)
    ++bytes;
  return bytes;
}

perpend_status Encoder::disarm(perpend_string text, Array<char> &out) {
  Array<char> rest(memory), next(memory);
  rest.append(text.data, static_cast<size_t>(text.sizeBytes));
  while (!memory.failed) {
    tokens.clear();
    if (perpend_status status = encode({rest.data(), static_cast<int64_t>(rest.size())}, PERPEND_PARSE_SPECIAL))
      return status;
    const char *found = nullptr;
    size_t bytes = 0;
    for (size_t i = 0; i < tokens.size() && !found; ++i) {
      const perpend_string spelling = perpend_tokenizer_token(tokenizer, tokens[i]);
      bytes = static_cast<size_t>(spelling.sizeBytes);
      if (bytes > 1 && isSpecial(tokens[i]))
        found = static_cast<const char *>(memmem(rest.data(), rest.size(), spelling.data, bytes));
    }
    if (!found) {
      out.append(rest.data(), rest.size());
      break;
    }
    const auto cut = static_cast<size_t>(found - rest.data()) + firstCharacter(found, bytes);
    out.append(rest.data(), cut);
    out.append(mark, markBytes);
    next.clear();
    next.append(rest.data() + cut, rest.size() - cut);
    rest.swap(next);
  }
  return memory.failed ? failAllocation(text.sizeBytes) : PERPEND_OK;
}

} // namespace
} // namespace perpend::llm

using namespace perpend::llm;

perpend_status perpend_llm_render(const perpend_llm *llm, const perpend_llm_message *messages, int32_t count,
                                  char **text, int64_t *sizeBytes) {
  if (!llm || count < 0 || (count && !messages) || !text || !sizeBytes)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_render: expected messages and places for the text, got NULL");
  if (perpend_status status = checkTemplate(*llm))
    return status;
  constexpr size_t perMessage = 4; // "role", the role, "content", the content
  auto *values =
      static_cast<perpend_value *>(calloc(static_cast<size_t>(count) + 1, (perMessage + 1) * sizeof(perpend_value)));
  if (!values)
    return failAllocation(count * static_cast<int64_t>((perMessage + 1) * sizeof(perpend_value)));
  perpend_value *pairs = values + count;
  for (int32_t i = 0; i < count; ++i, pairs += perMessage) {
    if (!isUtf8(messages[i].content)) {
      free(values);
      return fail(PERPEND_INVALID_ARGUMENT,
                  "conversation: a message of '%.*s' is not UTF-8; hint: convert it, for example with iconv",
                  static_cast<int>(messages[i].role.sizeBytes), messages[i].role.data);
    }
    pairs[0] = textValue("role");
    pairs[1] = textValue(messages[i].role);
    pairs[2] = textValue("content");
    pairs[3] = textValue(messages[i].content);
    values[i] = listValue(PERPEND_VALUE_DICT, pairs, perMessage / 2);
  }
  perpend_rendering rendering;
  const perpend_status status = render(*llm, values, count, rendering);
  free(values);
  if (!status) {
    *text = rendering.text;
    *sizeBytes = static_cast<int64_t>(rendering.bytes);
  }
  return status;
}

perpend_status perpend_llm_sequence_set_text(perpend_llm_sequence *sequence, perpend_string text, uint32_t flags) {
  if (!sequence)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_set_text: expected a sequence, got NULL");
  if (perpend_status status = requireTokenizer(sequence->llm))
    return status;
  int32_t *tokens = nullptr;
  int64_t count = 0;
  perpend_status status = perpend_tokenizer_encode(sequence->llm.tokenizer, text, flags, &tokens, &count);
  if (!status)
    status = perpend_llm_sequence_set(sequence, tokens, count);
  perpend_tokenizer_release(tokens);
  return status;
}

/// The messages with their special tokens taken apart.
static perpend_status disarm(Encoder &encoder, const perpend_llm_message *messages, int32_t count, Array<char> &texts,
                             Array<perpend_llm_message> &out) {
  Array<size_t> ends(encoder.memory);
  perpend_status status = PERPEND_OK;
  for (int32_t i = 0; i < count && !status; ++i) {
    status = encoder.disarm(messages[i].content, texts);
    ends.push(texts.size());
  }
  size_t begin = 0;
  for (size_t i = 0; i < ends.size() && !status && !encoder.memory.failed; ++i) {
    out.push({messages[i].role, {texts.data() + begin, static_cast<int64_t>(ends[i] - begin)}});
    begin = ends[i];
  }
  return !status && encoder.memory.failed ? failAllocation(static_cast<int64_t>(texts.size())) : status;
}

/// Encodes the pieces between marks.
static perpend_status encodePieces(Encoder &encoder, const char *text, size_t bytes) {
  encoder.tokens.clear();
  const char *end = text + bytes;
  while (true) {
    const auto left = static_cast<size_t>(end - text);
    const auto *cut = static_cast<const char *>(memmem(text, left, mark, markBytes));
    const perpend_string piece{text, cut ? cut - text : end - text};
    if (perpend_status status = encoder.encode(piece, PERPEND_PARSE_SPECIAL))
      return status;
    if (!cut)
      return encoder.memory.failed ? failAllocation(static_cast<int64_t>(bytes)) : PERPEND_OK;
    text = cut + markBytes;
  }
}

perpend_status perpend_llm_sequence_set_chat(perpend_llm_sequence *sequence, const perpend_llm_message *messages,
                                             int32_t count) {
  if (!sequence || count < 0 || (count && !messages))
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_set_chat: expected a sequence and messages, got NULL");
  if (perpend_status status = checkTemplate(sequence->llm))
    return status;
  Encoder encoder(sequence->llm.tokenizer);
  Array<char> texts(encoder.memory);
  Array<perpend_llm_message> disarmed(encoder.memory);
  char *text = nullptr;
  int64_t sizeBytes = 0;
  perpend_status status = disarm(encoder, messages, count, texts, disarmed);
  if (!status)
    status = perpend_llm_render(&sequence->llm, disarmed.data(), count, &text, &sizeBytes);
  if (!status)
    status = encodePieces(encoder, text, static_cast<size_t>(sizeBytes));
  perpend_tokenizer_release(text);
  return status
             ? status
             : perpend_llm_sequence_set(sequence, encoder.tokens.data(), static_cast<int64_t>(encoder.tokens.size()));
}
