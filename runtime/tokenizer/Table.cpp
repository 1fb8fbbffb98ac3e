#include "Table.h"
#include "Errors.h"
#include <cstring>
#include <initializer_list>

namespace perpend::tokenizer {

bool Table::isIn(uint32_t characterClass, uint32_t code) const {
  const CharacterClass &set = classes[characterClass];
  if (code < 128)
    return set.ascii[code / 32] >> code % 32 & 1;
  const uint32_t page = code >> 8;
  if (page >= pageCount)
    return false;
  return bitmaps[pages[set.firstPage + page]].bits[code / 32 % 8] >> code % 32 & 1;
}

/// The record that open addressing with linear probing finds from the hash on; null if there is none.
template <typename Slots, typename Records, typename Predicate>
static auto findFrom(size_t hash, const Slots &slots, const Records &records, Predicate isWanted)
    -> decltype(&records[0]) {
  const size_t mask = slots.count - 1;
  size_t slot = hash & mask;
  for (size_t tries = 0; tries < slots.count; ++tries, slot = (slot + 1) & mask) {
    const uint32_t index = slots[slot];
    if (!index)
      return nullptr;
    if (isWanted(records[index - 1]))
      return &records[index - 1];
  }
  return nullptr;
}

const Piece *Table::find(const char *bytes, size_t count) const {
  return findFrom(hashBytes(bytes, count), pieceSlots, pieces, [&](const Piece &piece) {
    return piece.text.bytes == count && !memcmp(at(piece.text), bytes, count);
  });
}

const Merge *Table::findMerge(uint32_t left, uint32_t right) const {
  return findFrom(hashPair(left, right), mergeSlots, merges,
                  [&](const Merge &merge) { return merge.left == left && merge.right == right; });
}

namespace {

class Checker {
public:
  Checker(const char *bytes, size_t count, Table &opened) : base(bytes), size(count), table(opened) {}

  void readLists();
  void checkVocabulary();
  void checkAdded(const View<AddedToken> &tokens, Bitmap &starts);
  void checkSteps(const View<Step> &steps);
  void checkPatterns();
  void checkUnicode();
  bool isGood() const { return good; }

private:
  template <typename T> void read(List list, View<T> &view) {
    const bool isInside =
        list.position % 8 == 0 && list.position <= size && list.count <= (size - list.position) / sizeof(T);
    expect(isInside);
    if (isInside)
      view = {reinterpret_cast<const T *>(base + list.position), list.count};
  }
  void expect(bool holds) { good &= holds; }
  void expectText(Text text, uint32_t least = 0) {
    expect(text.position <= table.texts.count && text.bytes <= table.texts.count - text.position &&
           text.bytes >= least);
  }
  void expectSlots(const View<uint32_t> &slots, size_t entries) {
    expect(slots.count && !(slots.count & (slots.count - 1)));
    for (const uint32_t index : slots)
      expect(index <= entries);
  }
  void expectPart(uint32_t first, uint32_t count, size_t whole) { expect(first <= whole && count <= whole - first); }
  void expectClass(uint32_t index) { expect(index < table.classes.count); }

