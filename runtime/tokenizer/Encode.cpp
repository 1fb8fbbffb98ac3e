#include "Encode.h"
#include "Added.h"
#include "Characters.h"
#include "Errors.h"

namespace perpend::tokenizer {

Encoder::Encoder(const Table &tokenizer, uint32_t encodeFlags)
    : table(tokenizer), flags(encodeFlags), out(tokenizer, memory), normalizer(tokenizer, memory),
      pairs(tokenizer, memory, out), path(tokenizer, memory, out), longest(tokenizer, memory, out), valid(memory) {}

perpend_status Encoder::run(const char *text, size_t bytes) {
  if (flags & PERPEND_ADD_SPECIAL)
    for (const uint32_t id : table.prefixIds)
      out.add(id);
  if (!table.has(KeepsBytes)) {
    appendValid(valid, text, bytes, Invalid::EachByte);
    text = valid.data();
    bytes = valid.size();
  }
  encodeText(text, bytes);
  if (flags & PERPEND_ADD_SPECIAL)
    for (const uint32_t id : table.suffixIds)
      out.add(id);
  return status();
}

perpend_status Encoder::status() const {
  if (memory.failed)
    return runtime::fail(PERPEND_OUT_OF_MEMORY, "tokenizer: no memory for the text; hint: encode it in parts");
  if (isTooLong || normalizer.failed())
    return runtime::fail(
        PERPEND_INVALID_DATA,
        "tokenizer: expected a pattern that takes a number of steps in proportion to the text, got one "
        "that takes more; hint: split the text, or change the pattern in the tokenizer's file");
  if (isTooLarge)
    return runtime::fail(PERPEND_INVALID_DATA, "tokenizer: expected pieces of at most 4 GB, got a larger one; hint: "
                                               "encode the text in parts");
  if (out.isUnknownError)
    return runtime::fail(
        PERPEND_INVALID_DATA,
        "tokenizer: expected characters of the vocabulary, got one that it has not, and it has no token "
        "for unknown ones; hint: use a vocabulary with an unknown token or with byte fallback");
  return PERPEND_OK;
}

int32_t *Encoder::takeIds(int64_t &count) {
  count = static_cast<int64_t>(out.ids.size());
  return out.ids.take();
}

void Encoder::encodeText(const char *text, size_t bytes) {
  AddedFinder finder(table, table.addedRaw, table.rawStarts, {text, bytes}, flags & PERPEND_PARSE_SPECIAL);
  size_t position = 0;
  Range place;
  while (const AddedToken *token = finder.next(place)) {
    if (position < place.begin)
      encodeSegment({text + position, place.begin - position, position == 0});
    out.add(token->id);
    position = place.end;
  }
  if (position < bytes)
    encodeSegment({text + position, bytes - position, position == 0});
}

void Encoder::encodeSegment(Part part) {
  if (table.normalizer.count) {
    const Array<char> &normalized = normalizer.run(part.text, part.bytes);
    part.text = normalized.data();
    part.bytes = normalized.size();
  }
  AddedFinder finder(table, table.addedNormalized, table.normalizedStarts, {part.text, part.bytes},
                     flags & PERPEND_PARSE_SPECIAL);
  size_t position = 0;
  Range place;
  while (const AddedToken *token = finder.next(place)) {
    if (position < place.begin)
      split(0, {part.text + position, place.begin - position, part.isStart && position == 0});
    out.add(token->id);
    position = place.end;
  }
  if (position < part.bytes)
    split(0, {part.text + position, part.bytes - position, part.isStart && position == 0});
}

void Encoder::split(uint32_t index, Part part) {
  if (!part.bytes || memory.failed)
    return;
  if (index == table.splitter.count)
    return encodePiece(part);
  const Step &step = table.splitter[index];
  switch (step.kind) {
  case StepKind::Split:
    return splitByPattern(index, part);
  case StepKind::Metaspace:
    return splitMarks(index, part);
  case StepKind::Chunks:
    return splitChunks(index, part);
  default:
    break;
  }
  Array<char> changed(memory);
  if (step.kind == StepKind::ByteLetters) {
    changed.reserve(part.bytes + part.bytes / 2);
    for (size_t i = 0; i < part.bytes; ++i)
      appendCharacter(changed, letterOfByte(static_cast<unsigned char>(part.text[i])));
  } else if (part.text[0] != ' ') {
    changed.push(' ');
    changed.append(part.text, part.bytes);
  } else {
    return split(index + 1, part);
  }
  split(index + 1, {changed.data(), changed.size(), part.isStart});
}

// Joins neighbouring ranges as a behaviour asks for.
namespace {
class Joiner {
public:
  explicit Joiner(uint32_t behavior) : rule(behavior) {}
  // Takes the next range. True: `done` is a piece.
  bool add(Range range, bool isMatch, Range &done);
  bool finish(Range &done) {
    done = pending;
    return isPending;
  }

private:
  uint32_t rule;
  Range pending = {};
  bool isPending = false, wasMatch = false;
};
} // namespace

bool Joiner::add(Range range, bool isMatch, Range &done) {
  if (rule == Removed || rule == Isolated) {
    done = range;
    return rule == Isolated || !isMatch;
  }
  const bool joins = rule == Contiguous           ? isMatch == wasMatch
                     : rule == MergedWithPrevious ? isMatch && !wasMatch
                                                  : !isMatch && wasMatch;
  wasMatch = isMatch;
  done = pending;
  const bool isDone = isPending && !joins;
  pending = {isPending && joins ? pending.begin : range.begin, range.end};
  isPending = true;
  return isDone;
}

void Encoder::splitByPattern(uint32_t index, Part part) {
  const Step &step = table.splitter[index];
  Matcher matcher(table, memory);
  Joiner joiner(step.flags & 7);
  const bool isInverted = step.flags & Inverted;
  Range match = {}, done = {};
  auto pass = [&](Range piece) {
    split(index + 1, {part.text + piece.begin, piece.end - piece.begin, part.isStart && piece.begin == 0});
  };
  size_t position = 0;
  matcher.begin(step.program, part.text, part.bytes);
  while (matcher.next(match)) {
    if (position < match.begin && joiner.add({position, match.begin}, isInverted, done))
      pass(done);
    if (joiner.add(match, !isInverted, done))
      pass(done);
    position = match.end;
  }
  if (position < part.bytes && joiner.add({position, part.bytes}, isInverted, done))
    pass(done);
  if (joiner.finish(done))
    pass(done);
  isTooLong |= matcher.failed();
}

void Encoder::splitMarks(uint32_t index, Part part) {
  const Step &step = table.splitter[index];
  const char *mark = table.at(step.text);
  const size_t markBytes = step.text.bytes;
  auto isMark = [&](const char *text, size_t bytes) { return bytes >= markBytes && !memcmp(text, mark, markBytes); };
  Array<char> marked(memory);
  const bool begins = part.text[0] == ' ' || isMark(part.text, part.bytes);
  if (!begins && (step.flags & 2 || (step.flags & 1 && part.isStart)))
    marked.append(mark, markBytes);
  for (size_t i = 0; i < part.bytes; ++i)
    part.text[i] == ' ' ? marked.append(mark, markBytes) : marked.push(part.text[i]);
  const char *text = marked.data();
  const size_t bytes = marked.size();
  if (!(step.flags & 4))
    return split(index + 1, {text, bytes, part.isStart});
  Joiner joiner(MergedWithNext);
  Range done = {};
  auto pass = [&](Range piece) {
    split(index + 1, {text + piece.begin, piece.end - piece.begin, part.isStart && piece.begin == 0});
  };
  size_t from = 0; // what is not passed on, and has no mark
  for (size_t i = 0; i < bytes;) {
    if (!isMark(text + i, bytes - i)) {
      ++i;
      continue;
    }
    if (from < i && joiner.add({from, i}, false, done))
      pass(done);
    if (joiner.add({i, i + markBytes}, true, done))
      pass(done);
    from = i += markBytes;
  }
  if (from < bytes && joiner.add({from, bytes}, false, done))
    pass(done);
  if (joiner.finish(done))
    pass(done);
}

void Encoder::splitChunks(uint32_t index, Part part) {
  const uint32_t count = table.splitter[index].count;
  for (size_t position = 0; position < part.bytes;) {
    const size_t begin = position;
    for (uint32_t i = 0; i < count && position < part.bytes; ++i)
      decodeAt(part.text, part.bytes, position);
    split(index + 1, {part.text + begin, position - begin, part.isStart && begin == 0});
  }
}

void Encoder::encodePiece(Part part) {
  out.endPiece();
  if (part.bytes >= noId / 2) {
    isTooLarge = true;
    return;
  }
  switch (table.head->model) {
  case Model::MergePairs:
    return pairs.encode(part.text, part.bytes);
  case Model::Unigram:
    return path.encode(part.text, part.bytes);
  case Model::WordPiece:
    return longest.encode(part.text, part.bytes);
  case Model::WordLevel:
    break;
  }
  const Piece *piece = table.find(part.text, part.bytes);
  piece ? out.add(piece->id) : out.addUnknown(part.text, part.bytes, /*mayFuse=*/false);
}

} // namespace perpend::tokenizer
