//===- Groups.cpp - register tiles of products with grouped numbers -------===//
//
// The emitter for products with numbers packed into words (GroupLayout.h). Each distinct block is one private
// function, as in Registers.cpp, which iterates over the groups. For each word of the depth, it unpacks the numbers at
// each position of the words into a vector of floats, one position after another, and adds their products with the
// rows to the group's sums. At the end of a group the sums are multiplied by the scales once and added to the block's
// totals, which are in registers if there are enough, otherwise in memory. So all rows share the cost of unpacking,
// and only the words are loaded.
//
//   tile.call_intrinsic "i4.groups" %a, %b, %s, %c at(…) strides(…) extents(%cols, %depth, %outer, %rows)
// becomes
//   func.call @groups_i4.groups_1x32(%a, %ao, …)
//
//===----------------------------------------------------------------------===//

#include "graph/BatchInvariance.h"
#include "target/vector/Emitters.h"
#include "target/vector/GroupCall.h"
#include "tile/intrinsics/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

namespace {

/// Independent multiply-adds that keep two pipes busy. Blocks with more rows than the second use loops of small steps,
/// which LLVM's scheduler does not mix.
constexpr int64_t minAccumulators = 8, maxUnrolledRows = 4;
/// Least numbers of a column in one step of the depth.
constexpr int64_t numbersAtOnce = 8;
/// Approximate latency of memory under full load.
constexpr double secondsAhead = 230e-9;

/// The register allocation of a block.
struct GroupBlock {
  int64_t rows, lanes, vectors;
  int64_t sets = 1;        //  independent accumulators of the group's sums
  bool holdsTotals = true; // the block's totals are in registers
  bool isOneChain;         //  each of the group's sums is one chain of multiply-adds, whatever the number of rows

  GroupBlock(int64_t rows, int64_t cols, const target::Machine &target, bool isOneChain)
      : rows(rows), lanes(std::gcd(cols, int64_t(target.vectorLanes(4)))), vectors(cols / lanes),
        isOneChain(isOneChain) {
    auto fits = [&](int64_t copies) { return copies * accumulators() + 2 * vectors + 2 <= target.vectorRegisters; };
    holdsTotals = fits(2);
    if (!isOneChain && accumulators() < minAccumulators && fits(3))
      sets = 2;
  }
  int64_t accumulators() const { return rows * vectors; }
  /// Unpack all numbers of a word in straight-line code.
  bool isUnrolled() const { return rows <= maxUnrolledRows; }
  /// Zero points are multiplied by the rows' sums at the end of the group. With more rows, which share the cost of
  /// unpacking, they are subtracted from each number.
  bool addsRows() const { return isUnrolled() && !isOneChain; }
};

class GroupEmitter : BlockCode {
public:
  GroupEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, GroupBlock block, GroupArguments arguments,
               const target::Machine &target)
      : BlockCode(builder, target), groups(*intrinsic.groups), block(block), arguments(arguments),
        step(stepFor(intrinsic, block.lanes, target)), real(VectorType::get(block.lanes, groups.real)) {}

  void emit();

private:
  Value zeroVector() { return builder.create<arith::ConstantOp>(builder.getZeroAttr(real)); }
  Value load(const GroupArguments::Operand &operand, Value index, Type element) {
    return builder.create<vector::LoadOp>(VectorType::get(block.lanes, element), operand.buffer, index);
  }
  Value asReal(Value numbers) {
    return numbers.getType() == real ? numbers : builder.create<arith::SIToFPOp>(real, numbers);
  }
  Value vectorIndex(const GroupArguments::Operand &operand, Value position, int64_t vector) {
    return add(position, vector * block.lanes);
  }
  Value sumIndex(int64_t row, int64_t vector) {
    Value first = add(arguments.sums.base, multiply(arguments.sums.stride, constant(row)));
    return add(first, vector * block.lanes);
  }
  int64_t columns() const { return block.vectors * block.lanes; }

