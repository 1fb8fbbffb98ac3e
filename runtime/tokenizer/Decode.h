// The way of ids to text, token by token: each step of the decoder passes on what no later token can change.
#ifndef PERPEND_RUNTIME_TOKENIZER_DECODE_H
#define PERPEND_RUNTIME_TOKENIZER_DECODE_H
#include "Pattern.h"

namespace perpend::tokenizer {

class Decoder {
public:
  Decoder(const Table &tokenizer, uint32_t decodeFlags);
  ~Decoder();
  Decoder(const Decoder &) = delete;
  Decoder &operator=(const Decoder &) = delete;

  perpend_status add(int32_t id);
  perpend_status finish();
  // The text since the last call, in whole characters unless raw bytes are wanted. `isEnd`: no more will come.
  void take(Array<char> &text, bool isEnd);
  bool isReady() const { return states || !table.decoder.count; }

private:
  // A part of a token's text.
  struct Chunk {
    const char *text;
    size_t bytes;
    bool isBegin, isEnd;
    uint32_t tokenFlags;
  };
  struct State {
    explicit State(Memory &memory) : partial(memory), held(memory) {}

    Array<char> partial; // of a token that arrives in chunks
    Array<char> held;    // bytes, or the last token
    uint64_t count = 0;  // tokens so far
    uint32_t left = 0;   // characters that may still be stripped
    bool isOpen = false, isHolding = false, isFollowing = false;
  };

  void pass(uint32_t index, Chunk chunk);
  void passWhole(uint32_t index, const char *text, size_t bytes) { pass(index, {text, bytes, true, true, 0}); }
  void fuse(uint32_t index, const char *text, size_t bytes);
  void strip(uint32_t index, Chunk chunk);
  void apply(uint32_t index, const char *text, size_t bytes, uint32_t tokenFlags);
  void replace(const Step &step, const char *text, size_t bytes, Array<char> &out);
  void bytesOfTokens(uint32_t index, const char *text, size_t bytes);
  void flushBytes(uint32_t index);
  void marks(const Step &step, State &state, const char *text, size_t bytes, Array<char> &out);
  void wordPieces(const Step &step, State &state, const char *text, size_t bytes, Array<char> &out);
  void ctc(uint32_t index, const char *text, size_t bytes);
  void suffix(uint32_t index, bool isLast);
  void sentencePiece(uint32_t index, const char *text, size_t bytes, uint32_t tokenFlags);
  void finishStep(uint32_t index);
  void replaceText(Array<char> &text, const char *from, size_t fromBytes, const char *to);
  void cleanUp(Array<char> &text);
  perpend_status status() const;

  const Table &table;
  const uint32_t flags;
  Memory memory;
  Matcher matcher;
  Array<char> output, swapped;
  State *states = nullptr; // one for each step
  bool hasText = false;
};

} // namespace perpend::tokenizer
#endif
