#include "Decode.h"
#include "Characters.h"
#include "Errors.h"
#include <new>

namespace perpend::tokenizer {

Decoder::Decoder(const Table &tokenizer, uint32_t decodeFlags)
    : table(tokenizer), flags(decodeFlags), matcher(tokenizer, memory), output(memory), swapped(memory) {
  states = static_cast<State *>(malloc(sizeof(State) * (table.decoder.count + 1)));
  for (size_t i = 0; states && i < table.decoder.count; ++i)
    new (&states[i]) State(memory);
}

Decoder::~Decoder() {
  for (size_t i = 0; states && i < table.decoder.count; ++i)
    states[i].~State();
  free(states);
}

perpend_status Decoder::status() const {
  if (memory.failed)
    return runtime::fail(PERPEND_OUT_OF_MEMORY, "tokenizer: no memory for the text; hint: decode fewer tokens at once");
  if (matcher.failed())
    return runtime::fail(PERPEND_INVALID_DATA,
                         "tokenizer: expected a pattern that takes a number of steps in proportion "
                         "to the text, got one that takes more; hint: decode fewer tokens at once");
  return PERPEND_OK;
}

perpend_status Decoder::add(int32_t id) {
  const auto index = static_cast<uint32_t>(id);
  if (index >= table.tokens.count || !(table.tokens[index].flags & TokenExists))
    return runtime::fail(PERPEND_INVALID_DATA,
                         "tokenizer: expected ids of tokens, 0 to %zu, got %d; hint: was the text encoded with another "
                         "tokenizer?",
                         table.tokens.count - 1, static_cast<int>(id));
  const Token &token = table.tokens[index];
  if (!(token.flags & TokenSpecial && flags & PERPEND_SKIP_SPECIAL))
    pass(0, {table.at(token.text), token.text.bytes, true, true, token.flags});
  return status();
}

perpend_status Decoder::finish() {
  for (uint32_t i = 0; i < table.decoder.count; ++i)
    finishStep(i);
  return status();
}

void Decoder::take(Array<char> &text, bool isEnd) {
  size_t complete = output.size();
  if (flags & PERPEND_RAW_BYTES) {
    text.append(output.data(), complete);
  } else {
    complete -= isEnd ? 0 : incompleteBytes(output.data(), complete);
    appendValid(text, output.data(), complete, table.has(SentencePiece) ? Invalid::EachByte : Invalid::EachPart);
  }
  const size_t rest = output.size() - complete;
  if (rest)
    memmove(output.data(), output.data() + complete, rest);
  output.resize(rest);
}

// Steps that look at whole tokens get them whole.
void Decoder::pass(uint32_t index, Chunk chunk) {
  if (index == table.decoder.count)
    return output.append(chunk.text, chunk.bytes);
  const Step &step = table.decoder[index];
  if (step.kind == StepKind::Fuse)
    return fuse(index, chunk.text, chunk.bytes);
  if (step.kind == StepKind::StripToken && !step.count)
    return strip(index, chunk);
  State &state = states[index];
  if (chunk.isBegin && chunk.isEnd)
    return apply(index, chunk.text, chunk.bytes, chunk.tokenFlags);
  state.partial.append(chunk.text, chunk.bytes);
  if (!chunk.isEnd)
    return;
  apply(index, state.partial.data(), state.partial.size(), chunk.tokenFlags);
  state.partial.clear();
}

void Decoder::fuse(uint32_t index, const char *text, size_t bytes) {
  const bool isFirst = !states[index].isOpen;
  states[index].isOpen = true;
  pass(index + 1, {text, bytes, isFirst, false, 0});
}

void Decoder::strip(uint32_t index, Chunk chunk) {
  const Step &step = table.decoder[index];
  State &state = states[index];
  state.left = chunk.isBegin ? step.first : state.left;
  while (state.left && chunk.bytes) {
    if (chunk.bytes < step.text.bytes || memcmp(chunk.text, table.at(step.text), step.text.bytes)) {
      state.left = 0;
      break;
    }
    chunk.text += step.text.bytes;
    chunk.bytes -= step.text.bytes;
    --state.left;
  }
  pass(index + 1, chunk);
}

void Decoder::apply(uint32_t index, const char *text, size_t bytes, uint32_t tokenFlags) {
  const Step &step = table.decoder[index];
  State &state = states[index];
  Array<char> out(memory);
  switch (step.kind) {
  case StepKind::BytesOfTokens:
    return bytesOfTokens(index, text, bytes);
  case StepKind::Ctc:
    return ctc(index, text, bytes);
  case StepKind::SentencePieces:
    return sentencePiece(index, text, bytes, tokenFlags);
  case StepKind::SuffixToSpace:
    suffix(index, /*isLast=*/false);
    state.held.append(text, bytes);
    state.isHolding = true;
    return;
  case StepKind::LettersToBytes: {
    for (size_t position = 0; position < bytes;) {
      const int byte = byteOfLetter(decodeAt(text, bytes, position));
      if (byte < 0)
        return fuse(index, text, bytes);
      out.push(static_cast<char>(byte));
    }
    return fuse(index, out.data(), out.size());
  }
  case StepKind::ReplaceInToken:
    replace(step, text, bytes, out);
    break;
  case StepKind::SpacesOfMarks:
    marks(step, state, text, bytes, out);
    break;
  case StepKind::WordPieces:
    wordPieces(step, state, text, bytes, out);
    break;
  case StepKind::StripToken: {
    const char *mark = table.at(step.text);
    const size_t markBytes = step.text.bytes;
    for (uint32_t i = 0; i < step.first && bytes >= markBytes && !memcmp(text, mark, markBytes); ++i)
      text += markBytes, bytes -= markBytes;
    for (uint32_t i = 0; i < step.count && bytes >= markBytes && !memcmp(text + bytes - markBytes, mark, markBytes);
         ++i)
      bytes -= markBytes;
    out.append(text, bytes);
    break;
  }
  default: // JoinBySpaces
    if (state.count)
      out.push(' ');
    out.append(text, bytes);
  }
  ++state.count;
  passWhole(index + 1, out.data(), out.size());
}

void Decoder::replace(const Step &step, const char *text, size_t bytes, Array<char> &out) {
  size_t position = 0;
  matcher.begin(step.program, text, bytes);
  for (Range match; matcher.next(match); position = match.end) {
    out.append(text + position, match.begin - position);
    out.append(table.at(step.text), step.text.bytes);
  }
  out.append(text + position, bytes - position);
}

static int hexDigit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                : -1;
}

