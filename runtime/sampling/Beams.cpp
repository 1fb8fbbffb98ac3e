// Beam search as transformers does it, with its early_stopping False, True and "never". Beams share their beginnings: a
// beam is its latest token, which points to the one before it.
#include "Errors.h"
#include "Sampler.h"
#include <algorithm>
#include <cmath>
#include <new>

using namespace perpend;
using namespace perpend::sampling;
using runtime::fail;

namespace {
struct Node {
  int64_t before; // -1: the prompt
  int32_t token;
};

struct Beam {
  int64_t node;
  double score;
  int32_t parent;
};

// A live beam with one token more.
struct Candidate {
  double score;
  int32_t row, token;
};
} // namespace

struct perpend_beams {
  perpend_beams_options options = PERPEND_BEAMS_DEFAULTS;
  Array<int32_t> stopTokens;
  Array<Node> nodes;
  Array<Beam> live, finished; // the best first
  int64_t steps = 0;

  Array<Beam> nextLive, nextFinished;
  Array<Candidate> candidates;
  Selector selector;
  Array<float> weights;
  Array<double> blockSums;
  Array<int32_t> tokens; // of the beam that was asked for

  int64_t wanted() const { // with so many candidates, `beams` of them do not stop
    return std::max<int64_t>(2, 1 + stopTokens.count()) * options.beams;
  }
  bool finishes(int32_t token) const {
    bool isStop = false;
    for (int64_t i = 0; i < stopTokens.count(); ++i)
      isStop |= stopTokens[i] == token;
    return isStop || steps + 1 == options.maxTokens;
  }
};

static perpend_status checkOptions(const perpend_beams_options &options) {
  if (options.beams < 1)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: expected 1 or more, got %d", static_cast<int>(options.beams));
  if (options.maxTokens < 1)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: largest number of tokens: expected 1 or more, got %lld",
                static_cast<long long>(options.maxTokens));
  if (!(std::fabs(options.lengthPenalty) <= 16))
    return fail(PERPEND_INVALID_ARGUMENT, "beams: length penalty: expected a number from -16 to 16, got %g",
                options.lengthPenalty);
  if (options.ending < PERPEND_BEAMS_LIKELY || options.ending > PERPEND_BEAMS_CERTAIN)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: ending: expected PERPEND_BEAMS_LIKELY, FULL or CERTAIN, got %d",
                static_cast<int>(options.ending));
  if (options.rowsAreLogprobs != 0 && options.rowsAreLogprobs != 1)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: rows are log-probabilities: expected 0 or 1, got %d",
                static_cast<int>(options.rowsAreLogprobs));
  const perpend_status status =
      checkTokens("beams: stop tokens", options.stopTokens, options.stopTokenCount, INT64_MAX);
  return status ? PERPEND_INVALID_ARGUMENT : PERPEND_OK;
}

static perpend_status readOptions(const perpend_beams_options *given, perpend_beams &beams) {
  perpend_beams_options &options = beams.options;
  constexpr int64_t knownBytes = sizeof(perpend_beams_options);
  if (given)
    if (const perpend_status status = readVersioned("beams", given, knownBytes, &options, knownBytes))
      return status;
  if (const perpend_status status = checkOptions(options))
    return status;
  if (!beams.stopTokens.add(options.stopTokens, options.stopTokenCount) || !beams.live.add({-1, 0, 0}))
    return runtime::failAllocation(int64_t{options.stopTokenCount} * 4);
  options.stopTokens = nullptr; // the caller's
  return PERPEND_OK;
}

perpend_status perpend_beams_create(const perpend_beams_options *options, perpend_beams **beams) {
  if (!beams)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: expected a place for the search, got NULL");
  void *memory = malloc(sizeof(perpend_beams));
  if (!memory)
    return runtime::failAllocation(sizeof(perpend_beams));
  auto *created = new (memory) perpend_beams;
  if (const perpend_status status = readOptions(options, *created)) {
    perpend_beams_free(created);
    return status;
  }
  *beams = created;
  return PERPEND_OK;
}

void perpend_beams_free(perpend_beams *beams) {
  if (beams)
    beams->~perpend_beams();
  free(beams);
}

static perpend_status failMemory(int64_t count) { return runtime::failAllocation(count * 32); }

// The best continuations of one live beam.
static perpend_status addRow(perpend_beams &beams, const float *logits, int32_t row, int64_t count) {
  if (const perpend_status status = checkLogits(logits, count, "logit", hintForModel))
    return status;
  if (largestOf(logits, count) == -INFINITY)
    return fail(PERPEND_INVALID_DATA,
                "beams: row %d: expected a token that is possible, got logits that are all -inf; hint: %s",
                static_cast<int>(row), hintForModel);
  const Softmax softmax = beams.options.rowsAreLogprobs
                              ? Softmax{0, 1, 1, 0} // as they are
                              : weigh(logits, count, 1, beams.weights.data(), beams.blockSums.data());
  const double score = beams.live[row].score;
  bool hasRoom = true;
  forEachIn(beams.selector.largest(logits, count, beams.wanted()), logits, count, [&](int64_t i) {
    if (logits[i] > -INFINITY)
      hasRoom &= beams.candidates.add({score + softmax.logProbability(logits[i]), row, static_cast<int32_t>(i)});
  });
  return hasRoom ? PERPEND_OK : failMemory(beams.candidates.count());
}

