// Beam search: every live beam is a sequence with a cache of its own, a copy of that of the beam that it continues.
#include "Errors.h"
#include "llm/Sequence.h"

using perpend::runtime::failAllocation;

namespace perpend::llm {
namespace {

perpend_beams_options optionsOf(const perpend_llm_generation &generation, Array<int32_t> &stopTokens,
                                int64_t maxTokens) {
  perpend_beams_options options = PERPEND_BEAMS_DEFAULTS;
  options.beams = generation.beams;
  options.ending = generation.beamsEnding;
  options.lengthPenalty = generation.lengthPenalty;
  options.maxTokens = maxTokens;
  options.stopTokens = stopTokens.data();
  options.stopTokenCount = static_cast<int32_t>(stopTokens.size());
  options.rowsAreLogprobs = 1;
  return options;
}

class Search {
public:
  explicit Search(perpend_llm_sequence &prompt) : prompt(prompt) {}
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;
  ~Search() {
    perpend_beams_free(beams);
    clear(texts);
    clear(next);
  }

  perpend_status run(int64_t maxTokens);

private:
  using Texts = Array<perpend_llm_sequence *>;

  static void clear(Texts &list) {
    for (size_t i = 0; i < list.size(); ++i)
      perpend_llm_sequence_free(list[i]);
    list.clear();
  }
  perpend_status checkMemory() const {
    const int64_t count = prompt.llm.vocabulary * prompt.generation.options.beams;
    return memory.failed ? failAllocation(static_cast<int64_t>(sizeof(float)) * count) : PERPEND_OK;
  }

  perpend_status begin(int64_t maxTokens);
  perpend_status readRow(perpend_llm_sequence &text, size_t number);
  perpend_status step();
  void dropUnused(int32_t live);
  perpend_status follow();

  perpend_llm_sequence &prompt;
  perpend_beams *beams = nullptr;
  Memory memory;
  Texts texts{memory}, next{memory}; // of the live beams, in their order
  Array<float> rows{memory};
};

/// The first step: the one beam that there is begins where the prompt ends.
perpend_status Search::begin(int64_t maxTokens) {
  const perpend_llm_generation &generation = prompt.generation.options;
  const perpend_beams_options options = optionsOf(generation, prompt.stopTokens, maxTokens);
  const auto most = static_cast<size_t>(generation.beams), count = static_cast<size_t>(prompt.llm.vocabulary);
  rows.resize(most * count);
  if (!texts.reserve(most) || !next.reserve(most) || memory.failed)
    return checkMemory();
  perpend_status status = perpend_beams_create(&options, &beams);
  if (!status) // of the prompt, which stays in its cache
    status = readRow(prompt, 0);
  if (!status)
    status = perpend_beams_step(beams, rows.data(), 1, prompt.llm.vocabulary);
  perpend_llm_sequence *first = nullptr;
  if (!status && perpend_beams_live_count(beams))
    status = perpend_llm_sequence_fork(&prompt, &first);
  if (!first)
    return status;
  texts.push(first);
  return follow();
}

/// The log-probabilities of a beam's next token, with the sampler's penalties and bias.
perpend_status Search::readRow(perpend_llm_sequence &text, size_t number) {
  perpend_sampler_input input{};
  if (perpend_status status = readChoice(text, prompt.generation.promptCount, input))
    return status;
  return perpend_sampler_score(prompt.sampler, &input, rows.data() + number * static_cast<size_t>(input.count));
}

/// Frees the caches that no beam goes on with, before others are copied.
void Search::dropUnused(int32_t live) {
  perpend_beam beam{};
  for (size_t i = 0; i < texts.size(); ++i) {
    bool isUsed = false;
    for (int32_t k = 0; k < live; ++k)
      isUsed |= !perpend_beams_live(beams, k, &beam) && static_cast<size_t>(beam.parent) == i;
    if (isUsed)
      continue;
    perpend_llm_sequence_free(texts[i]);
    texts[i] = nullptr;
  }
}

/// Each beam that lives on gets the cache of the one that it continues; the last of several takes it.
perpend_status Search::follow() {
  const int32_t live = perpend_beams_live_count(beams);
  perpend_beam beam{}, later{};
  dropUnused(live);
  for (int32_t i = 0; i < live; ++i) {
    if (perpend_status status = perpend_beams_live(beams, i, &beam))
      return status;
    perpend_llm_sequence *&parent = texts[static_cast<size_t>(beam.parent)], *own = parent;
    bool isLast = true;
    for (int32_t k = i + 1; k < live; ++k)
      isLast &= !perpend_beams_live(beams, k, &later) && later.parent != beam.parent;
    if (isLast)
      parent = nullptr;
    else if (perpend_status status = perpend_llm_sequence_fork(own, &own))
      return status;
    next.push(own);
  }
  clear(texts);
  for (int32_t i = 0; i < live; ++i) {
    perpend_llm_sequence *text = next[static_cast<size_t>(i)];
    texts.push(text);
    perpend_status status = perpend_beams_live(beams, i, &beam);
    if (!status)
      status = perpend_llm_sequence_add(text, beam.tokens + beam.count - 1, 1);
    if (status) {
      while (++i < live)
        texts.push(next[static_cast<size_t>(i)]);
      next.clear();
      return status;
    }
  }
  next.clear();
  return PERPEND_OK;
}

perpend_status Search::step() {
  for (size_t i = 0; i < texts.size(); ++i)
    if (perpend_status status = readRow(*texts[i], i))
      return status;
  perpend_status status =
      perpend_beams_step(beams, rows.data(), static_cast<int32_t>(texts.size()), prompt.llm.vocabulary);
  return status ? status : follow();
}

perpend_status Search::run(int64_t maxTokens) {
  perpend_status status = begin(maxTokens);
  while (!status && perpend_beams_live_count(beams))
    status = step();
  perpend_beam best{};
  if (!status)
    status = perpend_beams_finished(beams, 0, &best);
  if (status)
    return status;
  prompt.found.clear();
  prompt.found.append(best.tokens, static_cast<size_t>(best.count));
  if (!prompt.memory.failed)
    return PERPEND_OK;
  prompt.memory.failed = false;
  return failAllocation(best.count * static_cast<int64_t>(sizeof(int32_t)));
}

} // namespace

perpend_status prepareSearch(perpend_llm_sequence &sequence, const perpend_sampler_options &sampling) {
  sequence.stopTokens.clear();
  if (sampling.stopTokenCount > 0 && sampling.stopTokens)
    sequence.stopTokens.append(sampling.stopTokens, static_cast<size_t>(sampling.stopTokenCount));
  if (sequence.memory.failed) {
    sequence.memory.failed = false;
    return failAllocation(sampling.stopTokenCount * static_cast<int64_t>(sizeof(int32_t)));
  }
  const perpend_beams_options options = optionsOf(sequence.generation.options, sequence.stopTokens, /*maxTokens=*/1);
  perpend_beams *beams = nullptr; // only to see whether it takes them
  const perpend_status status = perpend_beams_create(&options, &beams);
  perpend_beams_free(beams);
  return status;
}

perpend_status searchWithBeams(perpend_llm_sequence &sequence, int64_t maxTokens) {
  return Search(sequence).run(maxTokens);
}

} // namespace perpend::llm
