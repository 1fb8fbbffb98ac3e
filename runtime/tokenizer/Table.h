// A tokenizer as one piece of read-only memory: a head, then lists of records at distances from its start. The compiler
// writes it (src/tokenizer/WriteTable.cpp); openTable checks every distance, count and index before they are used.
#ifndef PERPEND_RUNTIME_TOKENIZER_TABLE_H
#define PERPEND_RUNTIME_TOKENIZER_TABLE_H
#include "include/perpend_tokenizer.h"
#include <cstddef>
#include <cstdint>

namespace perpend::tokenizer {

constexpr uint32_t tableMagic = 0x4B4F5450; // "PTOK"
constexpr uint32_t tableVersion = 1;
constexpr uint32_t noId = 0xFFFFFFFF, unlimited = 0xFFFFFFFF;
constexpr uint32_t pageCount = 0x1100; // of 256 code points each
constexpr uint32_t maxTokens = 1u << 27, maxSteps = 64, maxInstructions = 1u << 16;

struct List {
  uint32_t position, count; // distance from the start in bytes; elements
};

// Bytes in `texts`.
struct Text {
  uint32_t position, bytes;
};

enum class Model : uint32_t { MergePairs, Unigram, WordPiece, WordLevel };

// How a token is decoded.
enum TokenFlags : uint32_t {
  TokenExists = 1,
  TokenSpecial = 2, // left out by PERPEND_SKIP_SPECIAL
  TokenByte = 4,    // stands for the byte in the upper 8 bits of the flags
  TokenUnknown = 8,
  TokenControl = 16, // SentencePiece decodes it to nothing
};
struct Token {
  Text text;
  uint32_t flags;
};

// An entry of the model's vocabulary; the list is in the order of the bytes.
struct Piece {
  Text text;
  uint32_t id; // of hidden pieces (characters that only occur in merges) above those of the tokens
  uint32_t flags;
};
enum PieceFlags : uint32_t { PieceUserDefined = 1, PieceUnused = 2, PieceReserved = 4 };

// The pair with the lowest rank is merged first.
struct Merge {
  uint32_t left, right, rank, result;
};

enum AddedFlags : uint32_t {
  AddedSpecial = 1,
  AddedSingleWord = 2,
  AddedStripLeft = 4,
  AddedStripRight = 8,
  AddedToModel = 16, // not cut out; only kept from SentencePiece's normaliser
};
struct AddedToken {
  Text text;
  uint32_t id, flags;
};

// A step of the normaliser, of the splitter or of the decoder. The fields depend on the kind.
enum class StepKind : uint32_t {
  // Normaliser.
  MapCharacters,     // first, count: the list `characters`
  Decompose,         // flags: 1 compatible, 2 then compose
  Replace,           // program, text
  Prepend,           // text
  StripSpaces,       // flags: 1 left, 2 right; program: class
  Charsmap,          // by graphemes, as `tokenizers` has it
  SentencePieceText, // its map, which leaves `addedNormalized` as it is, and its treatment of spaces; flags: SpaceFlags
  ByteLetters,       // bytes as GPT-2's visible letters (also of the splitter)
  // Splitter.
  Split,       // program, flags: SplitBehavior | 8 inverted
  PrefixSpace, // a space before a text that does not begin with one
  Metaspace,   // text: the mark; flags: 1 first, 2 always, 4 split
  Chunks,      // count: characters in each piece
  // Decoder.
  ReplaceInToken, // program, text
  BytesOfTokens,  // <0xNN>
  Fuse,
  StripToken,    // text: the character; first, count: at most how many at the start, at the end
  SpacesOfMarks, // text: the mark; flags: 1 drop the marks of the first token
  WordPieces,    // text: the prefix; flags: 1 clean up
  SuffixToSpace, // text
  LettersToBytes,
  Ctc,            // text: the pad token; first, count as a Text: the word delimiter; flags: 1 clean up
  JoinBySpaces,   // no decoder
  SentencePieces, // flags: 1 drop one space at the start, 2 drop all; text: what the unknown token becomes
};
enum SplitBehavior : uint32_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous, Inverted = 8 };
enum SpaceFlags : uint32_t { SpacePrefix = 1, SpaceRemoveExtra = 2, SpaceEscape = 4, SpaceAsSuffix = 8 };
struct Step {
  StepKind kind;
  uint32_t flags, program, first, count;
  Text text;
};

// Code points first to last become the text, with the character itself after the first byte if `keeps`. They are
// sorted.
struct CharacterMap {
  uint32_t first, last;
  Text text;
  uint32_t keeps;
  int32_t distance; // if not 0: the code point plus this
};

