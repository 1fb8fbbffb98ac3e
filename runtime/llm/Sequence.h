// One text. Its tokens are known at once; the model computes them when logits are asked for.
#ifndef PERPEND_RUNTIME_LLM_SEQUENCE_H
#define PERPEND_RUNTIME_LLM_SEQUENCE_H
#include "llm/LanguageModel.h"
#include "tokenizer/Array.h"

namespace perpend::llm {

using tokenizer::Array;
using tokenizer::Memory;

// What goes on between perpend_llm_sequence_start and the end of the text.
struct Generation {
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  perpend_token_stream *stream = nullptr;
  perpend_stop *stop = nullptr;
  int64_t promptCount = 0;
  bool isStarted = false, hasChosen = false; // hasChosen: the latest step
  bool hasSearched = false;                  // with beams
  int32_t finish = PERPEND_LLM_GOES_ON, stopString = -1;
};

} // namespace perpend::llm

struct perpend_llm_sequence {
  explicit perpend_llm_sequence(const perpend_llm &llm) : llm(llm) {}

  const perpend_llm &llm;
  perpend_llm_sequence_options options = PERPEND_LLM_SEQUENCE_DEFAULTS;
  perpend::llm::Memory memory;
  perpend::llm::Array<int32_t> tokens{memory};
  perpend::llm::Array<int64_t> chunk{memory}; // of tokens, as the model takes them
  perpend::llm::Array<char> text{memory};     // of the latest piece
  // The first is that of the states; they share these, and the arena.
  perpend_session *single = nullptr, *chunks = nullptr;
  perpend_session *embed = nullptr, *verify = nullptr; // likewise, once they are needed
  perpend::llm::Array<float> values{memory};           // of an embedding
  int64_t cachedCount = 0;                             // the first tokens, of which the states have rows
  int64_t stateLength = 0;       // at least cachedCount; later rows are of tokens that have been replaced
  const float *logits = nullptr; // of the last cached token; NULL: not known
  perpend_sampler *sampler = nullptr;
  perpend::llm::Generation generation;
  perpend::llm::Array<int32_t> stopTokens{memory}; // of a search
  perpend::llm::Array<int32_t> found{memory};      // by a search: the tokens of the generation
};

namespace perpend::llm {

// Ends a generation, if one goes on.
void stopGenerating(perpend_llm_sequence &sequence);
// Whether there is room for more tokens behind `before`, and the model knows them. Errors: INVALID_ARGUMENT,
// INVALID_DATA.
perpend_status checkTokens(const perpend_llm_sequence &sequence, int64_t before, const int32_t *tokens, int64_t count);
// The session that has the states.
perpend_session *stateSession(const perpend_llm_sequence &sequence);
// Cuts the states back to the tokens that are still right.
perpend_status cutStates(perpend_llm_sequence &sequence);
// Nothing in the states is right.
void forgetStates(perpend_llm_sequence &sequence);
// The cache has exactly the first `count` tokens. Errors: those of perpend_session_run.
perpend_status computeTo(perpend_llm_sequence &sequence, int64_t count);
// Fills in what a choice of the next token needs: logits, and the text, of which `promptCount` tokens are the prompt.
perpend_status readChoice(perpend_llm_sequence &sequence, int64_t promptCount, perpend_sampler_input &input);
// Runs an entry over the next `count` tokens.
perpend_status runEntry(perpend_llm_sequence &sequence, perpend_session *session, int64_t count, const float **values);
// Keeps what a search needs of the sampler's options. Errors: those of perpend_beams_create.
perpend_status prepareSearch(perpend_llm_sequence &sequence, const perpend_sampler_options &sampling);
// Fills `found` with what follows the prompt in the best text that a search with beams finds, at most `maxTokens`.
perpend_status searchWithBeams(perpend_llm_sequence &sequence, int64_t maxTokens);
// Appends a token that has been chosen.
perpend_status appendToken(perpend_llm_sequence &sequence, int32_t token);

} // namespace perpend::llm
#endif
