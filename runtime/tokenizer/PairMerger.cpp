#include "Characters.h"
#include "Models.h"

namespace perpend::tokenizer {

constexpr size_t fewSymbols = 24;       // a heap costs more than it saves
constexpr uint32_t frozen = 0x80000000; // the result of a merge is a piece that SentencePiece splits again
constexpr int maxHalves = 1000;

void PairMerger::add(uint32_t id, size_t begin, size_t bytes) {
  const auto index = static_cast<uint32_t>(symbols.size());
  if (index)
    symbols.back().next = index;
  symbols.push({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(bytes), index ? index - 1 : noId, noId});
}

// The id of a character, which has a prefix unless it begins the piece, and a suffix if it ends it.
uint32_t PairMerger::find(const char *text, size_t bytes, bool isFirst, bool isLast) {
  const Text prefix = table.head->continuingPrefix, suffix = table.head->wordSuffix;
  const Piece *piece = nullptr;
  if ((prefix.bytes && !isFirst) || (suffix.bytes && isLast)) {
    spelling.clear();
    if (!isFirst)
      spelling.append(table.at(prefix), prefix.bytes);
    spelling.append(text, bytes);
    if (isLast)
      spelling.append(table.at(suffix), suffix.bytes);
    piece = table.find(spelling.data(), spelling.size());
  } else {
    piece = table.find(text, bytes);
  }
  return piece ? piece->id : noId;
}

// Characters without a token: SentencePiece keeps them as symbols and looks at them at the end; else their bytes or the
// unknown token are symbols. As in `tokenizers`, an unknown token waits for its neighbours and is passed by bytes.
void PairMerger::split(const char *text, size_t bytes) {
  symbols.clear();
  const bool isSentencePiece = table.has(SentencePiece), fuses = table.has(FuseUnknown);
  size_t unknownBegin = 0, unknownBytes = 0;
  auto flush = [&] {
    if (unknownBytes)
      add(table.head->unknownId, unknownBegin, unknownBytes);
    unknownBytes = 0;
  };
  for (size_t position = 0; position < bytes;) {
    const size_t begin = position;
    decodeAt(text, bytes, position);
    const size_t count = position - begin;
    const uint32_t id = find(text + begin, count, begin == 0, position == bytes);
    if (id != noId || isSentencePiece) {
      flush();
      add(id, begin, count);
      continue;
    }
    bool areBytes = table.has(ByteFallback);
    for (size_t i = begin; i < position && areBytes; ++i)
      areBytes = table.byteIds[static_cast<unsigned char>(text[i])] != noId;
    for (size_t i = begin; i < position && areBytes; ++i)
      add(table.byteIds[static_cast<unsigned char>(text[i])], i, 1);
    if (areBytes)
      continue;
    out.isUnknownError |= table.has(UnknownIsError);
    if (table.head->unknownId == noId)
      continue;
    if (!fuses)
      flush();
    unknownBegin = unknownBytes ? unknownBegin : begin;
    unknownBytes += count;
  }
  flush();
}

void PairMerger::merge(uint32_t left, const Merge &rule) {
  Symbol &into = symbols[left], &from = symbols[into.next];
  if (rule.result & frozen)
    halves.push({rule.result & ~frozen, into.id, from.id});
  into.id = rule.result & ~frozen;
  into.bytes += from.bytes;
  from.bytes = 0;
  into.next = from.next;
  if (into.next != noId)
    symbols[into.next].previous = left;
}

// Compares the ranks of all pairs for each merge.
void PairMerger::mergeFew() {
  const Merge *rules[fewSymbols];
  uint32_t ranks[fewSymbols];
  auto look = [&](uint32_t left) {
    const uint32_t right = symbols[left].next;
    rules[left] = right == noId ? nullptr : table.findMerge(symbols[left].id, symbols[right].id);
    ranks[left] = rules[left] ? rules[left]->rank : noId;
  };
  for (uint32_t i = 0; i < symbols.size(); ++i)
    look(i);
  for (;;) {
    uint32_t best = 0;
    for (uint32_t i = 0; i != noId; i = symbols[i].next)
      best = ranks[i] < ranks[best] ? i : best;
    if (!rules[best])
      return;
    merge(best, *rules[best]);
    look(best);
    if (symbols[best].previous != noId)
      look(symbols[best].previous);
  }
}

void PairMerger::pushPair(uint32_t left) {
  if (left == noId || symbols[left].next == noId)
    return;
  const Merge *rule = table.findMerge(symbols[left].id, symbols[symbols[left].next].id);
  if (!rule)
    return;
  heap.push(static_cast<uint64_t>(rule->rank) << 32 | left);
  for (size_t i = heap.size() - 1; i && heap[i] < heap[(i - 1) / 2]; i = (i - 1) / 2) {
    const uint64_t upper = heap[(i - 1) / 2];
    heap[(i - 1) / 2] = heap[i];
    heap[i] = upper;
  }
}

uint64_t PairMerger::pop() {
  const uint64_t top = heap[0], last = heap.back();
  heap.resize(heap.size() - 1);
  const size_t count = heap.size();
  size_t i = 0;
  for (size_t child = 1; child < count; child = 2 * i + 1) {
    child += child + 1 < count && heap[child + 1] < heap[child];
    if (heap[child] >= last)
      break;
    heap[i] = heap[child];
    i = child;
  }
  if (count)
    heap[i] = last;
  return top;
}

void PairMerger::mergeMany() {
  heap.clear();
  for (uint32_t i = 0; i < symbols.size(); ++i)
    pushPair(i);
  while (heap.size()) {
    const uint64_t top = pop();
    const auto left = static_cast<uint32_t>(top);
    if (!symbols[left].bytes || symbols[left].next == noId)
      continue;
    const Merge *rule = table.findMerge(symbols[left].id, symbols[symbols[left].next].id);
    if (!rule || rule->rank != top >> 32)
      continue; // the pair was changed since
    merge(left, *rule);
    pushPair(symbols[left].previous);
    pushPair(left);
  }
}

// A piece has at most as many halves as bytes.
void PairMerger::emitHalves(uint32_t id, int depth) {
  for (size_t i = depth < maxHalves ? halves.size() : 0; i-- > 0;)
    if (halves[i].whole == id) {
      const Halves found = halves[i];
      emitHalves(found.left, depth + 1);
      return emitHalves(found.right, depth + 1);
    }
  out.add(id);
}

void PairMerger::emit(const char *text) {
  for (uint32_t i = 0; i != noId; i = symbols[i].next) {
    const Symbol symbol = symbols[i];
    if (symbol.id >= table.tokens.count)
      out.addUnknown(text + symbol.begin, symbol.bytes, /*mayFuse=*/true);
    else
      emitHalves(symbol.id, 0);
  }
}

void PairMerger::encode(const char *text, size_t bytes) {
  if (table.has(WholePieces))
    if (const Piece *whole = table.find(text, bytes))
      return out.add(whole->id);
  halves.clear();
  split(text, bytes);
  if (!symbols.size())
    return;
  symbols.size() <= fewSymbols ? mergeFew() : mergeMany();
  emit(text);
}

} // namespace perpend::tokenizer
