//===- OperatorsMicrosoftSequences.cpp - operators on tokens in a row -----===//
//
// Operators of the domain com.microsoft on sequences of tokens that are other
// operators with something added: a mask, a table of positions, a state.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Attention.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Value i64(Builder &b, Value x) { return x ? b.cast(x, b.i64()) : x; }

//===----------------------------------------------------------------------===//
// SparseAttention
//===----------------------------------------------------------------------===//

/// Which blocks of keys the blocks of queries see: booleans [layouts, blocks, blocks], from the starts of the rows
/// [layouts, blocks + 1] and the columns [layouts, entries] of a matrix that holds the ones. Columns may be -1 behind
/// the last row's.
static Value blockMask(Builder &b, Value starts, Value columns) {
  Shape entries = shapeOf(columns), rows = shapeOf(starts);
  SymbolicInt blocks = rows[1] - SymbolicInt(1);
  Value place = b.reshape(iota(b, entries[1], b.i64()), {SymbolicInt(1), entries[1], SymbolicInt(1)});
  Value isBehind = call(b, "less_equal", {b.unsqueeze(i64(b, starts), 1), place}); // [layouts, entries, blocks + 1]
  if (!isBehind)
    return {};
  Value row = graph::sub(b, b.reduce(ReductionKind::Sum, b.cast(isBehind, b.i64()), 2, false), b.scalar(1, b.i64()));
  Value layout = b.broadcastTo(b.unsqueeze(iota(b, entries[0], b.i64()), 1), entries);
  if (!row || !layout)
    return {};
  Value tuples = b.concat({b.unsqueeze(layout, 2), b.unsqueeze(row, 2), b.unsqueeze(i64(b, columns), 2)}, 2);
  Type type = b.operations.getI32Type();
  Value ones = b.scatter(b.splat({entries[0], blocks, blocks}, 0, type), tuples, b.splat(entries, 1, type));
  return ones ? b.cast(ones, b.operations.getI1Type()) : ones;
}

/// 0 where a query sees a key, else -inf: [batch, heads, queries, keys]. The heads take turns with the layouts; the
/// first query of each batch is at `starts`.
static Value sparseBias(Builder &b, Value mask, Value starts, ArrayRef<SymbolicInt> shape, int64_t blockSize,
                        Type type) {
  if (!mask || !starts)
    return {};
  Shape blocks = shapeOf(mask);
  requireExtents(b, {blocks[1] * SymbolicInt(blockSize)}, {shape[3]}, "the block mask, in tokens,");
  auto body = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    auto at = [&](size_t dim) { return Scalar(builder, loc, index[dim]); };
    auto count = [&](size_t dim) { return Scalar(builder, loc, extent(builder, loc, blocks[dim])); };
    Scalar start = at(0).with(load(builder, loc, tensors[1], index[0])).to(builder.getIndexType());
    Scalar row = min(floorDiv(start + at(2), at(2).integer(blockSize)), count(1) - 1);
    Scalar column = floorDiv(at(3), at(3).integer(blockSize));
    Value seen = load(builder, loc, tensors[0], {floorMod(at(1), count(0)).value, row.value, column.value});
    Value zero = builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, 0));
    Value hidden =
        builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, -std::numeric_limits<double>::infinity()));
    return select(at(0).with(seen), at(0).with(zero), at(0).with(hidden)).value;
  };
  return b.generate({mask, starts}, shape, type, body);
}

/// in: query, key, value, past key, past value, starts of rows, columns, longest length, lengths per batch, tables of
/// rotations. GroupQueryAttention with a bias. Source: SparseAttention of ONNX Runtime.
Results importSparseAttention(Node &node) {
  int64_t blockSize = node.attributes.getInt("sparse_block_size"), heads = node.attributes.getInt("num_heads");
  for (size_t index : {0, 3, 4, 5, 6, 7, 8})
    if (!node.input(index))
      return node.fail("the input " + Twine(index) + " is missing");
  if (blockSize < 1 || heads < 1 || rankOf(node.input(0)) != 3 || rankOf(node.input(3)) != 4 ||
      rankOf(node.input(5)) != 2 || rankOf(node.input(6)) != 2)
    return node.fail("expected a query of rank 3, caches of rank 4, a block mask in two matrices, and positive "
                     "sparse_block_size and num_heads");
  Builder &b = node.builder;
  Shape query = shapeOf(node.input(0));
  Value last = graph::sub(b, i64(b, node.input(8)), b.scalar(1, b.i64()));
  Value starts = graph::add(b, last, number(b, SymbolicInt(1) - query[1], b.i64()));
  starts = call(b, "max", {starts, number(b, SymbolicInt(0), b.i64())});
  Type type = graph::elementTypeOf(node.input(0));
  Value bias = sparseBias(b, blockMask(b, node.input(5), node.input(6)), starts,
                          {query[0], SymbolicInt(heads), query[1], shapeOf(node.input(3))[2]}, blockSize, type);
  if (!bias)
    return {};
  node.inputs = {node.input(0), node.input(1), node.input(2),  node.input(3), node.input(4), last,
                 node.input(7), node.input(9), node.input(10), Value(),       bias};
  return importGroupQueryAttention(node);
}

