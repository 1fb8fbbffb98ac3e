//===- Sequences.cpp - operators on sequences of tokens -------------------===//
//
// Operators of the domain com.microsoft that extend other operators on
// sequences by a mask, a table of positions, or a state.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "graph/composites/Attention.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

//===----------------------------------------------------------------------===//
// SparseAttention
//===----------------------------------------------------------------------===//

/// Which blocks of keys the blocks of queries see: booleans [layouts, blocks, blocks], from a sparse matrix given by
/// row starts [layouts, blocks + 1] and columns [layouts, entries]. Columns after the last row's may be -1.
static Value blockMask(Builder &b, Value starts, Value columns) {
  Shape entries = shapeOf(columns), rows = shapeOf(starts);
  SymbolicInt blocks = rows[1] - SymbolicInt(1);
  Value place = b.reshape(iota(b, entries[1], b.i64()), {SymbolicInt(1), entries[1], SymbolicInt(1)});
  Value isBehind =
      call(b, "less_equal", {b.unsqueeze(b.cast(starts, b.i64()), 1), place}); // [layouts, entries, blocks + 1]
  if (!isBehind)
    return {};
  Value row = graph::sub(b, b.reduce(ReductionKind::Sum, b.cast(isBehind, b.i64()), 2, false), b.scalar(1, b.i64()));
  Value layout = b.broadcastTo(b.unsqueeze(iota(b, entries[0], b.i64()), 1), entries);
  if (!row || !layout)
    return {};
  Value tuples = b.concat({b.unsqueeze(layout, 2), b.unsqueeze(row, 2), b.unsqueeze(b.cast(columns, b.i64()), 2)}, 2);
  Type type = b.operations.getI32Type();
  Value ones = b.scatter(b.splat({entries[0], blocks, blocks}, 0, type), tuples, b.splat(entries, 1, type));
  return ones ? b.cast(ones, b.operations.getI1Type()) : ones;
}

/// 0 where a query sees a key, otherwise -inf: [batch, heads, queries, keys]. Heads use the layouts in rotation; the
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
  Value last = graph::sub(b, b.cast(node.input(8), b.i64()), b.scalar(1, b.i64()));
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

/// Checks that the sections add up to the columns of both tables, and that a head can have that many pairs.
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

/// Which of the three positions (time, height, width) rotates each pair of elements. Errors: empty.
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
  if (a.getInt("state_window") || a.getInt("channels_last") || a.getInt("ndim", 1) != 1)
    return node.fail("expected one dimension, channels first and no window of states");
  return node.composite("causal_conv", node.inputs);
}

//===----------------------------------------------------------------------===//
// DynamicTimeWarping
//===----------------------------------------------------------------------===//

namespace {
/// The predecessor of a point on a path, by DynamicTimeWarping's numbers.
enum class Origin : int64_t { Diagonal = 0, Above = 1, Left = 2 };

/// The least costs of paths to the points of one diagonal, by row; infinity before and outside the matrix.
struct Diagonal {
  Value costs, origins;
};
} // namespace

/// The cheapest of three steps; a diagonal step, or a step down, is taken only if it alone is the cheapest.
static Scalar cheapest(ArrayRef<Scalar> ways, Scalar ifDiagonal, Scalar ifAbove, Scalar ifLeft) {
  Scalar isDiagonal = (ways[0] < ways[1]) & (ways[0] < ways[2]);
  Scalar isAbove = (ways[1] < ways[0]) & (ways[1] < ways[2]);
  return select(isDiagonal, ifDiagonal, select(isAbove, ifAbove, ifLeft));
}

/// Computes diagonal `number` of costs [rows, columns] from the two before it.
static Diagonal nextDiagonal(Builder &b, Value costs, Value number, Value last, Value before) {
  Shape shape = shapeOf(costs);
  Type i64 = b.i64();
  auto body = [&](bool wantsCosts) {
    return [shape, i64, wantsCosts](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
      Type position = builder.getIndexType();
      Scalar row(builder, loc, index[0]), one = row.integer(1);
      Scalar at = row.with(load(builder, loc, tensors[1], {})).to(position);
      Scalar columns = row.with(extent(builder, loc, shape[1])), column = at - row;
      Scalar isInside = (column >= row.integer(0)) & (column < columns);
      Scalar own =
          row.with(load(builder, loc, tensors[0], {index[0], max(min(column, columns - one), row.integer(0)).value}));
      auto read = [&](Value tensor, Scalar place) { return own.with(load(builder, loc, tensor, place.value)); };
      Scalar isFirst = equal(at, at.integer(0)), infinity = own.constant(std::numeric_limits<double>::infinity());
      Scalar ways[] = {select(isFirst, own.constant(0), read(tensors[3], row)), read(tensors[2], row),
                       read(tensors[2], row + one)};
      if (!wantsCosts) {
        auto origin = [&](Origin way) { return row.integer(static_cast<int64_t>(way)); };
        return cheapest(ways, origin(Origin::Diagonal), origin(Origin::Above), origin(Origin::Left)).to(i64).value;
      }
      return select(isInside, own + cheapest(ways, ways[0], ways[1], ways[2]), infinity).value;
    };
  };
  Value tensors[] = {costs, number, last, before};
  return {b.generate(tensors, shape[0], graph::elementTypeOf(costs), body(true)),
          b.generate(tensors, shape[0], i64, body(false))};
}

