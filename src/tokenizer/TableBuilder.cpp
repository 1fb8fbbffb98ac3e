//===- TableBuilder.cpp - collects a tokenizer's table --------------------===//

#include "tokenizer/TableBuilder.h"
#include "tokenizer/Refusal.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace perpend::tokenizer {

void TableBuilder::setToken(uint32_t id, llvm::StringRef tokenText, uint32_t tokenFlags) {
  if (id >= tokens.size())
    tokens.resize(id + 1);
  tokens[id].text = tokenText.str();
  tokens[id].flags = tokenFlags | TokenExists;
}

void TableBuilder::addPiece(llvm::StringRef pieceText, uint32_t id, uint32_t pieceFlags, double score) {
  auto [found, isNew] = pieceIndex.try_emplace(pieceText, pieces.size());
  if (isNew)
    pieces.push_back({pieceText.str(), id, pieceFlags, score});
  else
    pieces[found->second] = {pieceText.str(), id, pieceFlags, score};
}

std::optional<uint32_t> TableBuilder::pieceId(llvm::StringRef pieceText) const {
  auto found = pieceIndex.find(pieceText);
  if (found == pieceIndex.end())
    return std::nullopt;
  return pieces[found->second].id;
}

void TableBuilder::addMerge(const Merge &merge) {
  auto [found, isNew] = mergeIndex.try_emplace({merge.left, merge.right}, merges.size());
  if (isNew)
    merges.push_back(merge);
  else
    merges[found->second] = merge;
}

void TableBuilder::findByteTokens() {
  byteIds.assign(256, noId);
  for (unsigned byte = 0; byte < 256; ++byte)
    byteIds[byte] = pieceId(llvm::formatv("<0x{0:X-2}>", byte).str()).value_or(noId);
}

Text TableBuilder::text(llvm::StringRef bytes) {
  const Text place = {static_cast<uint32_t>(texts.size()), static_cast<uint32_t>(bytes.size())};
  texts += bytes;
  return place;
}

//===----------------------------------------------------------------------===//
// Classes and patterns
//===----------------------------------------------------------------------===//

static Bitmap pageOf(const CodeSet &set, uint32_t page) {
  Bitmap bitmap = {};
  for (const auto &[first, last] : set.ranges())
    for (uint32_t code = std::max(first, page * 256); code <= last && code < (page + 1) * 256; ++code)
      bitmap.bits[code / 32 % 8] |= 1u << code % 32;
  return bitmap;
}

uint32_t TableBuilder::characterClass(const CodeSet &set) {
  for (uint32_t i = 0; i < classSets.size(); ++i)
    if (classSets[i] == set)
      return i;
  CharacterClass added = {};
  added.firstPage = static_cast<uint32_t>(pages.size());
  size_t range = 0;
  for (uint32_t page = 0; page < pageCount; ++page) {
    Bitmap bitmap = {};
    while (range < set.ranges().size() && set.ranges()[range].second < page * 256)
      ++range;
    std::vector<CodeSet::Range> here;
    for (size_t i = range; i < set.ranges().size() && set.ranges()[i].first < (page + 1) * 256; ++i)
      here.push_back(set.ranges()[i]);
    bitmap = pageOf(makeSet(here), page);
    if (page == 0)
      std::copy(bitmap.bits, bitmap.bits + 4, added.ascii);
    size_t number = 0;
    while (number < bitmaps.size() && memcmp(&bitmaps[number], &bitmap, sizeof bitmap))
      ++number;
    if (number == bitmaps.size())
      bitmaps.push_back(bitmap);
    pages.push_back(static_cast<uint16_t>(number));
  }
  classes.push_back(added);
  classSets.push_back(set);
  return static_cast<uint32_t>(classes.size() - 1);
}

llvm::Expected<uint32_t> TableBuilder::pattern(llvm::StringRef patternText, bool isLiteral) {
  auto parsed = isLiteral ? literalPattern(patternText) : parsePattern(patternText);
  if (!parsed)
    return parsed.takeError();
  const auto program = static_cast<uint32_t>(instructions.size());
  auto classOf = [&](const CodeSet &set) { return characterClass(set); };
  if (llvm::Error error = emitPattern(**parsed, classOf, instructions))
    return std::move(error);
  return program;
}

uint32_t TableBuilder::patternOf(const CodeSet &set) {
  instructions.push_back({Op::Class, characterClass(set), 0, 0});
  instructions.push_back({Op::Accept, 0, 0, 0});
  return static_cast<uint32_t>(instructions.size() - 2);
}

