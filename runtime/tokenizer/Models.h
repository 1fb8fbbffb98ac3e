// From a piece of text to tokens: the algorithms by which vocabularies are applied.
#ifndef PERPEND_RUNTIME_TOKENIZER_MODELS_H
#define PERPEND_RUNTIME_TOKENIZER_MODELS_H
#include "Array.h"
#include "Table.h"

namespace perpend::tokenizer {

// The ids of a text, and what stood in the way of the rest.
class Output {
public:
  Output(const Table &tokenizer, Memory &memory) : ids(memory), table(tokenizer) {}

  void add(uint32_t id) {
    ids.push(static_cast<int32_t>(id));
    endsUnknown = false;
  }
  // Unknown characters: the tokens of their bytes, or the unknown token, or an error.
  void addUnknown(const char *text, size_t bytes, bool mayFuse);
  bool addBytes(const char *text, size_t bytes);
  void endPiece() { endsUnknown = false; }

  Array<int32_t> ids;
  bool isUnknownError = false; // there is no token for an unknown character

private:
  const Table &table;
  bool endsUnknown = false;
};

// Byte-pair encoding: characters, of which the neighbours with the lowest rank are merged until none can be.
class PairMerger {
public:
  PairMerger(const Table &tokenizer, Memory &memory, Output &output)
      : table(tokenizer), out(output), symbols(memory), heap(memory), halves(memory), spelling(memory) {}
  void encode(const char *text, size_t bytes);

private:
  struct Symbol {
    uint32_t id, begin, bytes; // no bytes: it was merged into another
    uint32_t previous, next;   // noId: none
  };
  struct Halves {
    uint32_t whole, left, right;
  };

  void split(const char *text, size_t bytes);
  uint32_t find(const char *text, size_t bytes, bool isFirst, bool isLast);
  void add(uint32_t id, size_t begin, size_t bytes);
  void pushPair(uint32_t left);
  uint64_t pop();
  void mergeFew();
  void mergeMany();
  void merge(uint32_t left, const Merge &rule);
  void emit(const char *text);
  void emitHalves(uint32_t id, int depth);

  const Table &table;
  Output &out;
  Array<Symbol> symbols;
  Array<uint64_t> heap; // rank, then position
  Array<Halves> halves; // of pieces that are not used, as SentencePiece splits them again
  Array<char> spelling;
};

// The most likely sequence of pieces.
class BestPath {
public:
  BestPath(const Table &tokenizer, Memory &memory, Output &output)
      : table(tokenizer), out(output), nodes(memory), path(memory) {}
  void encode(const char *text, size_t bytes);

private:
  struct Node {
    double score;
    size_t start;
    uint32_t id;
    bool isReached;
  };

  void reach(size_t end, size_t start, double score, uint32_t id);
  void extend(const char *text, size_t bytes, size_t start, size_t characterBytes);

  const Table &table;
  Output &out;
  Array<Node> nodes;
  Array<size_t> path;
};

// Repeats the longest piece that begins the rest of a word.
class LongestPieces {
public:
  LongestPieces(const Table &tokenizer, Memory &memory, Output &output) : table(tokenizer), out(output), ids(memory) {}
  void encode(const char *text, size_t bytes);

private:
  const Table &table;
  Output &out;
  Array<uint32_t> ids;
};

// The pieces that begin as a text does, narrowed byte by byte.
class PrefixSearch {
public:
  explicit PrefixSearch(const Table &tokenizer) : table(tokenizer), low(0), high(tokenizer.pieces.count) {}
  // False: no piece begins so.
  bool narrow(const char *bytes, size_t count);
  // The piece of exactly these bytes; null: there is none.
  const Piece *exact() const;

private:
  const Table &table;
  size_t low, high, depth = 0;
};

} // namespace perpend::tokenizer
#endif
