// What the model computes of several tokens at once: hidden states, and the logits behind each.
#include "Errors.h"
#include "llm/Sequence.h"

using perpend::runtime::fail;
using perpend::runtime::failAllocation;

namespace perpend::llm {

/// The session of an entry that may be missing, which shares the states.
static perpend_status open(perpend_llm_sequence &sequence, perpend_model *entry, const char *name,
                           perpend_session *&session) {
  if (!entry)
    return fail(
        PERPEND_INVALID_ARGUMENT,
        "sequence: expected a model with the entry '%s', got one without; hint: perpend llm compile --entries %s", name,
        name);
  return session ? PERPEND_OK : perpend_session_create_shared(entry, stateSession(sequence), &session);
}

/// Adds up hidden states in the order of the tokens, or keeps them.
static bool take(perpend_llm_sequence &sequence, int32_t pooling, const float *rows, int64_t count) {
  const auto width = static_cast<size_t>(sequence.llm.width), all = static_cast<size_t>(count) * width;
  if (pooling == PERPEND_LLM_ALL) {
    sequence.values.append(rows, all);
  } else if (pooling == PERPEND_LLM_LAST) {
    sequence.values.clear();
    sequence.values.append(rows + all - width, width);
  } else {
    if (!sequence.values.size())
      for (size_t i = 0; i < width; ++i)
        sequence.values.push(0);
    for (size_t i = 0; i < all && !sequence.memory.failed; ++i)
      sequence.values[i % width] += rows[i];
  }
  const bool hasFailed = sequence.memory.failed;
  sequence.memory.failed = false;
  return !hasFailed;
}

} // namespace perpend::llm

using namespace perpend::llm;

perpend_status perpend_llm_sequence_row_logits(perpend_llm_sequence *sequence, int64_t rows, const float **logits) {
  if (!sequence || !logits)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_row_logits: expected a sequence and a place for the result, got NULL");
  const auto total = static_cast<int64_t>(sequence->tokens.size());
  if (rows < 1 || rows > total)
    return fail(PERPEND_INVALID_ARGUMENT, "sequence: expected 1 to %lld rows, the number of tokens, got %lld",
                static_cast<long long>(total), static_cast<long long>(rows));
  perpend_status status = open(*sequence, sequence->llm.verify, "verify", sequence->verify);
  if (!status)
    status = computeTo(*sequence, total - rows);
  const float *found = nullptr;
  if (!status)
    status = runEntry(*sequence, sequence->verify, rows, &found);
  if (status == PERPEND_STATE_LOST) { // by a run that failed before
    forgetStates(*sequence);
    return perpend_llm_sequence_row_logits(sequence, rows, logits);
  }
  *logits = found;
  return status;
}

perpend_status perpend_llm_sequence_embed(perpend_llm_sequence *sequence, int32_t pooling, const float **values,
                                          int64_t *count) {
  if (!sequence || !values)
    return fail(PERPEND_INVALID_ARGUMENT,
                "perpend_llm_sequence_embed: expected a sequence and a place for the result, got NULL");
  if (pooling < PERPEND_LLM_MEAN || pooling > PERPEND_LLM_ALL)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_embed: expected a pooling of 0 to 2, got %d", pooling);
  const auto total = static_cast<int64_t>(sequence->tokens.size());
  if (!total)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_sequence_embed: expected at least one token, got an empty text");
  perpend_status status = open(*sequence, sequence->llm.embed, "embed", sequence->embed);
  if (!status) // of the last token alone, the cache has what it needs of the others
    status = computeTo(*sequence, pooling == PERPEND_LLM_LAST ? total - 1 : 0);
  sequence->values.clear();
  while (!status && sequence->cachedCount < total) {
    const int64_t left = total - sequence->cachedCount, most = sequence->options.chunkTokens;
    const int64_t next = left < most ? left : most;
    const float *rows = nullptr;
    status = runEntry(*sequence, sequence->embed, next, &rows);
    if (!status && !take(*sequence, pooling, rows, next))
      status = failAllocation(next * sequence->llm.width * static_cast<int64_t>(sizeof(float)));
  }
  if (status == PERPEND_STATE_LOST) {
    forgetStates(*sequence);
    return perpend_llm_sequence_embed(sequence, pooling, values, count);
  }
  if (status)
    return status;
  if (pooling == PERPEND_LLM_MEAN)
    for (size_t i = 0; i < sequence->values.size(); ++i)
      sequence->values[i] /= static_cast<float>(total);
  *values = sequence->values.data();
  if (count)
    *count = static_cast<int64_t>(sequence->values.size());
  return PERPEND_OK;
}
