// Sorts words by their keys, and finds the word of a rank. Both take about the same time for every order of the words.
#ifndef PERPEND_RUNTIME_LIBRARY_ORDERWORDS_H
#define PERPEND_RUNTIME_LIBRARY_ORDERWORDS_H
#include "library/OrderKeys.h"

namespace perpend::library {

constexpr int64_t fewWords = 40;

template <typename Word> void insertWords(Word *words, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const Word word = words[i];
    int64_t place = i;
    for (; place > 0 && word < words[place - 1]; --place)
      words[place] = words[place - 1];
    words[place] = word;
  }
}

// From the lowest byte of the keys on; a byte that all keys share moves nothing. Words must stand in the order of their
// positions. Returns `words` or `spare`, where the result is.
template <typename Word> Word *sortWords(Word *words, Word *spare, int64_t count) {
  using Key = typename Word::Key;
  if (count <= fewWords) {
    insertWords(words, count);
    return words;
  }
  constexpr int bytes = sizeof(Key);
  uint32_t counts[bytes][256];
  memset(counts, 0, sizeof counts);
  for (int64_t i = 0; i < count; ++i) {
    const Key key = words[i].key();
    for (int byte = 0; byte < bytes; ++byte)
      ++counts[byte][key >> (8 * byte) & 255];
  }
  const Key first = words[0].key();
  for (int byte = 0; byte < bytes; ++byte) {
    if (counts[byte][first >> (8 * byte) & 255] == static_cast<uint64_t>(count))
      continue;
    uint32_t starts[256], sum = 0;
    for (int value = 0; value < 256; ++value) {
      starts[value] = sum;
      sum += counts[byte][value];
    }
    for (int64_t i = 0; i < count; ++i)
      spare[starts[words[i].key() >> (8 * byte) & 255]++] = words[i];
    Word *result = spare;
    spare = words;
    words = result;
  }
  return words;
}

// Puts a word into the sorted `list`, in place of the greatest one.
template <typename Word> void replaceGreatest(Word *list, int64_t count, Word word) {
  int64_t place = count - 1;
  for (; place > 0 && word < list[place - 1]; --place)
    list[place] = list[place - 1];
  list[place] = word;
}

// Sorts the `wanted` least of `words` into `list`, for a few of them.
template <typename Word> void listLeast(const Word *words, int64_t count, Word *list, int64_t wanted) {
  for (int64_t i = 0; i < wanted; ++i)
    list[i] = words[i];
  insertWords(list, wanted);
  for (int64_t i = wanted; i < count; ++i)
    if (words[i] < list[wanted - 1])
      replaceGreatest(list, wanted, words[i]);
}

// Moves the `wanted` least words of `words` to `spare`, in their order in `words`, 0 < wanted <= count; the last result
// is the greatest of them. The bytes of the keys are counted from the highest on, of the words that may be the last.
template <typename Word> Word leastWords(const Word *words, Word *spare, int64_t count, int64_t wanted) {
  using Key = typename Word::Key;
  Key prefix = 0, mask = 0;
  int64_t left = wanted; // of the words that have the prefix
  for (int byte = sizeof(Key) - 1; byte >= 0; --byte) {
    uint32_t counts[256];
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < count; ++i)
      if ((words[i].key() & mask) == prefix)
        ++counts[words[i].key() >> (8 * byte) & 255];
    int value = 0;
    for (; left > counts[value]; ++value)
      left -= counts[value];
    prefix |= static_cast<Key>(value) << (8 * byte);
    mask |= static_cast<Key>(255) << (8 * byte);
  }
  int64_t kept = 0;
  Word last = words[0];
  for (int64_t i = 0; i < count; ++i) {
    const bool isEqual = words[i].key() == prefix, isKept = words[i].key() < prefix || (isEqual && left > 0);
    last = isEqual && isKept ? words[i] : last;
    left -= isEqual;
    if (isKept)
      spare[kept++] = words[i];
  }
  return last;
}

} // namespace perpend::library
#endif