  Values emitGroup(Value group, ValueRange totals);
  Values emitDepth(Value group);
  void emitWords(ValueRange aIndices, Value bIndex, int64_t count, MutableArrayRef<Value> sums);
  Values emitPlaces(ValueRange aIndices, Value bIndex, ValueRange sums);
  void emitProducts(ValueRange aIndices, Value place, ValueRange words, MutableArrayRef<Value> sums);
  void addRows(ValueRange aIndices, int64_t count, MutableArrayRef<Value> sums);
  void subtractZeros(Value group, MutableArrayRef<Value> sums, ValueRange rowSums);
  Values zerosOf(Value group);
  Value numbersOf(Value words);
  Value next(Value words);
  void emitPrefetch(Value bIndex);

  const GroupLayout &groups;
  GroupBlock block;
  GroupArguments arguments;
  const Intrinsic::Step *step;
  VectorType real;
  /// Zero points of the current group.
  Values zeros;
};

//===----------------------------------------------------------------------===//
// Unpacking
//===----------------------------------------------------------------------===//

/// Converts the number in the lowest bits of each word to floating point.
Value GroupEmitter::numbersOf(Value words) {
  if (step)
    return step->inlined(builder, {words});
  if (groups.perWord == 1)
    return asReal(words);
  unsigned others = groups.word.getIntOrFloatBitWidth() - groups.number.getIntOrFloatBitWidth();
  Value shift = builder.create<arith::ConstantOp>(
      DenseElementsAttr::get(cast<ShapedType>(words.getType()), builder.getIntegerAttr(groups.word, others)));
  return asReal(builder.create<arith::ShRSIOp>(builder.create<arith::ShLIOp>(words, shift), shift));
}

/// Shifts the next number of each word into its lowest bits.
Value GroupEmitter::next(Value words) {
  auto bits = builder.getIntegerAttr(groups.word, groups.number.getIntOrFloatBitWidth());
  Value shift = builder.create<arith::ConstantOp>(DenseElementsAttr::get(cast<ShapedType>(words.getType()), bits));
  return builder.create<arith::ShRUIOp>(words, shift);
}

/// Adds the products of the numbers at one position of the words with the rows' elements `place` after the indices.
void GroupEmitter::emitProducts(ValueRange aIndices, Value place, ValueRange words, MutableArrayRef<Value> sums) {
  Values numbers;
  for (auto [vector, word] : llvm::enumerate(words)) {
    numbers.push_back(numbersOf(word));
    if (!zeros.empty())
      numbers.back() = builder.create<arith::SubFOp>(numbers.back(), zeros[vector]);
  }
  for (int64_t row = 0; row < block.rows; ++row) {
    Value index = place ? add(aIndices[row], place) : aIndices[row];
    Value x = builder.create<vector::BroadcastOp>(real, builder.create<memref::LoadOp>(arguments.rows.buffer, index));
    for (int64_t vector = 0; vector < block.vectors; ++vector) {
      Value &sum = sums[row * block.vectors + vector];
      sum = builder.create<vector::FMAOp>(x, numbers[vector], sum);
    }
  }
}

