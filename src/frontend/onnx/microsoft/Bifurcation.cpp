//===- Bifurcation.cpp - verifies predicted tokens ------------------------===//
//
// BifurcationDetector of the domain com.microsoft. Another decoder has predicted tokens by copying from the source
// text. The operator keeps the predicted tokens up to the first that is wrong, and finds the position in the source
// from which to copy next.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

/// `current`, followed by the predicted tokens up to and including the first that differs from the source after
/// `place`.
static Value withPredicted(Node &node, Value source, Value current, Value place, Value predicted) {
  Builder &b = node.builder;
  SymbolicInt all = shapeOf(source)[0], given = shapeOf(predicted)[0] - SymbolicInt(1);
  b.require(given, "pred_tokens: expected at least one token");
  b.require(all - given, "pred_tokens: expected at most a token more than src_tokens has");
  SymbolicInt count = min(max(given, SymbolicInt(0)), all), first = all - count;
  if (b.hasFailed())
    return {};
  requireAll(b, call(b, "equal", {place, number(b, first, b.i64())}),
             "pred_tokens: expected a token more than src_tokens has behind prev_suffix_match_idx");
  Value isSame =
      call(b, "equal", {sliceAxis(b, predicted, 0, SymbolicInt(0), count), sliceAxis(b, source, 0, first, count)});
  Value right = isSame ? b.scan(ReductionKind::Product, b.cast(isSame, b.i64()), 0) : isSame;
  SymbolicInt kept = right ? b.measure(b.reduce(ReductionKind::Sum, right, 0, false), "predicted") : SymbolicInt(0);
  return b.hasFailed() ? Value()
                       : b.concat({current, sliceAxis(b, predicted, 0, SymbolicInt(0), kept + SymbolicInt(1))}, 0);
}

namespace {
/// The search for the last tokens in the source, after shorter suffixes.
struct Suffix {
  /// Booleans [source]: whether the last tokens occur in the source up to this position.
  Value isThere;
  /// The position after them, or -1; whether to search for longer suffixes.
  Value place, goesOn;
};
} // namespace

/// Extends the search to the last `length` tokens.
static Suffix longer(Builder &b, const Suffix &shorter, Value source, Value tokens, int64_t length, bool isWanted) {
  SymbolicInt size = shapeOf(source)[0], count = shapeOf(tokens)[0];
  Value places = iota(b, size, b.i64()), zero = b.scalar(0, b.i64());
  Value before = graph::sub(b, places, b.scalar(static_cast<double>(length - 1), b.i64()));
  Value token = b.gather(tokens, number(b, max(count - SymbolicInt(length), SymbolicInt(0)), b.i64()), 0);
  Value same = call(b, "equal", {b.gather(source, call(b, "max", {before, zero}), 0), token});
  Value isInside = call(b, "greater_equal", {before, zero});
  Value isThere = call(b, "logical_and", {shorter.isThere, call(b, "logical_and", {same, isInside})});
  if (!isWanted || !isThere)
    return {isThere, shorter.place, shorter.goesOn};
  Value found = b.reduce(ReductionKind::Sum, b.cast(isThere, b.i64()), 0, false);
  Value ends = graph::where(b, isThere, graph::add(b, places, b.scalar(1, b.i64())), number(b, size, b.i64()));
  Value first = b.concat({ends, b.dims({size})}, 0);
  first = first ? b.reduce(ReductionKind::Min, first, 0, false) : first;
  Value has =
      call(b, "logical_and",
           {call(b, "greater", {found, zero}),
            call(b, "less_equal", {b.scalar(static_cast<double>(length), b.i64()), number(b, count, b.i64())})});
  has = call(b, "logical_and", {shorter.goesOn, has});
  Value isMany = call(b, "greater", {found, b.scalar(1, b.i64())});
  Value place = graph::where(b, isMany, b.scalar(-1, b.i64()), first);
  Value goesOn = call(b, "logical_and", {has, call(b, "less", {first, number(b, size, b.i64())})});
  return {isThere, graph::where(b, has, place, shorter.place), goesOn};
}

/// in: the source's tokens, the decoder's, their position in the source (one number), predicted tokens. Results: the
/// tokens; the position in the source to continue from: after the only occurrence of the last n tokens, for n from
/// min_ngram_size to max_ngram_size as long as they occur, or -1. Source: BifurcationDetector of ONNX Runtime.
Results importBifurcationDetector(Node &node) {
  if (!node.hasInputs(3) || !hasRanks(node, {{0, 1}, {1, 1}, {3, 1}}))
    return {};
  Builder &b = node.builder;
  int64_t least = node.attributes.getInt("min_ngram_size", 1), most = node.attributes.getInt("max_ngram_size", 3);
  if (least < 1 || most < least || most > 256)
    return node.fail("expected 1 <= min_ngram_size <= max_ngram_size <= 256, got " + Twine(least) + " and " +
                     Twine(most));
  Value source = node.input(0), tokens = node.input(1), place = b.reshape(node.input(2), {});
  if (node.input(3) && place)
    tokens = withPredicted(node, source, tokens, place, node.input(3));
  if (!tokens)
    return {};
  b.require(shapeOf(tokens)[0] - SymbolicInt(1), "cur_tokens: expected at least one token");
  Type boolean = b.operations.getI1Type();
  Suffix suffix{b.splat(shapeOf(source), 1, boolean), b.scalar(-1, b.i64()), b.scalar(1, boolean)};
  for (int64_t length = 1; length <= most; ++length)
    suffix = longer(b, suffix, source, tokens, length, length >= least);
  return {tokens, suffix.place ? b.reshape(suffix.place, shapeOf(node.input(2))) : suffix.place};
}
} // namespace perpend::onnx
