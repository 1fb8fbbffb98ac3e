// Tokens of a sequence, and the cache. Changing tokens only notes how many of those in the cache are still right; the
// states are cut back, and missing rows computed, when logits are needed.
#include "llm/Sequence.h"
#include "Errors.h"
#include <cstdlib>
#include <new>

using perpend::runtime::fail;
using perpend::runtime::failAllocation;

namespace perpend::llm {

// Scores of a chunk are computed for all of its keys, half of which its tokens do not see.
constexpr int32_t defaultChunkTokens = 256;

perpend_status checkTokens(const perpend_llm_sequence &sequence, int64_t before, const int32_t *tokens, int64_t count) {
  if (count < 0 || (count && !tokens))
    return fail(PERPEND_INVALID_ARGUMENT, "sequence: expected tokens and their number, got %s and %lld",
                tokens ? "tokens" : "NULL", static_cast<long long>(count));
  const int64_t context = sequence.llm.settings->contextTokens;
  if (count > context - before)
    return fail(PERPEND_INVALID_ARGUMENT,
                "sequence: expected at most %lld tokens, the context of this model, got %lld; hint: a shorter text, or "
                "perpend llm compile --context N",
                static_cast<long long>(context), static_cast<long long>(before + count));
  for (int64_t i = 0; i < count; ++i)
    if (tokens[i] < 0 || tokens[i] >= sequence.llm.vocabulary)
      return fail(PERPEND_INVALID_DATA, "sequence: expected token %lld to be in a vocabulary of %lld, got %d",
                  static_cast<long long>(before + i), static_cast<long long>(sequence.llm.vocabulary), tokens[i]);
  return PERPEND_OK;
}

/// The tokens from `first` on change.
static void forget(perpend_llm_sequence &sequence, int64_t first) {
  stopGenerating(sequence);
  if (first >= sequence.cachedCount)
    return;
  sequence.cachedCount = first;
  sequence.logits = nullptr;
}

static perpend_status replaceFrom(perpend_llm_sequence &sequence, int64_t first, const int32_t *tokens, int64_t count) {
  const auto total = static_cast<size_t>(first + count);
  if (!sequence.tokens.reserve(total)) {
    sequence.memory.failed = false;
    return failAllocation(static_cast<int64_t>(total * sizeof(int32_t)));
  }
  forget(sequence, first);
  sequence.tokens.resize(static_cast<size_t>(first));
  sequence.tokens.append(tokens, static_cast<size_t>(count));
  return PERPEND_OK;
}

perpend_status appendToken(perpend_llm_sequence &sequence, int32_t token) {
  sequence.tokens.push(token);
  if (!sequence.memory.failed)
    return PERPEND_OK;
  sequence.memory.failed = false;
  return failAllocation(static_cast<int64_t>(sequence.tokens.size() * sizeof(int32_t)));
}

static perpend_status createSessions(perpend_llm_sequence &sequence) {
  const perpend_session_options options{sequence.options.threads};
  perpend_model *first = sequence.llm.single ? sequence.llm.single : sequence.llm.chunk;
  perpend_session *&place = sequence.llm.single ? sequence.single : sequence.chunks;
  perpend_status status = perpend_session_create(first, &options, &place);
  if (!status && sequence.llm.single && sequence.llm.chunk)
    status = perpend_session_create_shared(sequence.llm.chunk, sequence.single, &sequence.chunks);
  return status;
}

perpend_session *stateSession(const perpend_llm_sequence &sequence) {
  return sequence.single ? sequence.single : sequence.chunks;
}

perpend_status runEntry(perpend_llm_sequence &sequence, perpend_session *session, int64_t count, const float **values) {
  sequence.chunk.clear();
  for (int64_t i = 0; i < count; ++i)
    sequence.chunk.push(sequence.tokens[static_cast<size_t>(sequence.cachedCount + i)]);
  if (sequence.memory.failed) {
    sequence.memory.failed = false;
    return failAllocation(count * static_cast<int64_t>(sizeof(int64_t)));
  }
  const perpend_tensor input{sequence.chunk.data(), &count, 1, PERPEND_I64};
  perpend_tensor output{};
  sequence.logits = nullptr;
  if (perpend_status status = perpend_session_run(session, &input, 1, &output, 1))
    return status;
  sequence.cachedCount += count;
  sequence.stateLength = sequence.cachedCount;
  *values = static_cast<const float *>(output.data);
  return PERPEND_OK;
}

/// Computes the next `count` tokens.
static perpend_status runChunk(perpend_llm_sequence &sequence, int64_t count) {
  const float *logits = nullptr;
  perpend_status status =
      runEntry(sequence, count == 1 && sequence.single ? sequence.single : sequence.chunks, count, &logits);
  sequence.logits = logits;
  return status;
}

void forgetStates(perpend_llm_sequence &sequence) {
  sequence.cachedCount = 0;
  sequence.stateLength = 1;
  sequence.logits = nullptr;
}

perpend_status cutStates(perpend_llm_sequence &sequence) {
  if (sequence.stateLength == sequence.cachedCount)
    return PERPEND_OK;
  if (!sequence.llm.canCut)
    forgetStates(sequence);
  perpend_status status = sequence.cachedCount ? perpend_session_truncate(stateSession(sequence), sequence.cachedCount)
                                               : perpend_session_reset(stateSession(sequence));
  if (status == PERPEND_STATE_LOST) { // a window had left rows behind that are in it again
    forgetStates(sequence);
    status = perpend_session_reset(stateSession(sequence));
  }
  if (!status)
    sequence.stateLength = sequence.cachedCount;
  return status;
}

perpend_status computeTo(perpend_llm_sequence &sequence, int64_t count) {
  if (sequence.cachedCount > count) {
    sequence.cachedCount = count;
    sequence.logits = nullptr;
  }
  perpend_status status = cutStates(sequence);
  while (!status && sequence.cachedCount < count) {
    const int64_t left = count - sequence.cachedCount, most = sequence.chunks ? sequence.options.chunkTokens : 1;
    status = runChunk(sequence, left < most ? left : most);
  }
  if (status == PERPEND_STATE_LOST) { // by a run that failed before
    forgetStates(sequence);
    return cutStates(sequence) ? status : computeTo(sequence, count);
  }
  return status;
}

static perpend_status computeMissing(perpend_llm_sequence &sequence) {
  const auto total = static_cast<int64_t>(sequence.tokens.size());
  if (!sequence.logits && sequence.cachedCount == total)
    --sequence.cachedCount; // whose logits are needed again
  return computeTo(sequence, total);
}

} // namespace perpend::llm

