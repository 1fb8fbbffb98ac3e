// A hash table with open addressing; copied strings are stored consecutively.
#include "library/StringTable.h"

namespace perpend::library {

StringTable::~StringTable() { free(places); }

uint64_t StringTable::hashOf(const char *text, int64_t sizeBytes) { // FNV-1a, its high bits mixed into the low ones
  uint64_t hash = 0xCBF29CE484222325u;
  for (int64_t i = 0; i < sizeBytes; ++i)
    hash = (hash ^ static_cast<unsigned char>(text[i])) * 0x100000001B3u;
  return hash ^ hash >> 32;
}

int64_t *StringTable::find(const char *text, int64_t sizeBytes) {
  uint64_t mask = static_cast<uint64_t>(placeCount) - 1;
  for (uint64_t at = hashOf(text, sizeBytes) & mask;; at = (at + 1) & mask) {
    if (!places[at])
      return &places[at];
    const perpend_string &known = texts[places[at] - 1];
    if (known.sizeBytes == sizeBytes && (!sizeBytes || !memcmp(known.data, text, static_cast<size_t>(sizeBytes))))
      return &places[at];
  }
}

bool StringTable::grow() {
  if (texts.count() * 2 < placeCount)
    return true;
  int64_t wanted = placeCount ? placeCount * 2 : 64;
  auto *larger = static_cast<int64_t *>(calloc(static_cast<size_t>(wanted), sizeof(int64_t)));
  if (!larger)
    return false;
  free(places);
  places = larger;
  placeCount = wanted;
  for (int64_t i = 0; i < texts.count(); ++i)
    *find(texts[i].data, texts[i].sizeBytes) = i + 1;
  return true;
}

bool StringTable::addConstant(const perpend_string &constant) {
  if (!grow() || !texts.add(constant))
    return false;
  *find(constant.data, constant.sizeBytes) = texts.count();
  return true;
}

const char *StringTable::keep(const char *text, int64_t sizeBytes) {
  if (!sizeBytes)
    return "";
  auto *copy = static_cast<char *>(memory.allocate(sizeBytes, 1));
  return copy ? static_cast<const char *>(memcpy(copy, text, static_cast<size_t>(sizeBytes))) : nullptr;
}

int64_t StringTable::identityOf(const char *text, int64_t sizeBytes) {
  if (!grow())
    return -1;
  if (texts.count() == 0) { // the empty string always exists
    if (!addConstant({"", 0}))
      return -1;
  }
  int64_t *place = find(text, sizeBytes);
  if (*place)
    return *place - 1;
  const char *copy = keep(text, sizeBytes);
  if (!copy || !texts.add({copy, sizeBytes}))
    return -1;
  *place = texts.count();
  return texts.count() - 1;
}

perpend_string StringTable::textOf(int64_t identity) const {
  return identity >= 0 && identity < texts.count() ? texts[identity] : perpend_string{"", 0};
}

void StringTable::nextRun(int64_t kept, bool keepsLatest) {
  for (int64_t i = texts.count(); i-- > kept;) // latest first, since no later string was placed behind it
    *find(texts[i].data, texts[i].sizeBytes) = 0;
  texts.shrink(kept);
  memory.nextRun(keepsLatest);
}

} // namespace perpend::library