// All candidates, the best first.
static perpend_status findCandidates(perpend_beams &beams, const float *logits, int64_t count) {
  if (!resize(beams.weights, count) || !resize(beams.blockSums, blocksOf(count)) || !beams.selector.reserve(count))
    return failMemory(count);
  beams.candidates.shrink(0);
  for (int32_t row = 0; row < beams.live.count(); ++row)
    if (const perpend_status status = addRow(beams, logits + row * count, row, count))
      return status;
  Candidate *all = beams.candidates.data();
  std::sort(all, all + beams.candidates.count(), [](const Candidate &a, const Candidate &b) {
    return a.score != b.score ? a.score > b.score : a.row != b.row ? a.row < b.row : a.token < b.token;
  });
  return PERPEND_OK;
}

// Keeps the list sorted; earlier ones stay ahead of later ones that are as good.
static bool insert(Array<Beam> &list, const Beam &beam) {
  if (!list.add(beam))
    return false;
  int64_t place = list.count() - 1;
  for (; place > 0 && list[place - 1].score < beam.score; --place)
    list[place] = list[place - 1];
  list[place] = beam;
  return true;
}

// Divides the candidates into those that live on and those that are finished.
static bool divide(perpend_beams &beams) {
  const int64_t limit = beams.options.beams, count = std::min(beams.candidates.count(), beams.wanted());
  beams.nextLive.shrink(0);
  beams.nextFinished.shrink(0);
  if (!beams.nextFinished.add(beams.finished.data(), beams.finished.count()))
    return false;
  const double length = std::pow(static_cast<double>(beams.steps + 1), beams.options.lengthPenalty);
  for (int64_t i = 0; i < count; ++i) {
    const Candidate &candidate = beams.candidates[i];
    const bool isFinished = beams.finishes(candidate.token);
    if (isFinished ? i >= limit : beams.nextLive.count() == limit)
      continue;
    const double score = isFinished ? candidate.score / length : candidate.score;
    const Beam beam = {beams.nodes.count(), score, candidate.row};
    if (!beams.nodes.add({beams.live[candidate.row].node, candidate.token}) ||
        !insert(isFinished ? beams.nextFinished : beams.nextLive, beam))
      return false;
  }
  beams.nextFinished.shrink(std::min(beams.nextFinished.count(), limit));
  return true;
}

static bool hasEnded(const perpend_beams &beams) {
  const perpend_beams_options &options = beams.options;
  if (!beams.live.count() || beams.finished.count() < options.beams)
    return !beams.live.count();
  const bool mayGrow = options.ending == PERPEND_BEAMS_CERTAIN && options.lengthPenalty > 0;
  const double length = static_cast<double>(mayGrow ? options.maxTokens : beams.steps);
  const double bestPossible = beams.live[0].score / std::pow(length, options.lengthPenalty);
  return options.ending == PERPEND_BEAMS_FULL || bestPossible <= beams.finished[options.beams - 1].score;
}

perpend_status perpend_beams_step(perpend_beams *beams, const float *logits, int32_t rows, int64_t count) {
  if (!beams || !logits || count < 1 || count > INT32_MAX)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: expected a search and from 1 to 2^31 - 1 logits, got %s and %lld",
                beams && logits ? "both" : "NULL", static_cast<long long>(count));
  if (rows != beams->live.count() || !rows)
    return fail(PERPEND_INVALID_ARGUMENT, "beams: expected a row of logits for each of %lld live beams, got %d%s",
                static_cast<long long>(beams->live.count()), static_cast<int>(rows),
                beams->live.count() ? "" : "; hint: the search has ended");
  if (const perpend_status status = findCandidates(*beams, logits, count))
    return status;
  const int64_t nodesBefore = beams->nodes.count();
  if (!divide(*beams)) {
    beams->nodes.shrink(nodesBefore);
    return failMemory(nodesBefore + 2 * int64_t{beams->options.beams});
  }
  beams->live.swap(beams->nextLive);
  beams->finished.swap(beams->nextFinished);
  ++beams->steps;
  if (hasEnded(*beams))
    beams->live.shrink(0);
  return PERPEND_OK;
}

int32_t perpend_beams_live_count(const perpend_beams *beams) { return static_cast<int32_t>(beams->live.count()); }
int32_t perpend_beams_finished_count(const perpend_beams *beams) {
  return static_cast<int32_t>(beams->finished.count());
}

static perpend_status read(perpend_beams *beams, const Array<Beam> *list, const char *kind, int32_t index,
                           perpend_beam *beam) {
  if (!beams || !beam || index < 0 || index >= list->count())
    return fail(PERPEND_INVALID_ARGUMENT, "beams: expected the index of one of %lld %s beams, got %s and %d",
                beams ? static_cast<long long>(list->count()) : 0, kind, beams && beam ? "it" : "NULL",
                static_cast<int>(index));
  const Beam &found = (*list)[index];
  int64_t count = 0;
  for (int64_t node = found.node; node >= 0; node = beams->nodes[node].before)
    ++count;
  if (!resize(beams->tokens, count))
    return failMemory(count);
  int64_t place = count;
  for (int64_t node = found.node; node >= 0; node = beams->nodes[node].before)
    beams->tokens[--place] = beams->nodes[node].token;
  *beam = {beams->tokens.data(), count, found.score, found.parent};
  return PERPEND_OK;
}

perpend_status perpend_beams_live(perpend_beams *beams, int32_t index, perpend_beam *beam) {
  return read(beams, beams ? &beams->live : nullptr, "live", index, beam);
}

perpend_status perpend_beams_finished(perpend_beams *beams, int32_t index, perpend_beam *beam) {
  return read(beams, beams ? &beams->finished : nullptr, "finished", index, beam);
}