/// Prefetches as far ahead as memory delivers within its latency. The end of a panel thus prefetches the start of the
/// next. Prefetching what the call has ahead would gain nothing, because words are multiplied more slowly than they
/// arrive.
void GroupEmitter::emitPrefetch(Value bIndex) {
  int64_t wordBytes = groups.word.getIntOrFloatBitWidth() / 8;
  auto lines = int64_t(target.global.bytesPerSecond * secondsAhead / target.lineBytes());
  prefetch(arguments.words.buffer, bIndex, lines * target.lineBytes() / wordBytes, columns(), /*cache=*/2);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Emits `count` words of each column as straight-line code.
void GroupEmitter::emitWords(ValueRange aIndices, Value bIndex, int64_t count, MutableArrayRef<Value> sums) {
  for (int64_t number = 0; number < count; ++number) {
    Value first = add(bIndex, number * columns());
    emitPrefetch(first);
    Values words;
    for (int64_t vector = 0; vector < block.vectors; ++vector)
      words.push_back(load(arguments.words, vectorIndex(arguments.words, first, vector), groups.word));
    for (int64_t place = 0; place < groups.perWord; ++place) {
      int64_t position = number * groups.perWord + place;
      emitProducts(aIndices, position ? constant(position) : Value(), words,
                   sums.slice(position % block.sets * block.accumulators(), block.accumulators()));
      if (place + 1 < groups.perWord)
        for (Value &word : words)
          word = next(word);
    }
  }
}

/// Emits one word of each column as a loop over its numbers.
GroupEmitter::Values GroupEmitter::emitPlaces(ValueRange aIndices, Value bIndex, ValueRange sums) {
  emitPrefetch(bIndex);
  Values carried(sums);
  for (int64_t vector = 0; vector < block.vectors; ++vector)
    carried.push_back(load(arguments.words, vectorIndex(arguments.words, bIndex, vector), groups.word));
  Values results = emitLoop(constant(0), constant(groups.perWord), 1, carried, [&](Value place, ValueRange current) {
    Values following(current);
    MutableArrayRef<Value> all(following);
    emitProducts(aIndices, place, all.take_back(block.vectors), all.take_front(block.accumulators()));
    for (Value &word : all.take_back(block.vectors))
      word = next(word);
    return following;
  });
  results.resize(sums.size());
  return results;
}

/// Adds the rows' elements that correspond to `count` words to the rows' sums, lane by lane.
void GroupEmitter::addRows(ValueRange aIndices, int64_t count, MutableArrayRef<Value> sums) {
  auto some = VectorType::get(count * groups.perWord, groups.real);
  for (auto [index, sum] : llvm::zip(aIndices, sums)) {
    Value elements = builder.create<vector::LoadOp>(some, arguments.rows.buffer, index);
    if (some != sum.getType())
      elements = builder.create<vector::InsertStridedSliceOp>(
          elements, builder.create<arith::ConstantOp>(builder.getZeroAttr(sum.getType())), ArrayRef<int64_t>{0},
          ArrayRef<int64_t>{1});
    sum = builder.create<arith::AddFOp>(sum, elements);
  }
}

GroupEmitter::Values GroupEmitter::zerosOf(Value group) {
  Value position = offset(arguments.zeros.base, group, arguments.zeros.outerStride);
  Values vectors;
  for (int64_t vector = 0; vector < block.vectors; ++vector)
    vectors.push_back(asReal(load(arguments.zeros, vectorIndex(arguments.zeros, position, vector), groups.zero)));
  return vectors;
}

/// sum of x (q - z) = sum of x q - z (sum of x).
void GroupEmitter::subtractZeros(Value group, MutableArrayRef<Value> sums, ValueRange rowSums) {
  Values vectors = zerosOf(group);
  for (int64_t row = 0; row < block.rows; ++row) {
    Value all =
        builder.create<vector::ReductionOp>(vector::CombiningKind::ADD, rowSums[row], arith::FastMathFlags::reassoc);
    Value less = builder.create<vector::BroadcastOp>(real, builder.create<arith::NegFOp>(all));
    for (int64_t vector = 0; vector < block.vectors; ++vector) {
      Value &sum = sums[row * block.vectors + vector];
      sum = builder.create<vector::FMAOp>(vectors[vector], less, sum);
    }
  }
}

/// Emits the sums of one group.
GroupEmitter::Values GroupEmitter::emitDepth(Value group) {
  Value aBase = offset(arguments.rows.base, group, arguments.rows.outerStride);
  Value bBase = offset(arguments.words.base, group, arguments.words.outerStride);
  Values rowBases, sums(block.sets * block.accumulators(), zeroVector());
  for (int64_t row = 0; row < block.rows; ++row)
    rowBases.push_back(add(aBase, multiply(arguments.rows.stride, constant(row))));
  int64_t atOnce = block.isUnrolled() ? std::max<int64_t>(1, numbersAtOnce / groups.perWord) : 1;
  bool addsRows = groups.zero && block.addsRows();
  if (addsRows) {
    auto lanes = VectorType::get(atOnce * groups.perWord, groups.real);
    sums.append(block.rows, builder.create<arith::ConstantOp>(builder.getZeroAttr(lanes)));
  } else if (groups.zero) {
    zeros = zerosOf(group);
  }
  Value from = constant(0);
  auto emitSteps = [&](int64_t count) {
    Value to = arguments.depth;
    if (count > 1)
      to = multiply(builder.create<arith::DivUIOp>(to, constant(count)), constant(count));
    sums = emitLoop(from, to, count, sums, [&](Value k, ValueRange current) {
      Values aIndices, next(current);
      Value element = multiply(k, constant(groups.perWord));
      for (Value base : rowBases)
        aIndices.push_back(add(base, element));
      Value bIndex = add(bBase, multiply(k, constant(columns())));
      if (!block.isUnrolled() && groups.perWord > 1)
        return emitPlaces(aIndices, bIndex, next);
      emitWords(aIndices, bIndex, count, next);
      if (addsRows)
        addRows(aIndices, count, MutableArrayRef(next).take_back(block.rows));
      return next;
    });
    from = to;
  };
  if (atOnce > 1)
    emitSteps(atOnce);
  emitSteps(1);
  for (int64_t set = 1; set < block.sets; ++set)
    for (int64_t i = 0; i < block.accumulators(); ++i)
      sums[i] = builder.create<arith::AddFOp>(sums[i], sums[set * block.accumulators() + i]);
  if (addsRows)
    subtractZeros(group, sums, ArrayRef(sums).take_back(block.rows));
  sums.resize(block.accumulators());
  return sums;
}

/// Adds the group's sums times its scales to the totals, in registers if they are held there.
GroupEmitter::Values GroupEmitter::emitGroup(Value group, ValueRange totals) {
  auto positionIn = [&](const GroupArguments::Operand &operand) {
    return offset(operand.base, group, operand.outerStride);
  };
  Values sums = emitDepth(group), results;
  for (int64_t vector = 0; vector < block.vectors; ++vector) {
    Value scale =
        load(arguments.scales, vectorIndex(arguments.scales, positionIn(arguments.scales), vector), groups.scale);
    if (groups.scale != groups.real)
      scale = builder.create<arith::ExtFOp>(real, scale);
    for (int64_t row = 0; row < block.rows; ++row) {
      int64_t i = row * block.vectors + vector;
      Value total = block.holdsTotals ? totals[i] : load(arguments.sums, sumIndex(row, vector), groups.real);
      sums[i] = builder.create<vector::FMAOp>(scale, sums[i], total);
      if (!block.holdsTotals)
        builder.create<vector::StoreOp>(sums[i], arguments.sums.buffer, sumIndex(row, vector));
    }
  }
  return block.holdsTotals ? sums : results;
}

void GroupEmitter::emit() {
  auto storeAll = [&](llvm::function_ref<Value(int64_t)> value) {
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t vector = 0; vector < block.vectors; ++vector)
        builder.create<vector::StoreOp>(value(row * block.vectors + vector), arguments.sums.buffer,
                                        sumIndex(row, vector));
  };
  Values totals(block.holdsTotals ? block.accumulators() : 0, zeroVector());
  if (!block.holdsTotals)
    storeAll([&](int64_t) { return zeroVector(); });
  totals = emitLoop(constant(0), arguments.outer, 1, totals,
                    [&](Value group, ValueRange current) { return emitGroup(group, current); });
  if (block.holdsTotals)
    storeAll([&](int64_t i) { return totals[i]; });
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Checks the strides of sums and elements that the code assumes.
bool takesGroups(const Intrinsic &intrinsic) {
  return GroupCall::takes(intrinsic) && !intrinsic.groups->hasBytes() && intrinsic.groups->isInOrder() &&
         !intrinsic.groups->isUnsigned && !intrinsic.groups->sharedScale;
}

LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  const bool isOneChain = graph::isBatchInvariant(op);
  return GroupCall(op, intrinsic)
      .lower("groups", [&](ImplicitLocOpBuilder &code, const GroupArguments &arguments, int64_t rows, int64_t columns) {
        GroupBlock block(rows, columns, target, isOneChain);
        GroupEmitter(code, intrinsic, block, arguments, target).emit();
      });
}

int64_t rowsAtOnceOfGroups(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                           const target::Machine &target) {
  return rowsInRegisters(intrinsic.groups->real, panel, 1, rows, target);
}

} // namespace

const Emitter perpend::target::groupsEmitter = {"groups", takesGroups, lowerCall, rowsAtOnceOfGroups,
                                                /*takesAnyRows=*/false};
