// A hand-written language model: the state "history" has all tokens so far, and the most likely next token depends on
// each of them and on its place. Counts the tokens that it computes.
#ifndef PERPEND_TEST_FAKE_LANGUAGE_MODEL_H
#define PERPEND_TEST_FAKE_LANGUAGE_MODEL_H
#define FAKE_TABLES_BYTES (1 << 20)
#include "runtime/FakeTables.h"

namespace fake {

constexpr int64_t context = 32, vocabulary = 640;
inline int64_t computedTokens = 0, runs = 0;
inline int32_t failure = 0;       // the next run ends with it,
inline int64_t runsToFailure = 0; // or one behind so many

/// What follows a text. `previous`: of the text without its last token; 0 of an empty text.
inline int64_t follow(int64_t previous, int64_t token) { return (previous * 5 + token * 3 + 1) % 251 + 40; }

inline int32_t bindTokens(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *error) {
  symbols[0] = dims[0][0];
  symbols[1] = dims[1][0];
  if (symbols[0] + symbols[1] <= context)
    return 0;
  *error = {-1, -1, -1, symbols[0] + symbols[1], "inputs: state 'history' needs length + n <= 32, got {}"};
  return 1;
}

inline void sizesOfTokens(const int64_t *symbols, int64_t *, int64_t *outputDims) {
  outputDims[0] = vocabulary;
  outputDims[1] = symbols[0] + symbols[1];
}

inline int32_t runTokens(perpend_frame *frame) {
  const int64_t n = frame->symbols[0], length = frame->symbols[1];
  auto *history = static_cast<int64_t *>(frame->outputs[1]);
  auto *logits = static_cast<float *>(frame->outputs[0]);
  memcpy(history + length, frame->inputs[0], static_cast<size_t>(n) * sizeof(int64_t));
  if (int32_t status = failure; status && runsToFailure-- <= 0) {
    failure = 0;
    return status;
  }
  computedTokens += n;
  ++runs;
  int64_t next = 0;
  for (int64_t i = 0; i < length + n; ++i)
    next = follow(next, history[i]);
  for (int64_t i = 0; i < vocabulary; ++i)
    logits[i] = static_cast<float>(i == next ? 9 : i == next + 1 ? 8 : -static_cast<double>(i) / 100);
  return PERPEND_OK;
}

/// Which entries there are.
enum class Form { Both, Single, Chunk };

inline void describeEntry(Tables &tables, perpend_entry_record &entry, const char *name, const char *n) {
  entry.name = tables.text(name);
  entry.arenaBytes = -1;
  entry.symbols = tables.texts({"n", "length"});
  entry.inputs = tables.records({tables.tensor("tokens", PERPEND_I64, {n})});
  entry.outputs = tables.records({tables.tensor("logits", PERPEND_F32, {"640"})});
  entry.states = tables.records<perpend_entry_state_record>({{0, PERPEND_UPDATE_APPENDED}});
}

inline void describeLanguageModel(Tables &tables, Form form) {
  describe(tables, "fake");
  describeEntry(tables, tables.entry, "decode", form == Form::Chunk ? "n" : "1");
  if (form == Form::Both)
    describeEntry(tables, tables.second, "prefill", "n");
  tables.head.states = tables.records({tables.tensor("history", PERPEND_I64, {"32"})});
  tables.head.stateFacts = tables.records<perpend_state_record>({{0, 0, 0, 0}});
}

} // namespace fake
#endif
