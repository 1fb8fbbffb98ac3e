//===- Beams.cpp - beam search --------------------------------------------===//

#include "graph/composites/Beams.h"

using namespace mlir;

namespace perpend::graph {
namespace {
/// The best finished sequences, sorted; missing ones have the score -inf.
struct Hypotheses {
  /// Integers [batch, n, longest], floats [batch, n].
  Value tokens, scores;
};

/// The state that one step passes to the next.
struct Step {
  /// Integers [rows, longest] and [rows].
  Value tokens, last;
  /// Sums of logarithms of probabilities, [batch, beams].
  Value sums;
  /// Which sequences are finished, [batch].
  Value isDone;
  Hypotheses best;
  SmallVector<Value> caches;

  SmallVector<Value> all() const {
    SmallVector<Value> values{tokens, last, sums, isDone, best.tokens, best.scores};
    llvm::append_range(values, caches);
    return values;
  }
  static Step of(ValueRange values) {
    return {
        values[0], values[1], values[2], values[3], {values[4], values[5]}, SmallVector<Value>(values.drop_front(6))};
  }
};

/// The best next words of each sequence: [batch, 2 beams], sorted.
struct Candidates {
  Value scores, words, beams;
};
} // namespace

static constexpr double infinity = std::numeric_limits<double>::infinity();

static Value token(Builder &b, int64_t number) { return b.scalar(static_cast<double>(number), b.i64()); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

Value repeated(Builder &b, Value x, int64_t axis, const SymbolicInt &count) {
  if (!x)
    return x;
  Value places = iota(b, shapeOf(x)[axis] * count, b.i64());
  return b.gather(x, div(b, places, number(b, count, b.i64())), axis);
}

/// Row numbers for positions [batch, n], where each element of the batch has `count` rows.
static Value rowsAt(Builder &b, Value positions, const SymbolicInt &count) {
  if (!positions)
    return positions;
  Value first = mul(b, iota(b, shapeOf(positions)[0], b.i64()), number(b, count, b.i64()));
  return add(b, positions, b.unsqueeze(first, {1}));
}

/// x[i, positions[i, j]] of [batch, n, ..].
static Value picked(Builder &b, Value x, Value positions) {
  if (!x || !positions)
    return {};
  Shape shape = shapeOf(x), rows(shape.begin() + 1, shape.end());
  rows[0] = shape[0] * shape[1];
  return b.gather(b.reshape(x, rows), rowsAt(b, positions, shape[1]), 0);
}

static Value firstOf(Builder &b, Value x, const SymbolicInt &count) {
  return x ? sliceAxis(b, x, 1, SymbolicInt(0), count) : x;
}

//===----------------------------------------------------------------------===//
// Hypotheses
//===----------------------------------------------------------------------===//

/// sums / length ^ length_penalty
static Value perLength(Builder &b, const Beams &search, Value sums, const SymbolicInt &length) {
  Value size = b.cast(number(b, length, b.i64()), b.f32());
  return pointwise(b, {sums, size, search.lengthPenalty}, [](ArrayRef<Scalar> v) { return v[0] / pow(v[1], v[2]); });
}

/// The best `count` of both; of equal ones the first wins.
static Hypotheses bestOf(Builder &b, const Hypotheses &some, const Hypotheses &others, const SymbolicInt &count) {
  Value scores = b.concat({some.scores, others.scores}, 1), tokens = b.concat({some.tokens, others.tokens}, 1);
  Value order = scores ? firstPositions(b, scores, 1, /*isDescending=*/true, count) : scores;
  return {picked(b, tokens, order), picked(b, scores, order)};
}

static Hypotheses noHypotheses(Builder &b, const Beams &search, Type type) {
  auto padding = static_cast<double>(search.rules.padding);
  return {b.splat({search.batch, search.beams, search.longest}, padding, type),
          b.splat({search.batch, search.beams}, -infinity, b.f32())};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static Candidates candidatesOf(Builder &b, const Beams &search, Value scores) {
  SymbolicInt words = shapeOf(scores)[1], count = SymbolicInt(2) * search.beams;
  auto form = Attributes(b.context(), {b.operations.getNamedAttr("axis", b.operations.getI64IntegerAttr(1)),
                                       b.operations.getNamedAttr("k", ShapeAttr::get(b.context(), count))});
  Results best = applyComposite(b, "topk", {b.reshape(scores, {search.batch, search.beams * words})}, form);
  if (best.size() < 2 || !best[1])
    return {};
  Value size = number(b, words, b.i64());
  return {best[0], call(b, "mod", {best[1], size}), div(b, best[1], size)};
}

/// Adds candidates that end to the hypotheses: those among the first `beams` whose word is the end token, without that
/// word.
static Hypotheses withEnded(Builder &b, const Beams &search, const Step &before, const Candidates &found, Value isEnd,
                            const SymbolicInt &length) {
  Value beams = firstOf(b, found.beams, search.beams);
  Value scores = perLength(b, search, firstOf(b, found.scores, search.beams), length);
  Value counts = call(b, "logical_and",
                      {firstOf(b, isEnd, search.beams), b.unsqueeze(call(b, "logical_not", before.isDone), {1})});
  Value tokens = b.gather(before.tokens, rowsAt(b, beams, search.beams), 0);
  Hypotheses ended{tokens, where(b, counts, scores, b.scalar(-infinity, b.f32()))};
  return bestOf(b, before.best, ended, search.beams);
}

/// The best score [batch, 2 beams] that ONNX Runtime compares with the hypotheses of a sequence. For sequence i it
/// reads that many scores from index i * beams on, which are its own only for i = 0.
static Value bestInSight(Builder &b, const Beams &search, Value scores) {
  if (!scores)
    return scores;
  Shape shape = shapeOf(scores);
  Value places = b.broadcastTo(iota(b, shape[1], b.i64()), shape);
  Value seen = b.gather(b.reshape(scores, shape[0] * shape[1]), rowsAt(b, places, search.beams), 0);
  return seen ? b.reduce(ReductionKind::Max, seen, 1, /*keepDims=*/false) : seen;
}

/// Whether sequences are finished: they have as many hypotheses as beams, and no candidate can improve them.
static Value doneWith(Builder &b, const Beams &search, const Step &before, const Candidates &found, Value worst,
                      const SymbolicInt &length) {
  Value isFull = pointwise(b, {worst}, [](ArrayRef<Scalar> v) { return v[0] > -infinity; }, b.operations.getI1Type());
  if (!search.endsEarly) {
    Value best = perLength(b, search, bestInSight(b, search, found.scores), length);
    isFull = call(b, "logical_and", {isFull, call(b, "greater_equal", {worst, best})});
  }
  return call(b, "logical_or", {before.isDone, isFull});
}

/// The rows whose caches continue. Finished sequences use one row: the first of all for each beam, or their own if
/// there is only one beam. The effect of that is visible in bestInSight().
static Value rowsOfCaches(Builder &b, const Beams &search, Value rows, Value wasDone) {
  Value isOnly = call(b, "equal", {number(b, search.beams, b.i64()), b.scalar(1, b.i64())});
  Value own = b.unsqueeze(iota(b, search.batch, b.i64()), {1});
  Value kept = where(b, isOnly, own, b.scalar(0, b.i64()));
  Value chosen = where(b, wasDone, kept, rows);
  return chosen ? b.reshape(chosen, search.rows) : chosen;
}

/// The step that follows one with `length` tokens, given the words' scores [rows, words], which include the sums so
/// far.
static Step nextStep(Builder &b, const Beams &search, Value scores, ArrayRef<Value> caches, const Step &before,
                     const SymbolicInt &length) {
  Candidates found = scores ? candidatesOf(b, search, scores) : Candidates();
  if (!found.words)
    return {};
  Value isEnd = call(b, "equal", {found.words, token(b, search.rules.end)});
  Step next;
  next.best = withEnded(b, search, before, found, isEnd, length);
  if (!next.best.scores)
    return {};
  Value worst = sliceAxis(b, next.best.scores, 1, search.beams - SymbolicInt(1), SymbolicInt(1));
  next.isDone = doneWith(b, search, before, found, b.squeeze(worst, {1}), length);
  // The best candidates without an end continue; for finished sequences anything will do.
  Value ends = b.cast(isEnd, b.i64());
  Value order = ends ? firstPositions(b, ends, 1, /*isDescending=*/false, search.beams) : ends;
  Value wasDone = b.unsqueeze(before.isDone, {1});
  auto chosen = [&](Value otherwise, Value x) { return where(b, wasDone, otherwise, picked(b, x, order)); };
  next.sums = chosen(b.scalar(0, b.f32()), found.scores);
  Value words = chosen(token(b, search.rules.padding), found.words);
  Value rows = chosen(b.scalar(0, b.i64()), rowsAt(b, found.beams, search.beams));
  if (!words || !rows)
    return {};
  Value cacheRows = rowsOfCaches(b, search, rows, wasDone);
  rows = b.reshape(rows, search.rows);
  next.last = b.cast(b.reshape(words, search.rows), elementTypeOf(before.tokens));
  next.tokens = withToken(b, search.longest, b.gather(before.tokens, rows, 0), next.last, length);
  for (Value cache : caches)
    next.caches.push_back(b.gather(cache, cacheRows, search.rowAxis));
  return next;
}

/// The scores of next words for each row, [rows, words], plus the sums so far.
static Value summed(Builder &b, Value scores, Value sums) {
  return scores ? add(b, scores, b.reshape(sums, {shapeOf(scores)[0], SymbolicInt(1)})) : scores;
}

/// The logarithms of the probabilities of next words, for rows with `length` tokens, after the rules are applied.
static Value wordScores(Builder &b, const Beams &search, Value logits, Value tokens, const SymbolicInt &length,
                        bool isFirst) {
  Value last = lastScores(b, logits, search.vocabulary);
  Value scores = last ? softmax(b, b.cast(last, b.f32()), 1, true) : last;
  return scores ? ruledScores(b, search.rules, scores, tokens, length, isFirst) : scores;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

static Value asElement(Builder &b, const Beams &search, Value scores) {
  return b.reshape(scores, {search.batch, search.beams, shapeOf(scores)[1]});
}

/// The final hypotheses: those of the loop, and the beams of unfinished sequences.
static Hypotheses finished(Builder &b, const Beams &search, const Step &last) {
  const SymbolicInt &longest = search.longest;
  Value scores =
      where(b, b.unsqueeze(last.isDone, {1}), b.scalar(-infinity, b.f32()), perLength(b, search, last.sums, longest));
  Hypotheses open{b.reshape(last.tokens, {search.batch, search.beams, longest}), scores};
  return bestOf(b, last.best, open, search.returned);
}

/// The scores of all steps; 0 for steps that were not taken.
static Value allScores(Builder &b, const Beams &search, Value first, Value others) {
  SymbolicInt missing = search.longest - search.prompt - SymbolicInt(1) - shapeOf(others)[0];
  Shape none(4, SymbolicInt(0)), high = none;
  high[0] = missing;
  return padTensor(b, b.concat({b.unsqueeze(first, {0}), others}, 0), none, high, "constant");
}

/// The first step: a single beam per prompt branches into `beams` words.
static Step firstStep(Builder &b, const Beams &search, Value scores, const Prompts &prompts) {
  SmallVector<Value> caches;
  for (Value cache : prompts.caches)
    caches.push_back(repeated(b, cache, search.rowAxis, search.beams));
  Step before{repeated(b, prompts.tokens, 0, search.beams),       {}, {},
              b.splat(search.batch, 0, b.operations.getI1Type()), {}, {}};
  before.best = noHypotheses(b, search, elementTypeOf(prompts.tokens));
  return nextStep(b, search, scores, caches, before, search.prompt);
}

/// 0 for the first beam of each sequence, and -1e9 for the others, which are identical to it at first.
static Value firstSums(Builder &b, const Beams &search) {
  Value isOther = call(b, "greater", {iota(b, search.beams, b.i64()), b.scalar(0, b.i64())});
  Value sums = where(b, isOther, b.scalar(-1e9, b.f32()), b.scalar(0, b.f32()));
  return b.broadcastTo(sums, {search.batch, search.beams});
}

/// A step of the loop.
static Iteration iterate(Builder &b, const Beams &search, Decoding decoding, Value number, const Step &before) {
  std::optional<Results> decoded = decoding({before.tokens, before.last, number, before.caches});
  if (!decoded)
    return {};
  SymbolicInt length = lengthAt(b, search.prompt, number);
  Value scores = wordScores(b, search, (*decoded)[0], before.tokens, length, /*isFirst=*/false);
  scores = summed(b, scores, before.sums);
  Step next = nextStep(b, search, scores, ArrayRef(*decoded).drop_front(), before, length);
  if (b.hasFailed() || !next.last)
    return {};
  Iteration iteration{goesOn(b, next.isDone), next.all(), {}};
  if (search.wantsScores)
    iteration.elements.push_back(asElement(b, search, scores));
  return iteration;
}

Results searchBeams(Builder &b, const Beams &search, const Prompts &prompts, Decoding decoding) {
  Value scores = wordScores(b, search, prompts.logits, prompts.tokens, search.prompt, /*isFirst=*/true);
  scores = summed(b, repeated(b, scores, 0, search.beams), firstSums(b, search));
  if (!scores)
    return {};
  Step first = firstStep(b, search, scores, prompts);
  Value limit = b.dims(search.longest - search.prompt - SymbolicInt(1), /*isScalar=*/true);
  Value condition = first.isDone ? goesOn(b, first.isDone) : Value();
  if (b.hasFailed() || !condition)
    return {};
  SmallVector<Value> results = b.loop({limit, condition}, first.all(), [&](Value number, ValueRange carried) {
    return iterate(b, search, decoding, number, Step::of(carried));
  });
  if (results.empty())
    return {};
  size_t count = first.all().size();
  Hypotheses best = finished(b, search, Step::of(ArrayRef(results).take_front(count)));
  Value all = search.wantsScores ? allScores(b, search, asElement(b, search, scores), results[count]) : Value();
  return {best.tokens, best.scores, all};
}
} // namespace perpend::graph
