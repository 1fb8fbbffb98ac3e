// The way of a text to ids: added tokens are cut out, the rest is normalised, split and given to the model.
#ifndef PERPEND_RUNTIME_TOKENIZER_ENCODE_H
#define PERPEND_RUNTIME_TOKENIZER_ENCODE_H
#include "Models.h"
#include "Normalize.h"

namespace perpend::tokenizer {

class Encoder {
public:
  Encoder(const Table &tokenizer, uint32_t encodeFlags);
  perpend_status run(const char *text, size_t bytes);
  int32_t *takeIds(int64_t &count);

private:
  // A piece of text; `isStart`: it begins where the whole text does.
  struct Part {
    const char *text;
    size_t bytes;
    bool isStart;
  };
  class Scratch;

  void encodeText(const char *text, size_t bytes);
  void encodeSegment(Part part);
  void split(uint32_t step, Part part);
  void splitByPattern(uint32_t step, Part part);
  void splitMarks(uint32_t step, Part part);
  void splitChunks(uint32_t step, Part part);
  void encodePiece(Part part);
  perpend_status status() const;

  const Table &table;
  const uint32_t flags;
  Memory memory;
  Output out;
  Normalizer normalizer;
  PairMerger pairs;
  BestPath path;
  LongestPieces longest;
  Array<char> valid;
  bool isTooLong = false;  // a pattern took too many steps
  bool isTooLarge = false; // a piece has more than 4 GB
};

} // namespace perpend::tokenizer
#endif
