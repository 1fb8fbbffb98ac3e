// Continues a text token by token: logits, a choice, the text of the token, stop strings.
#include "Errors.h"
#include "llm/Sequence.h"
#include <cstring>

using perpend::runtime::fail;
using perpend::runtime::failAllocation;

namespace perpend::llm {

void stopGenerating(perpend_llm_sequence &sequence) {
  Generation &generation = sequence.generation;
  perpend_token_stream_free(generation.stream);
  perpend_stop_free(generation.stop);
  generation = Generation();
}

/// The sampler of the sequence, with the options of the generation.
static perpend_status prepareSampler(perpend_llm_sequence &sequence, const perpend_llm_generation &options) {
  perpend_sampler_options sampling = PERPEND_SAMPLER_DEFAULTS;
  if (options.sampler)
    if (perpend_status status = readVersioned("sampler", options.sampler, &sampling, sizeof sampling))
      return status;
  sampling.sizeBytes = sizeof sampling;
  if (options.beams > 1 && sampling.topLogprobs >= 0)
    return fail(PERPEND_INVALID_ARGUMENT, "generation: expected beams or log-probabilities of tokens, got both");
  if (options.ignoresStopTokens)
    sampling.stopTokenCount = 0;
  else if (!sampling.stopTokenCount)
    sampling.stopTokens = perpend_llm_stop_tokens(&sequence.llm, &sampling.stopTokenCount);
  if (options.beams > 1)
    if (perpend_status status = prepareSearch(sequence, sampling))
      return status;
  return sequence.sampler ? perpend_sampler_set_options(sequence.sampler, &sampling)
                          : perpend_sampler_create(&sampling, &sequence.sampler);
}

/// The text of one more token. Models may have more rows than their tokenizers have tokens; those have no text.
static perpend_status addToStream(const perpend_llm_sequence &sequence, int32_t token, perpend_string &text) {
  text = {nullptr, 0};
  if (!sequence.llm.tokenizer || !perpend_tokenizer_token(sequence.llm.tokenizer, token).data)
    return PERPEND_OK;
  return perpend_token_stream_add(sequence.generation.stream, token, &text);
}

/// A text of tokens in the middle of a text depends on those before them (a space at the start), so the stream begins
/// with the prompt.
static perpend_status primeStream(perpend_llm_sequence &sequence, Generation &generation) {
  if (!sequence.llm.tokenizer)
    return generation.options.stopStringCount ? requireTokenizer(sequence.llm) : PERPEND_OK;
  perpend_status status =
      perpend_token_stream_create(sequence.llm.tokenizer, generation.options.decoding, &generation.stream);
  for (size_t i = 0; !status && i < sequence.tokens.size(); ++i) {
    perpend_string ignored;
    status = addToStream(sequence, sequence.tokens[i], ignored);
  }
  return status;
}

static perpend_status start(perpend_llm_sequence &sequence, const perpend_llm_generation *options) {
  Generation &generation = sequence.generation;
  if (options)
    if (perpend_status status = readVersioned("generation", options, &generation.options, sizeof generation.options))
      return status;
  if (generation.options.maxTokens < -1)
    return fail(PERPEND_INVALID_ARGUMENT, "generation: expected maxTokens of at least 0, or -1 for no limit, got %lld",
                static_cast<long long>(generation.options.maxTokens));
  if (generation.options.beams < 0 || generation.options.beams > PERPEND_LLM_MOST_BEAMS)
    return fail(PERPEND_INVALID_ARGUMENT, "generation: expected 0 to %d beams, got %d", PERPEND_LLM_MOST_BEAMS,
                generation.options.beams);
  perpend_status status = prepareSampler(sequence, generation.options);
  if (!status)
    status = primeStream(sequence, generation);
  if (!status && generation.options.stopStringCount)
    status = perpend_stop_create(generation.options.stopStrings, generation.options.stopStringCount, &generation.stop);
  generation.promptCount = static_cast<int64_t>(sequence.tokens.size());
  generation.options.sampler = nullptr; // the caller's
  generation.options.stopStrings = nullptr;
  generation.isStarted = status == PERPEND_OK;
  return status;
}

static int64_t generatedCount(const perpend_llm_sequence &sequence) {
  return static_cast<int64_t>(sequence.tokens.size()) - sequence.generation.promptCount;
}

static int64_t mostTokens(const perpend_llm_sequence &sequence) {
  const int64_t most = sequence.generation.options.maxTokens;
  const int64_t room = sequence.llm.settings->contextTokens - sequence.generation.promptCount;
  return most >= 0 && most < room ? most : room;
}

static bool isFull(const perpend_llm_sequence &sequence) { return generatedCount(sequence) >= mostTokens(sequence); }

perpend_status readChoice(perpend_llm_sequence &sequence, int64_t promptCount, perpend_sampler_input &input) {
  input.tokens = sequence.tokens.data();
  input.tokenCount = static_cast<int64_t>(sequence.tokens.size());
  input.promptCount = promptCount;
  input.position = static_cast<uint64_t>(input.tokenCount - promptCount);
  return perpend_llm_sequence_logits(&sequence, &input.logits, &input.count);
}

/// The next token of what the search has found.
static perpend_status takeFound(perpend_llm_sequence &sequence, int32_t &token) {
  Generation &generation = sequence.generation;
  if (!generation.hasSearched)
    if (perpend_status status = searchWithBeams(sequence, mostTokens(sequence)))
      return status;
  generation.hasSearched = true;
  token = sequence.found[static_cast<size_t>(generatedCount(sequence))];
  return PERPEND_OK;
}

static perpend_status choose(perpend_llm_sequence &sequence, int32_t &token) {
  if (sequence.generation.options.beams > 1)
    return takeFound(sequence, token);
  perpend_sampler_input input{};
  if (perpend_status status = readChoice(sequence, sequence.generation.promptCount, input))
    return status;
  input.choice = sequence.generation.options.choice;
  return perpend_sampler_sample(sequence.sampler, &input, &token);
}

static perpend_status show(perpend_llm_sequence &sequence, perpend_string text) {
  sequence.text.append(text.data, static_cast<size_t>(text.sizeBytes));
  if (!sequence.memory.failed)
    return PERPEND_OK;
  sequence.memory.failed = false;
  return failAllocation(text.sizeBytes);
}

/// Shows a text, except for what may belong to a stop string.
static perpend_status pass(perpend_llm_sequence &sequence, perpend_string text) {
  Generation &generation = sequence.generation;
  if (!generation.stop)
    return show(sequence, text);
  perpend_string released;
  perpend_status status = perpend_stop_add(generation.stop, text, &released, &generation.stopString);
  if (generation.stopString >= 0)
    generation.finish = PERPEND_LLM_STOP;
  return status ? status : show(sequence, released);
}

/// The text ends here, with what was held back.
static perpend_status flush(perpend_llm_sequence &sequence) {
  Generation &generation = sequence.generation;
  if (!generation.stream)
    return PERPEND_OK;
  perpend_string rest;
  perpend_status status = perpend_token_stream_finish(generation.stream, &rest);
  if (!status)
    status = pass(sequence, rest);
  if (!status && generation.stop && generation.stopString < 0) {
    status = perpend_stop_finish(generation.stop, &rest);
    if (!status)
      status = show(sequence, rest);
  }
  return status;
}

static perpend_status step(perpend_llm_sequence &sequence, int32_t &token) {
  Generation &generation = sequence.generation;
  if (isFull(sequence)) {
    generation.finish = PERPEND_LLM_LENGTH;
    return flush(sequence);
  }
  perpend_status status = choose(sequence, token);
  if (!status)
    status = appendToken(sequence, token);
  if (status)
    return status;
  if (perpend_sampler_stops(sequence.sampler, token)) {
    generation.finish = PERPEND_LLM_STOP;
    return flush(sequence);
  }
  perpend_string text;
  status = addToStream(sequence, token, text);
  if (!status)
    status = pass(sequence, text);
  if (status || generation.finish || !isFull(sequence))
    return status;
  generation.finish = PERPEND_LLM_LENGTH;
  return flush(sequence);
}

} // namespace perpend::llm