using namespace perpend::llm;

perpend_status perpend_llm_sequence_create(const perpend_llm *llm, const perpend_llm_sequence_options *options,
                                           perpend_llm_sequence **sequence) {
  if (!llm || !sequence)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_create: expected a model and a place for the result, got NULL");
  *sequence = nullptr;
  void *memory = malloc(sizeof(perpend_llm_sequence));
  if (!memory)
    return failAllocation(sizeof(perpend_llm_sequence));
  auto *created = new (memory) perpend_llm_sequence(*llm);
  perpend_status status = PERPEND_OK;
  if (options)
    status = readVersioned("sequence", options, &created->options, sizeof created->options);
  if (!status && (created->options.threads < 0 || created->options.chunkTokens < 0))
    status = fail(PERPEND_INVALID_ARGUMENT, "sequence: expected threads and chunkTokens of at least 0, got %d and %d",
                  created->options.threads, created->options.chunkTokens);
  if (!created->options.chunkTokens)
    created->options.chunkTokens = defaultChunkTokens;
  if (!status)
    status = createSessions(*created);
  if (status) {
    perpend_llm_sequence_free(created);
    return status;
  }
  *sequence = created;
  return PERPEND_OK;
}

void perpend_llm_sequence_free(perpend_llm_sequence *sequence) {
  if (!sequence)
    return;
  stopGenerating(*sequence);
  perpend_sampler_free(sequence->sampler);
  perpend_session_free(sequence->embed);
  perpend_session_free(sequence->verify);
  perpend_session_free(sequence->chunks);
  perpend_session_free(sequence->single);
  sequence->~perpend_llm_sequence();
  free(sequence);
}