uint32_t TableBuilder::patternOfRuns(llvm::ArrayRef<CodeSet> sets) {
  PatternNode choice;
  choice.kind = PatternNode::Alternatives;
  for (const CodeSet &set : sets) {
    auto run = std::make_unique<PatternNode>();
    run->kind = PatternNode::Repeat;
    run->least = 1;
    run->most = unlimited;
    run->parts.push_back(std::make_unique<PatternNode>());
    run->parts[0]->kind = PatternNode::Set;
    run->parts[0]->set = set;
    choice.parts.push_back(std::move(run));
  }
  const auto program = static_cast<uint32_t>(instructions.size());
  llvm::cantFail(emitPattern(choice, [&](const CodeSet &set) { return characterClass(set); }, instructions));
  return program;
}

//===----------------------------------------------------------------------===//
// Steps of normalisers
//===----------------------------------------------------------------------===//

Step TableBuilder::mapCharacters(std::vector<CharacterMap> maps) {
  llvm::sort(maps, [](const CharacterMap &a, const CharacterMap &b) { return a.first < b.first; });
  const Step step = {StepKind::MapCharacters,
                     0,
                     0,
                     static_cast<uint32_t>(characters.size()),
                     static_cast<uint32_t>(maps.size()),
                     {0, 0}};
  characters.insert(characters.end(), maps.begin(), maps.end());
  return step;
}

Step TableBuilder::normalForm(bool isCompatible, bool composes) {
  needsForms = true;
  return {
      StepKind::Decompose, static_cast<uint32_t>(isCompatible) | static_cast<uint32_t>(composes) << 1, 0, 0, 0, {0, 0}};
}