using namespace perpend::llm;

perpend_status perpend_llm_sequence_start(perpend_llm_sequence *sequence, const perpend_llm_generation *options) {
  if (!sequence)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_start: expected a sequence, got NULL");
  stopGenerating(*sequence);
  const perpend_status status = start(*sequence, options);
  if (status)
    stopGenerating(*sequence);
  return status;
}

perpend_status perpend_llm_sequence_next(perpend_llm_sequence *sequence, perpend_llm_piece *piece) {
  if (!sequence || !piece)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_next: expected a sequence and a place for the piece, got NULL");
  Generation &generation = sequence->generation;
  if (!generation.isStarted)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_next: expected a generation, got a sequence whose "
                                          "tokens have changed since; hint: perpend_llm_sequence_start");
  sequence->text.clear();
  int32_t token = -1;
  const perpend_status status = generation.finish ? PERPEND_OK : step(*sequence, token);
  generation.hasChosen = !status && token >= 0 && generation.options.beams < 2;
  *piece = {token,
            generation.finish,
            generation.stopString,
            {sequence->text.data(), static_cast<int64_t>(sequence->text.size())}};
  return status;
}

perpend_status perpend_llm_sequence_logprobs(const perpend_llm_sequence *sequence, double *chosen,
                                             const int32_t **tokens, const double **logprobs, int32_t *count) {
  if (!sequence || !sequence->generation.hasChosen)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_logprobs: expected a sequence whose latest "
                "perpend_llm_sequence_next has chosen a token, got %s",
                sequence ? "another" : "NULL");
  return perpend_sampler_logprobs(sequence->sampler, chosen, tokens, logprobs, count);
}
