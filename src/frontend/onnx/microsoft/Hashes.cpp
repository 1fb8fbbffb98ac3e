//===- Hashes.cpp - hashes of numbers and of n-grams ----------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

//===----------------------------------------------------------------------===//
// MurmurHash3
//===----------------------------------------------------------------------===//

static Scalar rotated(Scalar x, int64_t bits) {
  Scalar left = x.call<arith::ShLIOp>(x.value, x.integer(bits).value);
  return left | x.call<arith::ShRUIOp>(x.value, x.integer(32 - bits).value);
}

/// x xor (x >> bits).
static Scalar folded(Scalar x, int64_t bits) { return x ^ x.call<arith::ShRUIOp>(x.value, x.integer(bits).value); }

/// MurmurHash3_x86_32 of 32-bit words, lowest first.
static Scalar murmur(ArrayRef<Scalar> words, int64_t seed) {
  Scalar hash = words[0].integer(seed);
  for (Scalar word : words) {
    hash = hash ^ rotated(word * word.integer(0xcc9e2d51), 15) * word.integer(0x1b873593);
    hash = rotated(hash, 13) * hash.integer(5) + hash.integer(0xe6546b64);
  }
  hash = hash ^ hash.integer(static_cast<int64_t>(words.size()) * 4);
  hash = folded(hash, 16) * hash.integer(0x85ebca6b);
  return folded(folded(hash, 13) * hash.integer(0xc2b2ae35), 16);
}

/// The hash of the bits of each number.
Results importMurmurHash3(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0);
  unsigned width = bitWidth(graph::elementTypeOf(x));
  if (isHandle(graph::elementTypeOf(x)) || (width != 32 && width != 64))
    return node.fail("expected numbers of 32 or 64 bits, got elements of type " +
                     graph::nameOf(graph::elementTypeOf(x)) + "\nhint: hash texts before the model");
  Type bits = b.operations.getIntegerType(width), word = b.operations.getI32Type();
  Value asBits = node.composite("bit_cast", x, node.attribute("to", TypeAttr::get(bits)))[0];
  int64_t seed = node.attributes.getInt("seed");
  Value hash = pointwise(
      b, asBits,
      [&](ArrayRef<Scalar> v) {
        if (width == 32)
          return murmur(v[0], seed);
        return murmur({v[0].to(word), v[0].call<arith::ShRUIOp>(v[0].value, v[0].integer(32).value).to(word)}, seed);
      },
      word);
  if (!node.attributes.getInt("positive", 1))
    return {hash};
  auto unsignedWord = TypeAttr::get(b.operations.getIntegerType(32, /*isSigned=*/false));
  return node.composite("bit_cast", hash, node.attribute("to", unsignedWord));
}

//===----------------------------------------------------------------------===//
// NGramHashMapping
//===----------------------------------------------------------------------===//

namespace {
/// The context of the tokens of ids [batch, length]; absent members are null.
struct History {
  /// [batch, n - 1 + length].
  Value ids;
  /// Replaces tokens that are masked or absent: a scalar.
  Value filler;
  /// The end of a sequence: a token does not see past it.
  Value end;
  /// [batch, length]: whether a token begins a segment.
  Value begins;
  int64_t longest;
};
} // namespace

/// x [batch, length] shifted right by `back` positions, filled with zeros.
static Value delayed(Builder &b, Value x, int64_t back) {
  if (!x)
    return {};
  SmallVector<SymbolicInt> low{SymbolicInt(0), SymbolicInt(back)}, high(2, SymbolicInt(0));
  return sliceAxis(b, padTensor(b, x, low, high, "constant"), 1, SymbolicInt(0), shapeOf(x)[1]);
}

/// Whether a token begins another segment than its predecessor's; false for the first token.
static Value segmentStarts(Builder &b, Value segments) {
  if (!segments)
    return {};
  Value isLater = call(b, "greater", {iota(b, shapeOf(segments)[1], b.i64()), b.scalar(0, b.i64())});
  return call(b, "logical_and", {call(b, "not_equal", {segments, delayed(b, segments, 1)}), isLater});
}

