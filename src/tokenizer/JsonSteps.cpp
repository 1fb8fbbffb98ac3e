//===- JsonSteps.cpp - normalisers, splitters, decoders -------------------===//

#include "tokenizer/JsonReader.h"
#include "tokenizer/Refusal.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"

namespace perpend::tokenizer {

using llvm::json::Value;

const char gpt2Pattern[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

//===----------------------------------------------------------------------===//
// Maps of characters
//===----------------------------------------------------------------------===//

static void mapRanges(std::vector<CharacterMap> &maps, const CodeSet &set, Text text, bool keeps = false) {
  for (const auto &[first, last] : set.ranges())
    maps.push_back({first, last, text, keeps, 0});
}

static void addMap(TableBuilder &builder, std::vector<CharacterMap> maps) {
  builder.normalizer.push_back(builder.mapCharacters(std::move(maps)));
}

static void addRemoval(TableBuilder &builder, const CodeSet &set) {
  std::vector<CharacterMap> maps;
  mapRanges(maps, set, builder.text(""));
  addMap(builder, std::move(maps));
}

void addLowerCase(TableBuilder &builder) {
  std::vector<CharacterMap> maps;
  for (const LowerCase &lower : lowerCases()) {
    if (lower.to.size() == 1) {
      maps.push_back({lower.code, lower.code, {0, 0}, 0, static_cast<int32_t>(lower.to[0] - lower.code)});
      continue;
    }
    std::string text;
    for (const uint32_t code : lower.to)
      appendCode(text, code);
    maps.push_back({lower.code, lower.code, builder.text(text), 0, 0});
  }
  addMap(builder, std::move(maps));
}

void addBertNormalizer(TableBuilder &builder, bool cleans, bool spacesChinese, bool stripsAccents, bool lowers) {
  if (cleans) {
    std::vector<CharacterMap> maps;
    CodeSet removed = namedSet(NamedSet::Control);
    removed.add(0, 0);
    removed.add(0xFFFD, 0xFFFD);
    const CodeSet spaces = namedSet(NamedSet::Space).intersection(removed.complement());
    mapRanges(maps, removed, builder.text(""));
    mapRanges(maps, spaces, builder.text(" "));
    addMap(builder, std::move(maps));
  }
  if (spacesChinese) {
    std::vector<CharacterMap> maps;
    const CodeSet chinese = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
                             {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    mapRanges(maps, chinese, builder.text("  "), /*keeps=*/true);
    addMap(builder, std::move(maps));
  }
  if (stripsAccents) {
    builder.normalizer.push_back(builder.normalForm(/*isCompatible=*/false, /*composes=*/false));
    addRemoval(builder, namedSet(NamedSet::Accent));
  }
  if (lowers)
    addLowerCase(builder);
}

static void addNmt(TableBuilder &builder) {
  addRemoval(builder, {{1, 8}, {0xB, 0xB}, {0xE, 0x1F}, {0x7F, 0x7F}, {0x8F, 0x8F}, {0x9F, 0x9F}});
  std::vector<CharacterMap> maps;
  mapRanges(maps,
            {{9, 0xA},
             {0xC, 0xD},
             {0x1680, 0x1680},
             {0x200B, 0x200F},
             {0x2028, 0x2029},
             {0x2581, 0x2581},
             {0xFEFF, 0xFEFF},
             {0xFFFD, 0xFFFD}},
            builder.text(" "));
  addMap(builder, std::move(maps));
}

//===----------------------------------------------------------------------===//
// Normalisers
//===----------------------------------------------------------------------===//

void JsonReader::readBertNormalizer(const Object &component) {
  const StringRef where = "normalizer: BertNormalizer";
  const bool lowers = boolean(component, "lowercase", where, true);
  addBertNormalizer(builder, boolean(component, "clean_text", where, true),
                    boolean(component, "handle_chinese_chars", where, true),
                    boolean(component, "strip_accents", where, lowers), lowers);
}

void JsonReader::readNormalizer(const Object &component, int depth) {
  const StringRef where = "normalizer", type = string(component, "type", where);
  std::vector<Step> &steps = builder.normalizer;
  if (failed())
    return;
  if (type == "Sequence" && depth < 8) {
    for (const Value &part : array(component, "normalizers", where))
      readNormalizer(object(&part, where), depth + 1);
    return;
  }
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD")
    return steps.push_back(builder.normalForm(type.contains('K'), type.ends_with("C")));
  if (type == "Lowercase")
    return addLowerCase(builder);
  if (type == "StripAccents")
    return addRemoval(builder, namedSet(NamedSet::Combining));
  if (type == "Nmt")
    return addNmt(builder);
  if (type == "BertNormalizer")
    return readBertNormalizer(component);
  if (type == "Prepend")
    return steps.push_back({StepKind::Prepend, 0, 0, 0, 0, builder.text(string(component, "prepend", where))});
  if (type == "Replace")
    return steps.push_back({StepKind::Replace, 0, pattern(component, "normalizer: Replace"), 0, 0,
                            builder.text(string(component, "content", where))});
  if (type == "Strip") {
    const uint32_t sides =
        (boolean(component, "strip_left", where) ? 1u : 0) | (boolean(component, "strip_right", where) ? 2u : 0);
    return steps.push_back(
        {StepKind::StripSpaces, sides, builder.characterClass(namedSet(NamedSet::Space)), 0, 0, {0, 0}});
  }
  if (type == "ByteLevel") {
    builder.flags |= KeepsBytes;
    return steps.push_back({StepKind::ByteLetters, 0, 0, 0, 0, {0, 0}});
  }
  if (type != "Precompiled")
    return failComponent("normalizer", type,
                         "NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Nmt, BertNormalizer, Prepend, Replace, "
                         "ByteLevel, Precompiled or Sequence");
  std::vector<char> bytes;
  if (llvm::Error error = llvm::decodeBase64(string(component, "precompiled_charsmap", where), bytes))
    return fail("normalizer: Precompiled: " + llvm::toString(std::move(error)));
  if (bytes.empty())
    return;
  if (llvm::Error error = builder.setCharsmap({bytes.data(), bytes.size()}))
    return fail("normalizer: Precompiled: " + llvm::toString(std::move(error)));
  steps.push_back({StepKind::Charsmap, 0, 0, 0, 0, {0, 0}});
}

//===----------------------------------------------------------------------===//
// Splitters
//===----------------------------------------------------------------------===//

uint32_t JsonReader::behavior(const Object &component, StringRef where, std::optional<StringRef> missing) {
  static constexpr StringRef names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  const StringRef name = string(component, "behavior", where, missing);
  const auto *found = llvm::find(names, name);
  if (found == std::end(names))
    failComponent("behavior", name, "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  return static_cast<uint32_t>(found - names);
}

void JsonReader::readByteLevel(const Object &component) {
  const StringRef where = "pre_tokenizer: ByteLevel";
  builder.flags |= KeepsBytes;
  if (boolean(component, "add_prefix_space", where, true))
    builder.splitter.push_back({StepKind::PrefixSpace, 0, 0, 0, 0, {0, 0}});
  if (boolean(component, "use_regex", where, true))
    addSplit(llvm::cantFail(builder.pattern(gpt2Pattern, /*isLiteral=*/false)), Isolated);
  builder.splitter.push_back({StepKind::ByteLetters, 0, 0, 0, 0, {0, 0}});
}

/// Whether a mark is put before the text; `first`: only at its start.
bool JsonReader::prepends(const Object &component, StringRef where, bool &first) {
  const StringRef scheme = string(component, "prepend_scheme", where, "always");
  const bool isOld = component.get("add_prefix_space") && !boolean(component, "add_prefix_space", where, true);
  if (scheme != "always" && scheme != "first" && scheme != "never")
    failComponent("prepend_scheme", scheme, "always, first or never");
  if (isOld && component.get("prepend_scheme") && scheme != "never")
    fail(where + ": add_prefix_space is false, but prepend_scheme is '" + scheme + "'");
  first = scheme == "first";
  return scheme != "never" && !isOld;
}

void JsonReader::readMetaspace(const Object &component) {
  const StringRef where = "pre_tokenizer: Metaspace";
  bool first = false;
  const bool isPrepended = prepends(component, where, first);
  const uint32_t mode = (isPrepended ? (first ? 1u : 2u) : 0u) | (boolean(component, "split", where, true) ? 4u : 0u);
  const StringRef mark = string(component, "replacement", where);
  if (mark.empty())
    return fail(where + ": expected a character as 'replacement'");
  builder.splitter.push_back({StepKind::Metaspace, mode, 0, 0, 0, builder.text(mark)});
}

void JsonReader::readSplitter(const Object &component, int depth) {
  const StringRef where = "pre_tokenizer", type = string(component, "type", where);
  if (failed())
    return;
  if (type == "Sequence" && depth < 8) {
    for (const Value &part : array(component, "pretokenizers", where))
      readSplitter(object(&part, where), depth + 1);
    return;
  }
  if (type == "ByteLevel")
    return readByteLevel(component);
  if (type == "Metaspace")
    return readMetaspace(component);
  if (type == "Split")
    return addSplit(pattern(component, "pre_tokenizer: Split"),
                    behavior(component, where) | (boolean(component, "invert", where, false) ? Inverted : 0));
  if (type == "Digits")
    return addSplit(builder.patternOf(namedSet(NamedSet::Numeric)),
                    boolean(component, "individual_digits", where, false) ? Isolated : Contiguous);
  if (type == "Punctuation")
    return addSplit(builder.patternOf(namedSet(NamedSet::Punctuation)), behavior(component, where, "Isolated"));
  if (type == "WhitespaceSplit")
    return addSplit(builder.patternOf(namedSet(NamedSet::Space)), Removed);
  if (type == "BertPreTokenizer")
    return addBertSplitter(builder);
  if (type == "CharDelimiterSplit") {
    llvm::Expected<uint32_t> program = builder.pattern(string(component, "delimiter", where), /*isLiteral=*/true);
    if (!program)
      return fail("pre_tokenizer: CharDelimiterSplit: " + llvm::toString(program.takeError()));
    return addSplit(*program, Removed);
  }
  if (type == "Whitespace") { // words, and what is neither word nor space
    const CodeSet &word = namedSet(NamedSet::Word);
    CodeSet other = word;
    other.add(namedSet(NamedSet::Space));
    return addSplit(builder.patternOfRuns({word, other.complement()}), Removed | Inverted);
  }
  if (type == "FixedLength")
    return builder.splitter.push_back(
        {StepKind::Chunks, 0, 0, 0, std::max(1u, number(component, "length", where, 5)), {0, 0}});
  failComponent("pre-tokenizer", type,
                "ByteLevel, Metaspace, Split, Digits, Punctuation, Whitespace, WhitespaceSplit, BertPreTokenizer, "
                "CharDelimiterSplit, FixedLength or Sequence");
}

void addBertSplitter(TableBuilder &builder) {
  for (const auto &[set, behavior] : {std::pair(NamedSet::Space, Removed), std::pair(NamedSet::Punctuation, Isolated)})
    builder.splitter.push_back({StepKind::Split, behavior, builder.patternOf(namedSet(set)), 0, 0, {0, 0}});
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

void JsonReader::readDecoder(const Object &component, int depth) {
  const StringRef where = "decoder", type = string(component, "type", where);
  std::vector<Step> &steps = builder.decoder;
  if (failed())
    return;
  if (type == "Sequence" && depth < 8) {
    for (const Value &part : array(component, "decoders", where))
      readDecoder(object(&part, where), depth + 1);
    return;
  }
  if (type == "ByteLevel")
    return steps.push_back({StepKind::LettersToBytes, 0, 0, 0, 0, {0, 0}});
  if (type == "ByteFallback")
    return steps.push_back({StepKind::BytesOfTokens, 0, 0, 0, 0, {0, 0}});
  if (type == "Fuse")
    return steps.push_back({StepKind::Fuse, 0, 0, 0, 0, {0, 0}});
  if (type == "Replace")
    return steps.push_back({StepKind::ReplaceInToken, 0, pattern(component, "decoder: Replace"), 0, 0,
                            builder.text(string(component, "content", where))});
  if (type == "Strip") {
    const StringRef content = string(component, "content", where);
    if (content.empty())
      return fail("decoder: Strip: expected a character as 'content'");
    return steps.push_back({StepKind::StripToken, 0, 0, number(component, "start", where),
                            number(component, "stop", where), builder.text(content)});
  }
  if (type == "Metaspace") {
    bool first = false;
    const bool drops = prepends(component, "decoder: Metaspace", first);
    const StringRef mark = string(component, "replacement", where);
    if (mark.empty())
      return fail("decoder: Metaspace: expected a character as 'replacement'");
    return steps.push_back({StepKind::SpacesOfMarks, drops, 0, 0, 0, builder.text(mark)});
  }
  if (type == "WordPiece")
    return steps.push_back({StepKind::WordPieces, boolean(component, "cleanup", where, true), 0, 0, 0,
                            builder.text(string(component, "prefix", where, "##"))});
  if (type == "BPEDecoder")
    return steps.push_back(
        {StepKind::SuffixToSpace, 0, 0, 0, 0, builder.text(string(component, "suffix", where, "</w>"))});
  if (type != "CTC")
    return failComponent(
        "decoder", type,
        "ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, WordPiece, BPEDecoder, CTC or Sequence");
  const Text delimiter = builder.text(string(component, "word_delimiter_token", where, "|"));
  steps.push_back({StepKind::Ctc, boolean(component, "cleanup", where, true), 0, delimiter.position, delimiter.bytes,
                   builder.text(string(component, "pad_token", where, "<pad>"))});
}
} // namespace perpend::tokenizer