llvm::Error TableBuilder::setCharsmap(llvm::StringRef bytes) {
  uint32_t unitBytes = 0;
  const char *hint = "the file may be damaged; fetch it again";
  if (bytes.size() > 4)
    memcpy(&unitBytes, bytes.data(), 4);
  if (bytes.size() <= 4 || unitBytes % 4 || unitBytes >= bytes.size() - 4)
    return refuse("tokenizer: expected a precompiled map of characters, got something else", hint);
  if (!charsmapUnits.empty())
    return refuse("tokenizer: expected one precompiled map of characters, got two", hint);
  charsmapUnits.resize(unitBytes / 4);
  memcpy(charsmapUnits.data(), bytes.data() + 4, unitBytes);
  charsmapTexts = bytes.drop_front(4 + unitBytes).str();
  charsmapTexts.push_back('\0');
  needsGraphemes = true;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

void TableBuilder::sortPieces() {
  llvm::sort(pieces, [](const PieceSpec &a, const PieceSpec &b) { return a.text < b.text; });
  pieceIndex.clear();
}

std::vector<AddedToken> TableBuilder::sortedAdded(std::vector<AddedTokenSpec> specs) {
  llvm::sort(specs, [](const AddedTokenSpec &a, const AddedTokenSpec &b) { return a.text < b.text; });
  std::vector<AddedToken> list;
  for (const AddedTokenSpec &spec : specs)
    list.push_back({text(spec.text), spec.id, spec.flags});
  return list;
}

namespace {
/// Appends lists at multiples of 8 bytes.
class Writer {
public:
  explicit Writer(std::string &out) : bytes(out) {}
  template <typename T> List add(const std::vector<T> &list) { return add(list.data(), list.size(), sizeof(T)); }
  List add(llvm::StringRef text) { return add(text.data(), text.size(), 1); }

private:
  List add(const void *data, size_t count, size_t elementBytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const List list = {static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(count)};
    if (count)
      bytes.append(static_cast<const char *>(data), count * elementBytes);
    return list;
  }

  std::string &bytes;
};
} // namespace

static std::vector<uint32_t> emptySlots(size_t entries) {
  return std::vector<uint32_t>(llvm::PowerOf2Ceil(std::max<size_t>(entries * 2, 2)));
}

static void fillSlot(std::vector<uint32_t> &slots, uint32_t hash, uint32_t index) {
  const size_t mask = slots.size() - 1;
  size_t slot = hash & mask;
  while (slots[slot])
    slot = (slot + 1) & mask;
  slots[slot] = index + 1;
}

llvm::Expected<std::string> TableBuilder::write() {
  if (tokens.empty())
    return refuse("tokenizer: expected a vocabulary, got no tokens", "the file may be damaged; fetch it again");
  sortPieces();
  Head head = {};
  head.magic = tableMagic;
  head.version = tableVersion;
  head.flags = flags;
  head.model = model;
  head.unknownId = unknownId;
  head.maxWordCharacters = maxWordCharacters;
  head.wordClass = head.spaceClass = noId;
  head.unknownScore = unknownScore;
  head.continuingPrefix = text(continuingPrefix);
  head.wordSuffix = text(wordSuffix);
  for (const auto *list : {&addedRaw, &addedNormalized})
    for (const AddedTokenSpec &added : *list) {
      if (added.flags & AddedSingleWord)
        head.wordClass = characterClass(namedSet(NamedSet::Word));
      if (added.flags & (AddedStripLeft | AddedStripRight))
        head.spaceClass = characterClass(namedSet(NamedSet::Space));
    }
  std::string bytes(sizeof(Head), '\0');
  Writer writer(bytes);

  std::vector<Token> tokenList;
  for (const TokenSpec &token : tokens)
    tokenList.push_back({text(token.text), token.flags});
  std::vector<Piece> pieceList;
  std::vector<double> scores;
  std::vector<uint32_t> slots = emptySlots(pieces.size()), firstPieces(257);
  for (const PieceSpec &piece : pieces) {
    fillSlot(slots, hashBytes(piece.text.data(), piece.text.size()), static_cast<uint32_t>(pieceList.size()));
    ++firstPieces[static_cast<unsigned char>(piece.text[0]) + 1];
    pieceList.push_back({text(piece.text), piece.id, piece.flags});
    scores.push_back(piece.score);
  }
  for (size_t i = 0; i < 256; ++i)
    firstPieces[i + 1] += firstPieces[i];
  std::vector<uint32_t> mergeSlots = emptySlots(merges.size());
  for (uint32_t i = 0; i < merges.size(); ++i)
    fillSlot(mergeSlots, hashPair(merges[i].left, merges[i].right), i);
  head.tokens = writer.add(tokenList);
  head.pieces = writer.add(pieceList);
  head.pieceSlots = writer.add(slots);
  head.firstPieces = writer.add(firstPieces);
  head.scores = writer.add(model == Model::Unigram ? scores : std::vector<double>());
  head.merges = writer.add(merges);
  head.mergeSlots = writer.add(mergeSlots);
  head.byteIds = writer.add(flags & ByteFallback ? byteIds : std::vector<uint32_t>());
  head.addedRaw = writer.add(sortedAdded(addedRaw));
  head.addedNormalized = writer.add(sortedAdded(addedNormalized));
  head.prefixIds = writer.add(prefixIds);
  head.suffixIds = writer.add(suffixIds);
  writeSteps(head, bytes);
  head.texts = writer.add(texts);
  if (bytes.size() >= noId)
    return refuse("tokenizer: expected a table of at most 4 GB, got a larger one", "the vocabulary is too large");
  head.sizeBytes = static_cast<uint32_t>(bytes.size());
  memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

void TableBuilder::writeSteps(Head &head, std::string &bytes) {
  Writer writer(bytes);
  head.normalizer = writer.add(normalizer);
  head.splitter = writer.add(splitter);
  head.decoder = writer.add(decoder);
  head.instructions = writer.add(instructions);
  head.classes = writer.add(classes);
  head.pages = writer.add(pages);
  head.bitmaps = writer.add(bitmaps);
  head.characters = writer.add(characters);
  head.charsmapUnits = writer.add(charsmapUnits);
  head.charsmapTexts = writer.add(llvm::StringRef(charsmapTexts));
  std::vector<Decomposition> decompositions;
  std::vector<uint32_t> codes;
  std::vector<Composition> compositions;
  std::vector<CombiningClass> combining, graphemes;
  if (needsForms) {
    for (const CodeDecomposition &form : normalForms().decompositions) {
      decompositions.push_back(
          {form.code, static_cast<uint32_t>(codes.size()), static_cast<uint32_t>(form.to.size()), form.isCompatible});
      codes.insert(codes.end(), form.to.begin(), form.to.end());
    }
    for (const CodePair &pair : normalForms().compositions)
      compositions.push_back({pair.first, pair.second, pair.code});
    for (const CodeClass &range : normalForms().classes)
      combining.push_back({range.first, range.last, range.value});
  }
  if (needsGraphemes)
    for (const CodeClass &range : graphemeClasses())
      graphemes.push_back({range.first, range.last, range.value});
  head.decompositions = writer.add(decompositions);
  head.decomposedCodes = writer.add(codes);
  head.compositions = writer.add(compositions);
  head.combiningClasses = writer.add(combining);
  head.graphemeClasses = writer.add(graphemes);
}
} // namespace perpend::tokenizer