perpend_status perpend_llm_sequence_fork(perpend_llm_sequence *sequence, perpend_llm_sequence **copy) {
  if (!sequence || !copy)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_fork: expected a sequence and a place for the result, got NULL");
  *copy = nullptr;
  void *memory = malloc(sizeof(perpend_llm_sequence));
  if (!memory)
    return failAllocation(sizeof(perpend_llm_sequence));
  auto *created = new (memory) perpend_llm_sequence(sequence->llm);
  created->options = sequence->options;
  perpend_session *&first = sequence->single ? created->single : created->chunks;
  perpend_status status = cutStates(*sequence);
  if (!status)
    status = perpend_session_fork(stateSession(*sequence), &first);
  if (!status && sequence->single && sequence->chunks)
    status = perpend_session_create_shared(sequence->llm.chunk, created->single, &created->chunks);
  if (!status)
    status = replaceFrom(*created, 0, sequence->tokens.data(), static_cast<int64_t>(sequence->tokens.size()));
  if (status) {
    perpend_llm_sequence_free(created);
    return status;
  }
  created->cachedCount = created->stateLength = sequence->cachedCount;
  *copy = created;
  return PERPEND_OK;
}

perpend_status perpend_llm_sequence_set(perpend_llm_sequence *sequence, const int32_t *tokens, int64_t count) {
  if (!sequence)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_set: expected a sequence, got NULL");
  if (perpend_status status = checkTokens(*sequence, 0, tokens, count))
    return status;
  const auto known = static_cast<int64_t>(sequence->tokens.size());
  int64_t common = 0;
  while (common < known && common < count && sequence->tokens[static_cast<size_t>(common)] == tokens[common])
    ++common;
  return replaceFrom(*sequence, common, tokens + common, count - common);
}

perpend_status perpend_llm_sequence_add(perpend_llm_sequence *sequence, const int32_t *tokens, int64_t count) {
  if (!sequence)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_add: expected a sequence, got NULL");
  const auto known = static_cast<int64_t>(sequence->tokens.size());
  if (perpend_status status = checkTokens(*sequence, known, tokens, count))
    return status;
  return replaceFrom(*sequence, known, tokens, count);
}

perpend_status perpend_llm_sequence_truncate(perpend_llm_sequence *sequence, int64_t count) {
  if (!sequence)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_truncate: expected a sequence, got NULL");
  if (count < 0 || count > static_cast<int64_t>(sequence->tokens.size()))
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_truncate: expected 0 to %zu tokens, got %lld",
                sequence->tokens.size(), static_cast<long long>(count));
  return replaceFrom(*sequence, count, nullptr, 0);
}

void perpend_llm_sequence_tokens(const perpend_llm_sequence *sequence, const int32_t **tokens, int64_t *count,
                                 int64_t *cachedCount) {
  if (tokens)
    *tokens = sequence->tokens.data();
  if (count)
    *count = static_cast<int64_t>(sequence->tokens.size());
  if (cachedCount)
    *cachedCount = sequence->cachedCount;
}

perpend_status perpend_llm_sequence_logits(perpend_llm_sequence *sequence, const float **logits, int64_t *count) {
  if (!sequence || !logits)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_logits: expected a sequence and a place for the result, got NULL");
  if (!sequence->tokens.size())
    return fail(PERPEND_INVALID_ARGUMENT, "sequence: expected at least one token, got an empty text; hint: the token "
                                          "at the start of a text is enough (PERPEND_ADD_SPECIAL)");
  if (perpend_status status = computeMissing(*sequence))
    return status;
  *logits = sequence->logits;
  if (count)
    *count = sequence->llm.vocabulary;
  return PERPEND_OK;
}