//===----------------------------------------------------------------------===//
// MRotaryEmbedding
//===----------------------------------------------------------------------===//

/// Whether there are as many pairs as both tables have columns, and a number of them that a head can have.
static bool checkSections(Node &node, ArrayRef<int64_t> sections) {
  constexpr int64_t mostPairs = 1 << 16;
  int64_t pairs = 0;
  bool fits = sections.size() == 3;
  for (int64_t size : sections)
    fits = fits && size >= 0 && !llvm::AddOverflow(pairs, size, pairs);
  if (sections.size() != 3)
    return node.fail("expected three sizes in mrope_section, got " + Twine(sections.size())), false;
  for (size_t index : {2, 3})
    if (SymbolicInt columns = shapeOf(node.input(index))[1]; !fits || provablyDiffer(columns, SymbolicInt(pairs)))
      return node.fail("expected three sizes in mrope_section that together are the table's " + columns.str() +
                       " columns"),
             false;
  bool isPossible = pairs > 0 && pairs <= mostPairs;
  if (!isPossible)
    node.fail("expected sizes in mrope_section of 1 to " + Twine(mostPairs) + " together, got " + Twine(pairs));
  return isPossible;
}

/// Which of the three positions (time, height, width) each pair of elements is rotated by. Errors: empty.
static SmallVector<int64_t> pairSections(Node &node) {
  SmallVector<int64_t> sections = node.attributes.getInts("mrope_section"), result;
  bool takesTurns = node.attributes.getInt("mrope_layout") == 1;
  if (!checkSections(node, sections))
    return {};
  for (int64_t pair = 0; pair < sections[0] + sections[1] + sections[2]; ++pair) {
    int64_t turn = pair % 3, behind = pair < sections[0] ? 0 : pair < sections[0] + sections[1] ? 1 : 2;
    result.push_back(!takesTurns ? behind : turn > 0 && pair < 3 * sections[turn] ? turn : 0);
  }
  return result;
}

/// Rows of a table [positions, pairs] for positions [3, batch, length], as [batch, length, pairs].
static Value sectionTable(Builder &b, Value table, Value positions, ArrayRef<int64_t> sections) {
  Value all = b.gather(table, normalIndices(b, positions, shapeOf(table)[0]), 0), which = b.integers(sections), result;
  for (int64_t section = 0; all && section < 3; ++section) {
    Value own = b.squeeze(sliceAxis(b, all, 0, SymbolicInt(section), SymbolicInt(1)), {0});
    Value isOwn = call(b, "equal", {which, b.scalar(static_cast<double>(section), b.i64())});
    result = section == 0 ? own : graph::where(b, isOwn, own, result);
  }
  return result;
}

/// in: x, positions [3, batch, length], tables of cosines and sines. Source: MRotaryEmbedding of ONNX Runtime.
Results importMRotaryEmbedding(Node &node) {
  if (!node.hasInputs(4))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), positions = node.input(1);
  if (node.attributes.getFloat("scale", 1) != 1 || node.attributes.getInt("is_packed_batching") ||
      rankOf(positions) != 3 || rankOf(node.input(2)) != 2 || rankOf(node.input(3)) != 2 ||
      (rankOf(x) != 3 && rankOf(x) != 4))
    return node.fail("expected a tensor of rank 3 or 4, positions of rank 3, tables of rank 2 and the scale 1");
  SmallVector<int64_t> sections = pairSections(node);
  if (sections.empty())
    return {};
  bool isPacked = rankOf(x) == 3;
  SymbolicInt size(2 * static_cast<int64_t>(sections.size())), heads(node.attributes.getInt("num_heads"));
  if (isPacked && heads == SymbolicInt(0))
    heads = floorDiv(shapeOf(x)[2], size);
  Value split = isPacked ? splitHeads(b, x, heads) : x;
  RotaryForm form{{}, node.attributes.getInt("interleaved") != 0, size};
  Value result = split ? rotate(b, split, sectionTable(b, node.input(2), positions, sections),
                                sectionTable(b, node.input(3), positions, sections), form)
                       : split;
  return {isPacked && result ? joinHeads(b, result) : result};
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

Results importMicrosoftLinearAttention(Node &node) {
  if (node.attributes.getInt("state_window"))
    return node.fail("a window of states (state_window) is not supported");
  return node.composite("linear_attention", node.inputs);
}

Results importMicrosoftCausalConv(Node &node) {
  const Attributes &a = node.attributes;
  if (a.getInt("state_window") || a.getInt("channels_last") || a.getInt("dilation", 1) != 1 || a.getInt("ndim", 1) != 1)
    return node.fail("expected one dimension, channels first, the dilation 1 and no window of states");
  return node.composite("causal_conv", node.inputs);
}
} // namespace perpend::onnx