struct Decomposition {
  uint32_t code, first, count; // in `decomposedCodes`
  uint32_t isCompatible;       // only compatible
};
struct Composition {
  uint32_t first, second, code;
};
struct CombiningClass {
  uint32_t first, last, order;
};

// A regular expression is a range of instructions that begins at `program` and ends with Accept.
enum class Op : uint32_t {
  Character, // a: the code point
  Class,     // a: the class
  Greedy,    // a: the class, b, c: at least, at most how often
  Possessive,
  Fork, // continues at a; if that fails, at b
  Jump, // a
  Look, // what follows up to Accept matches here; a: where it continues; b: 1 negated; c: characters to go back, plus 1
  Atomic, // what follows up to Accept matches without being tried again; a: where it continues
  Accept,
  TextStart,
  TextEnd,
  LineStart,
  LineEnd,
  LastLineEnd,
  WordEdge, // a: the class of words; b: 1 negated
};
struct Instruction {
  Op op;
  uint32_t a, b, c;
};
struct CharacterClass {
  uint32_t ascii[4];
  uint32_t firstPage; // in `pages`: pageCount numbers of bitmaps
};
struct Bitmap {
  uint32_t bits[8];
};

enum TableFlags : uint32_t {
  KeepsBytes = 1,      // bytes that are not UTF-8 reach the model; else they become U+FFFD
  FuseUnknown = 2,     // neighbouring unknown characters are one unknown token
  WholePieces = 4,     // a piece that is in the vocabulary is not merged from its characters (ignore_merges)
  FloatScores = 8,     // Unigram: scores are added in 32 bits
  ByteFallback = 16,   // an unknown character becomes the tokens of its bytes
  SentencePiece = 32,  // pieces that are user-defined or unused, and unknown characters, as SentencePiece has them
  UnknownIsError = 64, // there is no unknown token, and a character without one is an error
};

struct Head {
  uint32_t magic, version, sizeBytes, flags;
  Model model;
  uint32_t unknownId, maxWordCharacters, wordClass, spaceClass; // classes: noId if not needed
  Text continuingPrefix, wordSuffix;
  double unknownScore;
  List texts, tokens, pieces, pieceSlots, firstPieces, scores, merges, mergeSlots, byteIds, addedRaw, addedNormalized;
  List normalizer, splitter, decoder, instructions, classes, pages, bitmaps, characters;
  List decompositions, decomposedCodes, compositions, combiningClasses, charsmapUnits, charsmapTexts, graphemeClasses;
  List prefixIds, suffixIds;
};

// The lists as pointers into the table.
template <typename T> struct View {
  const T *data = nullptr;
  size_t count = 0;

  const T &operator[](size_t i) const { return data[i]; }
  const T *begin() const { return data; }
  const T *end() const { return data + count; }
};

struct Table {
  const Head *head = nullptr;
  View<char> texts;
  View<Token> tokens;
  View<Piece> pieces;
  View<uint32_t> pieceSlots, firstPieces; // powers of two; 257 indices of pieces by their first byte
  View<double> scores;
  View<Merge> merges;
  View<uint32_t> mergeSlots, byteIds;
  View<AddedToken> addedRaw, addedNormalized;
  Bitmap rawStarts = {}, normalizedStarts = {}; // the first bytes of these
  View<Step> normalizer, splitter, decoder;
  View<Instruction> instructions;
  View<CharacterClass> classes;
  View<uint16_t> pages;
  View<Bitmap> bitmaps;
  View<CharacterMap> characters;
  View<Decomposition> decompositions;
  View<uint32_t> decomposedCodes;
  View<Composition> compositions;
  View<CombiningClass> combiningClasses;
  View<uint32_t> charsmapUnits;
  View<char> charsmapTexts;
  View<CombiningClass> graphemeClasses;
  View<uint32_t> prefixIds, suffixIds;

  bool has(TableFlags flag) const { return head->flags & flag; }
  const char *at(Text text) const { return texts.data + text.position; }
  bool isIn(uint32_t characterClass, uint32_t code) const;
  // The piece with these bytes; null: there is none.
  const Piece *find(const char *bytes, size_t count) const;
  // The merge of a pair; null: there is none.
  const Merge *findMerge(uint32_t left, uint32_t right) const;
};

inline uint32_t hashBytes(const char *bytes, size_t count) {
  uint32_t hash = 0x811C9DC5;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x01000193;
  return hash ^ hash >> 15;
}
inline uint32_t hashPair(uint32_t left, uint32_t right) {
  const uint64_t hash = (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15;
  return static_cast<uint32_t>(hash >> 32);
}

// Errors: INCOMPATIBLE, CORRUPT.
perpend_status openTable(const void *bytes, int64_t sizeBytes, Table &table);

} // namespace perpend::tokenizer
#endif