void Decoder::bytesOfTokens(uint32_t index, const char *text, size_t bytes) {
  const bool isByte =
      bytes == 6 && !memcmp(text, "<0x", 3) && text[5] == '>' && hexDigit(text[3]) >= 0 && hexDigit(text[4]) >= 0;
  if (isByte)
    return states[index].held.push(static_cast<char>(hexDigit(text[3]) * 16 + hexDigit(text[4])));
  flushBytes(index);
  passWhole(index + 1, text, bytes);
}

// As `tokenizers` does: if a run of bytes is not valid UTF-8, each of its bytes is U+FFFD.
void Decoder::flushBytes(uint32_t index) {
  Array<char> &held = states[index].held;
  bool isValid = true;
  for (size_t position = 0; position < held.size() && isValid;)
    isValid = !isInvalid(decodeAt(held.data(), held.size(), position));
  if (isValid || flags & PERPEND_RAW_BYTES) {
    if (held.size())
      passWhole(index + 1, held.data(), held.size());
  } else {
    for (size_t i = 0; i < held.size(); ++i)
      passWhole(index + 1, "\xEF\xBF\xBD", 3);
  }
  held.clear();
}

void Decoder::marks(const Step &step, State &state, const char *text, size_t bytes, Array<char> &out) {
  const bool drops = state.count == 0 && step.flags & 1;
  const char *mark = table.at(step.text);
  for (size_t i = 0; i < bytes;) {
    if (bytes - i < step.text.bytes || memcmp(text + i, mark, step.text.bytes)) {
      out.push(text[i++]);
      continue;
    }
    if (!drops)
      out.push(' ');
    i += step.text.bytes;
  }
}