/// The ids `back` positions before each token, with those it does not see replaced.
static Value shiftedIds(Builder &b, const History &h, int64_t back, const SymbolicInt &length, Value &hidden) {
  Value ids = sliceAxis(b, h.ids, 1, SymbolicInt(h.longest - 1 - back), length);
  auto hide = [&](Value more) { hidden = hidden && more ? call(b, "logical_or", {hidden, more}) : more; };
  if (back == 0 || !ids)
    return ids;
  if (h.end)
    hide(call(b, "equal", {ids, h.end}));
  if (h.begins)
    hide(delayed(b, h.begins, back - 1));
  return hidden ? graph::where(b, hidden, h.filler, ids) : ids;
}

/// The hash ids [batch, length, heads] of the n-grams that end at each token, `heads` for each n in 2 .. longest.
static Value hashIds(Node &node, const History &h, const SymbolicInt &length, int64_t heads) {
  Builder &b = node.builder;
  Value multipliers = node.input(1), sizes = node.input(2), mix, hidden;
  SmallVector<Value> results;
  for (int64_t back = 0; back < h.longest; ++back) {
    Value factor = sliceAxis(b, multipliers, 0, SymbolicInt(back), SymbolicInt(1));
    Value term = graph::mul(b, shiftedIds(b, h, back, length, hidden), factor);
    mix = mix ? call(b, "bitwise_xor", {mix, term}) : term;
    if (back == 0 || !mix)
      continue;
    Value modulus = sliceAxis(b, sizes, 0, SymbolicInt((back - 1) * heads), SymbolicInt(heads));
    results.push_back(modulus ? pointwise(b, {b.unsqueeze(mix, {2}), modulus},
                                          [](ArrayRef<Scalar> v) { return floorMod(v[0], v[1]); })
                              : modulus);
  }
  Value joined = b.concat(results, 2);
  return node.input(4) ? graph::add(b, joined, node.input(4)) : joined;
}

/// in: ids [batch, length], multipliers [n], sizes of vocabularies [(n - 1) heads], past ids [batch, n - 1], offsets
/// [(n - 1) heads], end of a sequence, segments [batch, length], with n = max_ngram_size. Results: hash ids, the last
/// ids. Source: NGramHashMapping of ONNX Runtime.
Results importNGramHashMapping(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Builder &b = node.builder;
  Value ids = node.input(0), end = node.input(5);
  int64_t longest = node.attributes.getInt("max_ngram_size"), heads = node.attributes.getInt("n_head_per_ngram");
  if (!hasRanks(node, {{0, 2}, {1, 1}, {2, 1}, {3, 2}, {4, 1}, {6, 2}}))
    return {};
  if (longest < 2 || longest > 64 || heads < 1 || heads > 1 << 20)
    return node.fail("expected max_ngram_size from 2 to 64 and n_head_per_ngram from 1 to 2^20, got " + Twine(longest) +
                     " and " + Twine(heads));
  Shape shape = shapeOf(ids), past{shape[0], SymbolicInt(longest - 1)};
  Shape perHead{SymbolicInt((longest - 1) * heads)};
  requireShape(b, node.input(1), "multipliers", {SymbolicInt(longest)});
  requireShape(b, node.input(2), "vocab_sizes", perHead);
  requireShape(b, node.input(3), "past_input_ids", past);
  requireShape(b, node.input(4), "offsets", perHead);
  requireShape(b, node.input(6), "segment_ids", shape);
  if (b.hasFailed())
    return {};
  Type type = graph::elementTypeOf(ids);
  requireAll(b, call(b, "greater", {node.input(2), b.scalar(0, type)}), "vocab_sizes: expected positive sizes");
  Value filler = end ? b.reshape(end, {}) : number(b, SymbolicInt(node.attributes.getInt("pad_id")), type);
  Value history = node.input(3) ? node.input(3) : b.broadcastTo(filler, past);
  Value all = b.concat({history, ids}, 1);
  if (!all)
    return {};
  bool resets = end && node.attributes.getInt("reset_on_eos");
  History h{all, filler, resets ? filler : Value(), segmentStarts(b, node.input(6)), longest};
  return {hashIds(node, h, shape[1], heads), sliceAxis(b, all, 1, shape[1], past[1])};
}
} // namespace perpend::onnx
