#include "Models.h"
#include "Characters.h"

namespace perpend::tokenizer {

bool Output::addBytes(const char *text, size_t bytes) {
  if (!table.has(ByteFallback))
    return false;
  for (size_t i = 0; i < bytes; ++i)
    if (table.byteIds[static_cast<unsigned char>(text[i])] == noId)
      return false;
  for (size_t i = 0; i < bytes; ++i)
    add(table.byteIds[static_cast<unsigned char>(text[i])]);
  return true;
}

void Output::addUnknown(const char *text, size_t bytes, bool mayFuse) {
  if (addBytes(text, bytes))
    return;
  const uint32_t id = table.head->unknownId;
  if (id == noId)
    isUnknownError = true;
  else if (!(endsUnknown && mayFuse && table.has(FuseUnknown)))
    ids.push(static_cast<int32_t>(id));
  endsUnknown = true;
}

bool PrefixSearch::narrow(const char *bytes, size_t count) {
  for (size_t i = 0; i < count && low < high; ++i, ++depth) {
    const int byte = static_cast<unsigned char>(bytes[i]);
    if (!depth) {
      low = table.firstPieces[static_cast<size_t>(byte)];
      high = table.firstPieces[static_cast<size_t>(byte) + 1];
      continue;
    }
    auto bound = [&](int least) {
      size_t first = low, last = high;
      while (first < last) {
        const size_t middle = first + (last - first) / 2;
        const Text text = table.pieces[middle].text;
        const int here = depth < text.bytes ? static_cast<unsigned char>(table.at(text)[depth]) : -1;
        here < least ? first = middle + 1 : last = middle;
      }
      return first;
    };
    const size_t begin = bound(byte);
    high = bound(byte + 1);
    low = begin;
  }
  return low < high;
}

const Piece *PrefixSearch::exact() const {
  return low < high && table.pieces[low].text.bytes == depth ? &table.pieces[low] : nullptr;
}

void BestPath::reach(size_t end, size_t start, double score, uint32_t id) {
  Node &node = nodes[end];
  score = table.has(FloatScores) ? static_cast<double>(static_cast<float>(score)) : score;
  if (!node.isReached || score > node.score)
    node = {score, start, id, true};
}

void BestPath::extend(const char *text, size_t bytes, size_t start, size_t characterBytes) {
  const double before = nodes[start].score;
  bool hasCharacter = false;
  PrefixSearch search(table);
  for (size_t end = start; end < bytes && search.narrow(text + end, 1);) {
    ++end;
    const Piece *piece = search.exact();
    if (!piece || piece->flags & (PieceUnused | PieceReserved))
      continue;
    hasCharacter |= end - start == characterBytes;
    reach(end, start, table.scores[static_cast<size_t>(piece - table.pieces.data)] + before, piece->id);
  }
  if (hasCharacter)
    return;
  reach(start + characterBytes, start, table.head->unknownScore + before, table.head->unknownId);
}

void BestPath::encode(const char *text, size_t bytes) {
  nodes.clear();
  nodes.resize(bytes + 1);
  if (nodes.size() != bytes + 1)
    return;
  for (size_t start = 0; start < bytes;) {
    size_t end = start;
    decodeAt(text, bytes, end);
    extend(text, bytes, start, end - start);
    start = end;
  }
  path.clear();
  for (size_t end = bytes; end; end = nodes[end].start)
    path.push(end);
  size_t start = 0;
  for (size_t i = path.size(); i-- > 0; start = path[i]) {
    const uint32_t id = nodes[path[i]].id;
    size_t end = path[i];
    if (id != table.head->unknownId) {
      out.add(id);
      continue;
    }
    // As in `tokenizers`, neighbouring unknown characters are looked up as one.
    while (!table.has(SentencePiece) && i && nodes[path[i - 1]].id == id)
      end = path[--i];
    const Piece *whole = table.has(SentencePiece) ? nullptr : table.find(text + start, end - start);
    whole ? out.add(whole->id) : out.addUnknown(text + start, end - start, table.has(SentencePiece));
  }
}

void LongestPieces::encode(const char *text, size_t bytes) {
  const Text prefix = table.head->continuingPrefix;
  size_t characters = 0;
  for (size_t position = 0; position < bytes; ++characters)
    decodeAt(text, bytes, position);
  ids.clear();
  bool isKnown = characters <= table.head->maxWordCharacters;
  for (size_t start = 0; start < bytes && isKnown;) {
    PrefixSearch search(table);
    const Piece *longest = nullptr;
    size_t longestEnd = start;
    bool isOpen = !start || search.narrow(table.at(prefix), prefix.bytes);
    for (size_t end = start; end < bytes && isOpen;) {
      const size_t begin = end;
      decodeAt(text, bytes, end);
      isOpen = search.narrow(text + begin, end - begin);
      const Piece *piece = isOpen ? search.exact() : nullptr;
      longest = piece ? piece : longest;
      longestEnd = piece ? end : longestEnd;
    }
    isKnown = longest;
    if (longest)
      ids.push(longest->id);
    start = longestEnd;
  }
  if (!isKnown)
    return out.addUnknown(text, bytes, /*mayFuse=*/false);
  for (size_t i = 0; i < ids.size(); ++i)
    out.add(ids[i]);
}

} // namespace perpend::tokenizer
