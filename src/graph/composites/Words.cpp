//===- Words.cpp - constraints on generated words -------------------------===//

#include "graph/composites/Words.h"

using namespace mlir;

namespace perpend::graph {

static Value booleans(Builder &b, Value x) { return x ? b.cast(x, b.operations.getI1Type()) : x; }

//===----------------------------------------------------------------------===//
// Repeated groups of words
//===----------------------------------------------------------------------===//

/// For each row and position, [batch, places]: whether the `size` - 1 tokens from there on equal the row's last ones.
static Value repeatsLast(Builder &b, Value ids, int64_t size, const SymbolicInt &places) {
  SymbolicInt last = shapeOf(ids)[1] - SymbolicInt(size - 1);
  Value differ = b.generate({ids}, {shapeOf(ids)[0], places, SymbolicInt(size - 1)}, b.i64(),
                            [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                              Scalar place(builder, loc, index[1]), token(builder, loc, index[2]);
                              auto at = [&](const Scalar &column) {
                                return Scalar(builder, loc, load(builder, loc, tensors[0], {index[0], column.value}));
                              };
                              Scalar here = at(place + token),
                                     there = at(Scalar(builder, loc, extent(builder, loc, last)) + token);
                              return select(equal(here, there), here.integer(0), here.integer(1)).value;
                            });
  return differ ? call(b, "equal", {sum(b, differ, {2}, false), b.scalar(0, b.i64())}) : differ;
}

Value withoutRepeats(Builder &b, Value scores, Value tokens, int64_t size) {
  Value ids = b.cast(tokens, b.i64());
  if (!ids || !scores)
    return {};
  SymbolicInt length = shapeOf(ids)[1], count = max(length - SymbolicInt(size - 1), SymbolicInt(0));
  Shape batch{shapeOf(ids)[0], count};
  Value isSame = repeatsLast(b, ids, size, count);
  if (!isSame)
    return {};
  Value last = sliceAxis(b, ids, 1, length - count, count);
  Value words = where(b, isSame, last, number(b, shapeOf(scores)[1], b.i64())); // beyond the vocabulary
  Value rows = b.broadcastTo(b.unsqueeze(iota(b, batch[0], b.i64()), 1), batch);
  Value places = words && rows ? b.concat({b.unsqueeze(rows, 2), b.unsqueeze(words, 2)}, 2) : Value();
  Value blocked = b.splat(batch, -std::numeric_limits<double>::infinity(), elementTypeOf(scores));
  return places ? b.scatter(scores, places, blocked) : places;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Multiplies the scores [rows, words] of words among the first `length` tokens by the penalty if they are negative;
/// otherwise divides them by it.
static Value penalised(Builder &b, Value scores, Value penalty, Value tokens, const SymbolicInt &length) {
  if (!penalty)
    return scores;
  Value words = b.cast(sliceAxis(b, tokens, 1, SymbolicInt(0), length), b.i64());
  if (!words || !scores)
    return {};
  Shape places = shapeOf(words);
  Value rows = b.broadcastTo(b.unsqueeze(iota(b, places[0], b.i64()), {1}), places);
  Value ones = b.splat(places, 1, b.operations.getI32Type());
  Value counts = b.scatter(b.splat(shapeOf(scores), 0, b.operations.getI32Type()),
                           b.concat({b.unsqueeze(rows, {2}), b.unsqueeze(words, {2})}, 2), ones);
  Value factor = b.cast(b.reshape(penalty, {}), elementTypeOf(scores));
  Value changed =
      pointwise(b, {scores, factor}, [](ArrayRef<Scalar> v) { return select(v[0] < 0, v[0] * v[1], v[0] / v[1]); });
  return where(b, booleans(b, counts), changed, scores);
}

static double leastOf(Type type) {
  return -APFloat::getLargest(cast<FloatType>(type).getFloatSemantics()).convertToDouble();
}

/// Sets scores to the lowest number where an integer mask is 0, or where a boolean says so.
static Value without(Builder &b, Value scores, Value isHidden) {
  if (!isHidden || !scores)
    return scores;
  Type type = elementTypeOf(scores);
  return where(b, isHidden, b.scalar(leastOf(type), type), scores);
}
static Value withoutZeros(Builder &b, Value scores, Value mask) {
  return mask ? without(b, scores, call(b, "logical_not", booleans(b, mask))) : scores;
}

/// Hides the end token as long as there are fewer tokens than required.
static Value withoutEarlyEnd(Builder &b, const WordRules &rules, Value scores, const SymbolicInt &length) {
  if (!rules.leastLength || !scores)
    return scores;
  Value isEnd =
      call(b, "equal", {iota(b, shapeOf(scores)[1], b.i64()), b.scalar(static_cast<double>(rules.end), b.i64())});
  Value isEarly = call(b, "less", {number(b, length, b.i64()), b.cast(b.reshape(rules.leastLength, {}), b.i64())});
  return without(b, scores, call(b, "logical_and", {isEnd, isEarly}));
}

static Value cooled(Builder &b, Value scores, Value temperature) {
  return temperature && scores ? div(b, scores, castLike(b, b.reshape(temperature, {}), scores)) : scores;
}

Value ruledScores(Builder &b, const WordRules &rules, Value scores, Value tokens, const SymbolicInt &length,
                  bool isFirst) {
  if (scores) {
    requireShape(b, rules.mask, "vocab_mask", {shapeOf(scores)[1]});
    requireShape(b, isFirst ? rules.firstMask : Value(), "prefix_vocab_mask", shapeOf(scores));
  }
  scores = penalised(b, scores, rules.penalty, tokens, length);
  if (rules.repeated > 0 && scores) {
    Value blocked = withoutRepeats(b, scores, sliceAxis(b, tokens, 1, SymbolicInt(0), length), rules.repeated);
    // Repeating words become as unlikely as masked ones, but not impossible: one of them may be all that is left.
    scores = pointwise(b, {blocked}, [&](ArrayRef<Scalar> v) {
      Scalar least = v[0].constant(leastOf(elementTypeOf(blocked)));
      return select(v[0] < least, least, v[0]);
    });
  }
  scores = withoutZeros(b, scores, rules.mask);
  if (isFirst)
    scores = withoutZeros(b, scores, rules.firstMask);
  return cooled(b, withoutEarlyEnd(b, rules, scores, length), rules.temperature);
}

//===----------------------------------------------------------------------===//
// From step to step
//===----------------------------------------------------------------------===//

Value lastScores(Builder &b, Value logits, int64_t vocabulary) {
  Shape shape = shapeOf(logits);
  SymbolicInt words = vocabulary > 0 ? SymbolicInt(vocabulary) : shape[2];
  b.require(shape[2] - words, "expected a vocab_size of at most the words of the decoder's logits, which are " +
                                  shape[2].str() + ", got " + words.str());
  Value last = b.squeeze(sliceAxis(b, logits, 1, shape[1] - SymbolicInt(1), SymbolicInt(1)), {1});
  return b.hasFailed() ? Value() : sliceAxis(b, last, 1, SymbolicInt(0), words);
}

Value withToken(Builder &b, const SymbolicInt &longest, Value tokens, Value last, const SymbolicInt &length) {
  Value isPlace = call(b, "equal", {iota(b, longest, b.i64()), number(b, length, b.i64())});
  return last ? where(b, isPlace, b.unsqueeze(last, {1}), tokens) : last;
}

SymbolicInt lengthAt(Builder &b, const SymbolicInt &prompt, Value number) {
  return prompt + b.measure(number, "generated") + SymbolicInt(1);
}

Value goesOn(Builder &b, Value hasEnded) {
  Value isOpen = call(b, "logical_not", hasEnded);
  return isOpen ? b.reduce(ReductionKind::Max, isOpen, 0, false) : isOpen;
}
} // namespace perpend::graph