void Decoder::replaceText(Array<char> &text, const char *from, size_t fromBytes, const char *to) {
  swapped.clear();
  for (size_t i = 0; i < text.size();) {
    if (fromBytes && text.size() - i >= fromBytes && !memcmp(text.data() + i, from, fromBytes)) {
      swapped.append(to, strlen(to));
      i += fromBytes;
    } else {
      swapped.push(text[i++]);
    }
  }
  text.swap(swapped);
}

void Decoder::cleanUp(Array<char> &text) {
  static constexpr char rules[][2][9] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                         {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                         {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &rule : rules)
    replaceText(text, rule[0], strlen(rule[0]), rule[1]);
}

void Decoder::wordPieces(const Step &step, State &state, const char *text, size_t bytes, Array<char> &out) {
  const bool continues = bytes >= step.text.bytes && !memcmp(text, table.at(step.text), step.text.bytes);
  if (state.count && continues) {
    text += step.text.bytes;
    bytes -= step.text.bytes;
  } else if (state.count) {
    out.push(' ');
  }
  out.append(text, bytes);
  if (step.flags & 1)
    cleanUp(out);
}

// A token that repeats the last one is left out.
void Decoder::ctc(uint32_t index, const char *text, size_t bytes) {
  const Step &step = table.decoder[index];
  State &state = states[index];
  if (state.isHolding && state.held.size() == bytes && !memcmp(state.held.data(), text, bytes))
    return;
  state.isHolding = true;
  state.held.clear();
  state.held.append(text, bytes);
  Array<char> out(memory);
  out.append(text, bytes);
  replaceText(out, table.at(step.text), step.text.bytes, "");
  if (step.flags & 1) {
    cleanUp(out);
    replaceText(out, table.texts.data + step.first, step.count, " ");
  }
  if (out.size())
    passWhole(index + 1, out.data(), out.size());
}

// The token that was held back: its suffix is a space unless it is the last one.
void Decoder::suffix(uint32_t index, bool isLast) {
  State &state = states[index];
  if (!state.isHolding)
    return;
  const Text ending = table.decoder[index].text;
  replaceText(state.held, table.at(ending), ending.bytes, isLast ? "" : " ");
  passWhole(index + 1, state.held.data(), state.held.size());
  state.held.clear();
  state.isHolding = false;
}

void Decoder::sentencePiece(uint32_t index, const char *text, size_t bytes, uint32_t tokenFlags) {
  static constexpr char mark[] = "\xE2\x96\x81";
  const Step &step = table.decoder[index];
  State &state = states[index]; // isFollowing: no more spaces are dropped; isOpen: one was by the last token
  auto give = [&](const char *given, size_t count) {
    hasText |= count > 0;
    passWhole(index + 1, given, count);
  };
  if (tokenFlags & TokenByte) {
    const char byte = static_cast<char>(tokenFlags >> 24);
    return give(&byte, 1);
  }
  state.isFollowing |= state.isOpen || hasText;
  state.isOpen = false;
  if (tokenFlags & TokenControl)
    return;
  if (tokenFlags & TokenUnknown)
    return give(table.at(step.text), step.text.bytes);
  if (!state.isFollowing && step.flags && bytes >= 3 && !memcmp(text, mark, 3)) {
    text += 3;
    bytes -= 3;
    state.isOpen = !(step.flags & 2);
  }
  Array<char> out(memory);
  for (size_t i = 0; i < bytes;) {
    const bool isMark = bytes - i >= 3 && !memcmp(text + i, mark, 3);
    out.push(isMark ? ' ' : text[i]);
    i += isMark ? 3 : 1;
  }
  give(out.data(), out.size());
}

void Decoder::finishStep(uint32_t index) {
  State &state = states[index];
  const StepKind kind = table.decoder[index].kind;
  if (kind == StepKind::BytesOfTokens)
    flushBytes(index);
  if (kind == StepKind::SuffixToSpace)
    suffix(index, /*isLast=*/true);
  if (kind == StepKind::Fuse || kind == StepKind::LettersToBytes)
    pass(index + 1, {"", 0, !state.isOpen, true, 0});
  state.partial.clear();
  state.held.clear();
  state.count = state.left = 0;
  state.isOpen = state.isHolding = state.isFollowing = false;
  hasText = false;
}

} // namespace perpend::tokenizer