/// The predecessor on the cheapest path to each point, [diagonals, rows].
static Value pathOrigins(Builder &b, Value costs) {
  Shape shape = shapeOf(costs);
  double infinity = std::numeric_limits<double>::infinity();
  Type type = graph::elementTypeOf(costs);
  Value border = b.splat({SymbolicInt(1)}, infinity, type),
        nothing = b.splat(shape[0] + SymbolicInt(1), infinity, type);
  Value count = b.dims(shape[0] + shape[1] - SymbolicInt(1), /*isScalar=*/true);
  SmallVector<Value> results = b.loop({count, {}}, {nothing, nothing}, [&](Value number, ValueRange carried) {
    Diagonal next = nextDiagonal(b, costs, number, carried[0], carried[1]);
    return Iteration{{}, {b.concat({border, next.costs}, 0), carried[0]}, {next.origins}};
  });
  return results.size() == 3 ? results[2] : Value();
}

/// The path that ends at the last row and column: pairs, last first.
static Value pathBack(Builder &b, Value origins, ArrayRef<SymbolicInt> shape) {
  Value flat = b.reshape(origins, elementCount(shapeOf(origins)));
  Value rows = number(b, shape[0], b.i64()), zero = b.scalar(0, b.i64()), one = b.scalar(1, b.i64());
  Value start[] = {b.dims(shape[0] - SymbolicInt(1), /*isScalar=*/true),
                   b.dims(shape[1] - SymbolicInt(1), /*isScalar=*/true)};
  Value most = b.dims(shape[0] + shape[1], /*isScalar=*/true), isTrue = call(b, "equal", {one, one});
  SmallVector<Value> results = b.loop({most, isTrue}, start, [&](Value, ValueRange at) -> Iteration {
    Value place = graph::add(b, graph::mul(b, graph::add(b, at[0], at[1]), rows), at[0]);
    Value origin = b.gather(flat, place, 0);
    auto step = [&](Value from, Origin other) {
      Value stays = call(b, "equal", {origin, b.scalar(static_cast<double>(other), b.i64())});
      return graph::sub(b, from, graph::where(b, stays, zero, one));
    };
    Value row = step(at[0], Origin::Left), column = step(at[1], Origin::Above);
    Value goesOn =
        call(b, "logical_and", {call(b, "greater_equal", {row, zero}), call(b, "greater_equal", {column, zero})});
    return {goesOn, {row, column}, {b.concat({b.unsqueeze(at[0], {0}), b.unsqueeze(at[1], {0})}, 0)}};
  });
  return results.size() == 3 ? results[2] : Value();
}

/// The path [2, length] from the first to the last row and column with the least sum of costs.
Results importDynamicTimeWarping(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value costs = node.input(0);
  Shape shape = shapeOf(costs);
  if (shape.size() == 3 && !provablyDiffer(shape[0], SymbolicInt(1)))
    costs = b.reshape(costs, ArrayRef(shape).drop_front());
  if (!costs || rankOf(costs) != 2)
    return node.fail("expected costs [rows, columns] or [1, rows, columns], got shape " + toString(shape));
  shape = shapeOf(costs);
  for (const SymbolicInt &extent : shape)
    b.require(extent - SymbolicInt(1), "expected costs of at least one row and column");
  Value origins = b.hasFailed() ? Value() : pathOrigins(b, costs),
        pairs = origins ? pathBack(b, origins, shape) : origins;
  if (!pairs)
    return {};
  SymbolicInt length = shapeOf(pairs)[0];
  Value inOrder = b.slice(pairs, {length - SymbolicInt(1), SymbolicInt(0)}, {length, SymbolicInt(2)}, {-1, 1});
  return {b.cast(b.transpose(inOrder, {1, 0}), b.operations.getI32Type())};
}

//===----------------------------------------------------------------------===//
// WordConvEmbedding
//===----------------------------------------------------------------------===//

/// Which windows of `size` characters each word contains, counting its nonzero characters: booleans [words, 1,
/// windows].
static Value windowsOfWords(Builder &b, Value isCharacter, const SymbolicInt &size, const SymbolicInt &windows) {
  Value lengths = isCharacter ? graph::sum(b, b.cast(isCharacter, b.i64()), {1}, true) : isCharacter;
  Value least = number(b, size, b.i64());
  Value ends = graph::add(b, iota(b, windows, b.i64()), least);
  Value isThere = call(b, "less_equal", {ends, call(b, "max", {lengths, least})});
  return isThere ? b.unsqueeze(isThere, {1}) : isThere;
}

/// in: words [words, characters], filters [size, 1, window, character size], bias, the embeddings of characters. The
/// maximum over the activated windows of each word; 0 for a word that starts with 0.
Results importWordConvEmbedding(Node &node) {
  if (!node.hasInputs(4) || !hasRanks(node, {{0, 2}, {1, 4}, {2, 1}, {3, 2}}))
    return {};
  Builder &b = node.builder;
  Shape filters = shapeOf(node.input(1));
  Value words = node.input(0);
  Value embedded = b.unsqueeze(b.gather(node.input(3), words, 0), {1});
  Value windows = call(b, "conv", {embedded, node.input(1), node.input(2)});
  if (!windows)
    return {};
  Value active = call(b, "tanh", b.squeeze(windows, {3}));
  if (!active)
    return {};
  Type type = graph::elementTypeOf(active);
  Value isCharacter = call(b, "not_equal", {words, b.scalar(0, graph::elementTypeOf(words))});
  Value isThere = windowsOfWords(b, isCharacter, filters[2], shapeOf(active)[2]);
  Value shown = graph::where(b, isThere, active, b.scalar(-2, type)); // below every activation
  Value isWord = isCharacter ? sliceAxis(b, isCharacter, 1, SymbolicInt(0), SymbolicInt(1)) : isCharacter;
  return {graph::where(b, isWord, b.reduce(ReductionKind::Max, shown, 2, false), b.scalar(0, type))};
}
} // namespace perpend::onnx
