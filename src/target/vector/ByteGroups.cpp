//===- ByteGroups.cpp - products of bytes with grouped numbers ------------===//
//
// The emitter for rows of bytes times numbers packed into words (GroupLayout.h). A step of the intrinsic's text
// multiplies four unsigned bytes with four signed ones in each lane, and adds the products to a sum of 32 bits. The
// bytes x + 128 of the rows are the unsigned ones, because one register holds them for all columns; the numbers minus
// their zero points are the signed ones:
//
//   sum of x (q - z) = sum of (x + 128) (q - z) - sum of 128 (q - z)
//
// All rows of a block share the second sum. Sums of a group are exact; they are multiplied by the row's scale, if it
// has one, then by that of the column, and added to the block's totals, group by group. So a row has the same bits in a
// block of any height.
//
//   tile.call_intrinsic "i4.bytes.groups" %a, %b, %s, %c at(…) strides(…) extents(%cols, %depth, %outer, %rows)
// becomes
//   func.call @bytes_i4.bytes.groups_1x32(%a, %ao, …)
//
//===----------------------------------------------------------------------===//

#include "target/vector/ByteGroupCode.h"
#include "target/vector/Emitters.h"
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

/// Independent sums that keep two pipes busy, and the most sets of them.
constexpr int64_t minAccumulators = 10, mostSets = 4;

/// The register allocation of a block.
struct ByteBlock {
  int64_t rows, lanes, vectors;
  int64_t sets = 1;        //  independent accumulators of the group's sums
  bool holdsTotals = true; // the block's totals are in registers

  ByteBlock(int64_t rows, int64_t cols, const target::Machine &target)
      : rows(rows), lanes(std::gcd(cols, int64_t(target.vectorLanes(4)))), vectors(cols / lanes) {
    auto fits = [&](int64_t count) { return count <= int64_t(target.vectorRegisters) - vectors - 4; };
    holdsTotals = fits(sums() + rows * vectors);
    int64_t totals = holdsTotals ? rows * vectors : 0;
    while (sets < mostSets && sets * sums() < minAccumulators && fits(2 * sets * sums() + totals))
      sets *= 2;
  }
  /// Those of the rows, then the one that the rows share.
  int64_t sums() const { return (rows + 1) * vectors; }
};

class ByteGroupEmitter : ByteGroupCode {
public:
  ByteGroupEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, ByteBlock block, GroupArguments arguments,
                   const target::Machine &target)
      : ByteGroupCode(builder, intrinsic, block.lanes, block.vectors, arguments, target), block(block),
        step(*stepFor(intrinsic, block.lanes, target)) {}

  void emit();

private:
  Value multiplyAdd(Value x, Value y, Value sums);
  Value rowWord(Value index);
  void emitWord(ValueRange aIndices, Value bIndex, int64_t number, ValueRange zeros, MutableArrayRef<Value> sums);
  Values emitDepth(Value group);
  Values emitGroup(Value group, ValueRange totals);

  ByteBlock block;
  const Intrinsic::Step &step;
};
} // namespace

/// In steps of as many lanes as the text has.
Value ByteGroupEmitter::multiplyAdd(Value x, Value y, Value sums) {
  int64_t count = step.lanes();
  if (count == block.lanes)
    return step.inlined(builder, {x, y, sums});
  Value result = sums;
  for (int64_t first = 0; first < block.lanes; first += count) {
    auto part = [&](Value whole, int64_t elements) -> Value {
      return builder.create<vector::ExtractStridedSliceOp>(whole, first * elements, count * elements, int64_t(1));
    };
    Value next = step.inlined(builder, {part(x, bytesOfWord), part(y, bytesOfWord), part(sums, 1)});
    result = builder.create<vector::InsertStridedSliceOp>(next, result, first, int64_t(1));
  }
  return result;
}

/// Four bytes of a row, in all lanes.
Value ByteGroupEmitter::rowWord(Value index) {
  Value four =
      builder.create<vector::LoadOp>(VectorType::get(bytesOfWord, builder.getI8Type()), arguments.rows.buffer, index);
  Value word = builder.create<vector::BitCastOp>(VectorType::get(1, builder.getI32Type()), four);
  return builder.create<vector::BitCastOp>(bytes, builder.create<vector::BroadcastOp>(sum, word));
}

/// Adds the products of one word of each column, the `number`-th after the indices.
void ByteGroupEmitter::emitWord(ValueRange aIndices, Value bIndex, int64_t number, ValueRange zeros,
                                MutableArrayRef<Value> sums) {
  Value first = add(bIndex, number * columns()), shared = splat(bytes, -GroupLayout::byteOffset);
  prefetch(arguments.words.buffer, first, wordsAhead(), columns(), /*cache=*/2);
  Values words;
  for (int64_t vector = 0; vector < block.vectors; ++vector)
    words.push_back(load(arguments.words, first, vector, groups.word));
  for (int64_t plane = 0; plane < planes(); ++plane) {
    Values numbers;
    for (int64_t vector = 0; vector < block.vectors; ++vector)
      numbers.push_back(numbersOf(words[vector], plane, zeros[vector]));
    for (int64_t row = 0; row <= block.rows; ++row) {
      bool isShared = row == block.rows;
      Value x = isShared ? shared : rowWord(add(aIndices[row], number * groups.perWord + plane * bytesOfWord));
      for (int64_t vector = 0; vector < block.vectors; ++vector) {
        Value &total = sums[row * block.vectors + vector];
        total = multiplyAdd(x, numbers[vector], total);
      }
    }
  }
}