  const char *base;
  size_t size;
  Table &table;
  bool good = true;
};

void Checker::readLists() {
  const Head &head = *table.head;
  read(head.texts, table.texts);
  read(head.tokens, table.tokens);
  read(head.pieces, table.pieces);
  read(head.pieceSlots, table.pieceSlots);
  read(head.firstPieces, table.firstPieces);
  read(head.scores, table.scores);
  read(head.merges, table.merges);
  read(head.mergeSlots, table.mergeSlots);
  read(head.byteIds, table.byteIds);
  read(head.addedRaw, table.addedRaw);
  read(head.addedNormalized, table.addedNormalized);
  read(head.normalizer, table.normalizer);
  read(head.splitter, table.splitter);
  read(head.decoder, table.decoder);
  read(head.instructions, table.instructions);
  read(head.classes, table.classes);
  read(head.pages, table.pages);
  read(head.bitmaps, table.bitmaps);
  read(head.characters, table.characters);
  read(head.decompositions, table.decompositions);
  read(head.decomposedCodes, table.decomposedCodes);
  read(head.compositions, table.compositions);
  read(head.combiningClasses, table.combiningClasses);
  read(head.charsmapUnits, table.charsmapUnits);
  read(head.charsmapTexts, table.charsmapTexts);
  read(head.graphemeClasses, table.graphemeClasses);
  read(head.prefixIds, table.prefixIds);
  read(head.suffixIds, table.suffixIds);
}

void Checker::checkVocabulary() {
  const Head &head = *table.head;
  expect(head.model <= Model::WordLevel && table.tokens.count && table.tokens.count <= maxTokens);
  expect(head.unknownId == noId || head.unknownId < table.tokens.count);
  expectText(head.continuingPrefix);
  expectText(head.wordSuffix);
  for (const Token &token : table.tokens)
    expectText(token.text);
  for (const Piece &piece : table.pieces)
    expectText(piece.text, 1);
  expectSlots(table.pieceSlots, table.pieces.count);
  expectSlots(table.mergeSlots, table.merges.count);
  expect(table.firstPieces.count == 257 && good);
  for (size_t i = 0; good && i < 257; ++i)
    expect(table.firstPieces[i] <= table.pieces.count && (!i || table.firstPieces[i] >= table.firstPieces[i - 1]));
  expect(table.scores.count == (head.model == Model::Unigram ? table.pieces.count : 0));
  expect(table.byteIds.count == (table.has(ByteFallback) ? 256u : 0));
  for (const View<uint32_t> *ids : {&table.prefixIds, &table.suffixIds})
    for (const uint32_t id : *ids)
      expect(id < table.tokens.count);
}

void Checker::checkAdded(const View<AddedToken> &tokens, Bitmap &starts) {
  for (const AddedToken &token : tokens) {
    expectText(token.text, 1);
    expect(token.id < table.tokens.count);
    if (!good)
      return;
    const auto byte = static_cast<unsigned char>(*table.at(token.text));
    starts.bits[byte / 32] |= 1u << byte % 32;
    if (token.flags & AddedSingleWord)
      expectClass(table.head->wordClass);
    if (token.flags & (AddedStripLeft | AddedStripRight))
      expectClass(table.head->spaceClass);
  }
}

void Checker::checkSteps(const View<Step> &steps) {
  expect(steps.count <= maxSteps);
  for (const Step &step : steps) {
    expectText(step.text);
    expect(step.kind <= StepKind::SentencePieces);
    switch (step.kind) {
    case StepKind::Replace:
    case StepKind::Split:
    case StepKind::ReplaceInToken:
      expect(step.program < table.instructions.count);
      break;
    case StepKind::MapCharacters:
      expectPart(step.first, step.count, table.characters.count);
      break;
    case StepKind::StripSpaces:
      expectClass(step.program);
      break;
    case StepKind::Metaspace:
    case StepKind::StripToken:
    case StepKind::SpacesOfMarks:
      expectText(step.text, 1);
      break;
    case StepKind::Chunks:
      expect(step.count > 0);
      break;
    case StepKind::Ctc:
      expectText({step.first, step.count});
      break;
    default:
      break;
    }
  }
}

void Checker::checkPatterns() {
  const size_t count = table.instructions.count;
  expect(count <= maxInstructions);
  expect(!count || table.instructions[count - 1].op == Op::Accept);
  for (const Instruction &instruction : table.instructions) {
    const Op op = instruction.op;
    expect(op <= Op::WordEdge);
    if (op == Op::Class || op == Op::Greedy || op == Op::Possessive || op == Op::WordEdge)
      expectClass(instruction.a);
    if (op == Op::Fork || op == Op::Jump || op == Op::Look || op == Op::Atomic)
      expect(instruction.a < count);
    if (op == Op::Fork)
      expect(instruction.b < count);
  }
  for (const CharacterClass &set : table.classes)
    expectPart(set.firstPage, pageCount, table.pages.count);
  for (const uint16_t page : table.pages)
    expect(page < table.bitmaps.count);
}

void Checker::checkUnicode() {
  for (const CharacterMap &map : table.characters)
    expectText(map.text, map.keeps ? 1 : 0);
  for (const Decomposition &decomposition : table.decompositions)
    expectPart(decomposition.first, decomposition.count, table.decomposedCodes.count);
  for (const uint32_t code : table.decomposedCodes)
    expect(code < 0x110000);
  const size_t texts = table.charsmapTexts.count;
  expect(!table.charsmapUnits.count || (texts && !table.charsmapTexts[texts - 1]));
}

} // namespace

perpend_status openTable(const void *bytes, int64_t sizeBytes, Table &table) {
  const char *hint = "hint: make the tokenizer's table again";
  table = Table();
  table.head = static_cast<const Head *>(bytes);
  if (sizeBytes < static_cast<int64_t>(sizeof(Head)) || reinterpret_cast<uintptr_t>(bytes) % 8)
    return runtime::fail(PERPEND_CORRUPT, "tokenizer: expected at least %zu bytes at a multiple of 8, got %lld; %s",
                         sizeof(Head), static_cast<long long>(sizeBytes), hint);
  if (table.head->magic != tableMagic || table.head->version != tableVersion)
    return runtime::fail(PERPEND_INCOMPATIBLE, "tokenizer: expected a table of version %u, got something else; %s",
                         tableVersion, hint);
  Checker checker(static_cast<const char *>(bytes), static_cast<size_t>(sizeBytes), table);
  if (table.head->sizeBytes == sizeBytes)
    checker.readLists();
  if (table.head->sizeBytes == sizeBytes && checker.isGood()) {
    checker.checkVocabulary();
    checker.checkAdded(table.addedRaw, table.rawStarts);
    checker.checkAdded(table.addedNormalized, table.normalizedStarts);
    for (const View<Step> *steps : {&table.normalizer, &table.splitter, &table.decoder})
      checker.checkSteps(*steps);
    checker.checkPatterns();
    checker.checkUnicode();
  }
  if (table.head->sizeBytes != sizeBytes || !checker.isGood())
    return runtime::fail(PERPEND_CORRUPT,
                         "tokenizer: expected a table as the compiler writes it, got something else in %lld bytes; %s",
                         static_cast<long long>(sizeBytes), hint);
  return PERPEND_OK;
}

} // namespace perpend::tokenizer