/// Emits the sums of one group, of the numbers themselves.
ByteGroupEmitter::Values ByteGroupEmitter::emitDepth(Value group) {
  Value aBase = offset(arguments.rows.base, group, arguments.rows.outerStride);
  Value bBase = offset(arguments.words.base, group, arguments.words.outerStride);
  Values rowBases, zeros = zerosOf(group), sums(block.sets * block.sums(), splat(sum, 0));
  for (int64_t row = 0; row < block.rows; ++row)
    rowBases.push_back(add(aBase, multiply(arguments.rows.stride, constant(row))));
  Value from = constant(0);
  auto emitSteps = [&](int64_t count) {
    Value to = arguments.depth;
    if (count > 1)
      to = multiply(builder.create<arith::DivUIOp>(to, constant(count)), constant(count));
    sums = emitLoop(from, to, count, sums, [&](Value k, ValueRange current) {
      Values aIndices, next(current);
      for (Value base : rowBases)
        aIndices.push_back(add(base, multiply(k, constant(groups.perWord))));
      Value bIndex = add(bBase, multiply(k, constant(columns())));
      for (int64_t number = 0; number < count; ++number)
        emitWord(aIndices, bIndex, number, zeros, MutableArrayRef(next).slice(number * block.sums(), block.sums()));
      return next;
    });
    from = to;
  };
  if (block.sets > 1)
    emitSteps(block.sets);
  emitSteps(1);
  for (int64_t set = 1; set < block.sets; ++set)
    for (int64_t i = 0; i < block.sums(); ++i)
      sums[i] = builder.create<arith::AddIOp>(sums[i], sums[set * block.sums() + i]);
  for (int64_t i = 0; i < block.rows * block.vectors; ++i)
    sums[i] = builder.create<arith::SubIOp>(sums[i], sums[block.rows * block.vectors + i % block.vectors]);
  sums.resize(block.rows * block.vectors);
  return sums;
}

/// Adds the group's sums times its scales to the totals, in registers if they are held there.
ByteGroupEmitter::Values ByteGroupEmitter::emitGroup(Value group, ValueRange totals) {
  Values sums = emitDepth(group), rowScales;
  for (int64_t row = 0; row < block.rows; ++row)
    rowScales.push_back(rowScale(group, constant(row)));
  for (int64_t vector = 0; vector < block.vectors; ++vector) {
    Value scale = columnScales(group, vector);
    for (int64_t row = 0; row < block.rows; ++row) {
      int64_t i = row * block.vectors + vector;
      Value index = block.holdsTotals ? Value() : sumIndex(constant(row), vector);
      Value total = index ? builder.create<vector::LoadOp>(real, arguments.sums.buffer, index) : totals[i];
      sums[i] = scaled(sums[i], rowScales[row], scale, total);
      if (index)
        builder.create<vector::StoreOp>(sums[i], arguments.sums.buffer, index);
    }
  }
  return block.holdsTotals ? sums : Values();
}

void ByteGroupEmitter::emit() {
  auto storeAll = [&](llvm::function_ref<Value(int64_t)> value) {
    for (int64_t row = 0; row < block.rows; ++row)
      for (int64_t vector = 0; vector < block.vectors; ++vector)
        builder.create<vector::StoreOp>(value(row * block.vectors + vector), arguments.sums.buffer,
                                        sumIndex(constant(row), vector));
  };
  Value zero = builder.create<arith::ConstantOp>(builder.getZeroAttr(real));
  Values totals(block.holdsTotals ? block.rows * block.vectors : 0, zero);
  if (!block.holdsTotals)
    storeAll([&](int64_t) { return zero; });
  totals = emitLoop(constant(0), arguments.outer, 1, totals,
                    [&](Value group, ValueRange current) { return emitGroup(group, current); });
  if (block.holdsTotals)
    storeAll([&](int64_t i) { return totals[i]; });
}

static bool takesBytes(const Intrinsic &intrinsic) {
  return ByteGroupCode::takes(intrinsic) && !intrinsic.steps.empty();
}

static LogicalResult lowerCall(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  return GroupCall(op, intrinsic)
      .lower("bytes", [&](ImplicitLocOpBuilder &code, const GroupArguments &arguments, int64_t rows, int64_t columns) {
        ByteGroupEmitter(code, intrinsic, ByteBlock(rows, columns, target), arguments, target).emit();
      });
}

/// Sums take five eighths of the registers; others hold the shared sums, numbers and constants.
static int64_t rowsOfBytes(const Intrinsic &, int64_t panel, std::optional<int64_t> rows,
                           const target::Machine &target) {
  int64_t vectors = std::max<int64_t>(1, panel / int64_t(target.vectorLanes(4)));
  int64_t most = std::max<int64_t>(1, int64_t(target.vectorRegisters) * 5 / 8 / vectors);
  return rows && *rows > 0 ? llvm::divideCeil(*rows, llvm::divideCeil(*rows, most)) : most;
}

const Emitter perpend::target::bytesEmitter = {"bytes", takesBytes, lowerCall, rowsOfBytes, /*takesAnyRows=*/false};
