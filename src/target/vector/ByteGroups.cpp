//===- ByteGroups.cpp - products of bytes with grouped numbers ------------===//
//
// The emitter for rows of bytes times numbers packed into words (GroupLayout.h). A step of the intrinsic's text
// multiplies four unsigned bytes with four signed ones in each lane, and adds the products to a sum of 32 bits, or to
// two sums of 16 bits, which are added to one of 32 before they overflow (its fold). Either operand may be the unsigned
// one, and costs one more sum:
//
//   sum of x (q - z) = sum of (x + 128) (q - z) - 128 sum of (q - z)        of a column: few columns, many rows
//   sum of x (q - z) = sum of x (q + h) - (h + z) sum of x                  of a row: few rows, many columns
//
// where h is half of the range of signed numbers, 0 of unsigned ones, which need no other sum there. In the second form
// a number may stay where it lies in its byte, s bits up: its sums, 2^s times as large, are apart and lose s bits at
// the end of the group. LowerPrecision.cpp makes groups of fewer numbers than would overflow. Steps of two signed bytes
// (signedAttribute) need no other sum at all: rows lose their offset as they are loaded. The sums of a group are exact;
// they are multiplied by the row's scale, if it has one, then by that of the column, and added to the block's totals,
// group by group. So a row has the same bits in a block of any height.
//
//   tile.call_intrinsic "i4.bytes.groups" %a, %b, %s, %c at(…) strides(…) extents(%cols, %depth, %outer, %rows)
// becomes
//   func.call @bytes_i4.bytes.groups_1x32(%a, %ao, …)
//
//===----------------------------------------------------------------------===//

#include "target/vector/ByteGroupCode.h"
#include "target/vector/Emitters.h"
#include "target/vector/WordProducts.h"
#include "tile/Attributes.h"
#include "tile/intrinsics/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
  bool hasSignedNumbers;   // less their zero points
  bool hasSignedRows;      // those that are stored with an offset, without it
  bool hasOtherSums;       // those that the other operand's offset asks for
  bool staysInBytes;       // numbers are not shifted, and each set of accumulators is of one position in a byte

  ByteBlock(int64_t rows, int64_t cols, const Intrinsic &intrinsic, const target::Machine &target)
      : rows(rows), lanes(std::gcd(cols, int64_t(target.vectorLanes(4)))), vectors(cols / lanes) {
    const Intrinsic::Step &step = *stepFor(intrinsic, lanes, target);
    const bool isSigned = step.code->hasAttr(signedAttribute), folds = bool(step.fold.code);
    hasSignedNumbers = isSigned || rows >= vectors;
    hasSignedRows = isSigned || rows < vectors;
    hasOtherSums = !isSigned && (hasSignedNumbers || !intrinsic.groups->isUnsigned);
    auto fits = [&](int64_t count) { return count <= int64_t(target.vectorRegisters) - vectors - 4; };
    holdsTotals = fits(sums() + rows * vectors);
    int64_t totals = holdsTotals ? rows * vectors : 0;
    while (!folds && sets < mostSets && sets * sums() < minAccumulators && fits(2 * sets * sums() + totals))
      sets *= 2;
    const GroupLayout &groups = *intrinsic.groups;
    const int64_t inByte = groups.upper ? 1 : 8 / groups.lowerBits;
    staysInBytes = !folds && !hasSignedNumbers && inByte > 1 && sets % inByte == 0;
  }
  /// Those of the products, then those of the columns' numbers. Sums of rows are scalars.
  int64_t sums() const { return rows * vectors + (hasOtherSums && hasSignedNumbers ? vectors : 0); }
  bool hasRowSums() const { return hasOtherSums && !hasSignedNumbers; }
};

class ByteGroupEmitter : ByteGroupCode {
public:
  ByteGroupEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, ByteBlock block, GroupArguments arguments,
                   const target::Machine &target)
      : ByteGroupCode(builder, intrinsic, block.lanes, block.vectors, arguments, target), block(block),
        step(*stepFor(intrinsic, block.lanes, target)) {}

  void emit();

private:
  int64_t unitsOfFold() const;
  Value multiplyAdd(Value x, Value y, Value sums);
  Value fold(Value narrow, Value sums);
  Value asOperand(Value stored);
  Value rowWord(Value index);
  Value rowVector(Value index);
  int64_t unitsOfVector() const;
  int64_t setOf(int64_t unit, int64_t plane) const;
  void emitUnit(ValueRange aIndices, Place place, int64_t number, ValueRange zeros, MutableArrayRef<Value> sums,
                ValueRange rowVectors = {});
  Value rowSum(Value index, int64_t units);
  Values addSets(ValueRange sums);
  void subtractOtherSums(Value group, MutableArrayRef<Value> sums, ValueRange rowSums);
  Values emitDepth(Value group);
  Values emitGroup(Value group, ValueRange totals);

  ByteBlock block;
  const Intrinsic::Step &step;
};
} // namespace

/// How many units, at most four, have products of which sums of 16 bits hold two for each set of numbers: one, at least
/// (Intrinsic.cpp). Rows are up to 128 where they are signed and up to 255 where they are not, numbers up to half of
/// their range where they are signed.
int64_t ByteGroupEmitter::unitsOfFold() const {
  bool isOfWholeRange = block.hasSignedRows || groups.isUnsigned || groups.zero;
  int64_t number = (int64_t(1) << (isOfWholeRange ? bits() : bits() - 1)) - (isOfWholeRange ? 1 : 0);
  int64_t row = block.hasSignedRows ? 128 : 255;
  return std::clamp<int64_t>(INT16_MAX / (2 * row * number) / planes(), 1, 4);
}

/// `sums`: of 32 bits, or twice as many of 16.
Value ByteGroupEmitter::multiplyAdd(Value x, Value y, Value sums) {
  return inlinedInLanes(builder, step, step, block.lanes, {x, y, sums});
}

/// Adds pairs of narrow sums to `sums`.
Value ByteGroupEmitter::fold(Value narrow, Value sums) {
  return inlinedInLanes(builder, step, step.fold, block.lanes, {narrow, sums});
}

/// Four bytes of a row, in all lanes, as signed numbers or as they are stored.
Value ByteGroupEmitter::rowWord(Value index) {
  Value four =
      builder.create<vector::LoadOp>(VectorType::get(bytesOfWord, builder.getI8Type()), arguments.rows.buffer, index);
  Value word = builder.create<vector::BitCastOp>(VectorType::get(1, builder.getI32Type()), four);
  return asOperand(builder.create<vector::BitCastOp>(bytes, builder.create<vector::BroadcastOp>(sum, word)));
}

Value ByteGroupEmitter::asOperand(Value stored) {
  if (!block.hasSignedRows)
    return stored;
  auto type = cast<VectorType>(stored.getType());
  return builder.create<arith::XOrIOp>(stored, splat(type, -GroupLayout::byteOffset));
}

/// As many words of a row as a vector has lanes.
Value ByteGroupEmitter::rowVector(Value index) {
  return asOperand(builder.create<vector::LoadOp>(bytes, arguments.rows.buffer, index));
}

/// The units of a column that so many words of a row are multiplied with, if instructions select a word of a vector;
/// otherwise 0.
int64_t ByteGroupEmitter::unitsOfVector() const {
  return target.hasUnit(laneUnit) && !step.fold.code && block.lanes == step.lanes() ? block.lanes / planes() : 0;
}

/// The set of accumulators for a plane of the `unit`-th unit.
int64_t ByteGroupEmitter::setOf(int64_t unit, int64_t plane) const {
  return (block.staysInBytes ? unit * planes() + plane : unit) % block.sets;
}

/// Adds the products of one unit of each column, the `number`-th after the place, to all sets of sums. `rowVectors`:
/// where the words of the rows are, if they are loaded.
void ByteGroupEmitter::emitUnit(ValueRange aIndices, Place place, int64_t number, ValueRange zeros,
                                MutableArrayRef<Value> sums, ValueRange rowVectors) {
  place = unitAt(place, number);
  prefetchUnit(place);
  SmallVector<Unit> units;
  for (int64_t vector = 0; vector < block.vectors; ++vector) {
    units.push_back(loadUnit(place, vector));
    if (block.hasSignedNumbers ? bool(zeros[vector]) : !groups.isUnsigned)
      units[vector] = plusHalf(units[vector]);
  }
  for (int64_t plane = 0; plane < planes(); ++plane) {
    Values numbers;
    for (int64_t vector = 0; vector < block.vectors; ++vector)
      numbers.push_back(block.hasSignedNumbers ? numbersOf(units[vector], plane, zeros[vector])
                        : block.staysInBytes   ? numbersInBytes(units[vector], plane)
                                               : storedNumbersOf(units[vector], plane));
    MutableArrayRef<Value> own = sums.slice(setOf(number, plane) * block.sums(), block.sums());
    for (int64_t row = 0; row < block.rows; ++row) {
      Value x = rowVectors.empty()
                    ? rowWord(add(aIndices[row], number * groups.perUnit() + plane * bytesOfWord))
                    : wordOfVector(builder, rowVectors[row], bytesOfWord, number % unitsOfVector() * planes() + plane);
      for (int64_t vector = 0; vector < block.vectors; ++vector) {
        Value &total = own[row * block.vectors + vector], y = numbers[vector];
        total = block.hasSignedNumbers ? multiplyAdd(x, y, total) : multiplyAdd(y, x, total);
      }
    }
    if (block.hasSignedNumbers && block.hasOtherSums)
      for (int64_t vector = 0; vector < block.vectors; ++vector) {
        Value &other = own[block.rows * block.vectors + vector];
        other = multiplyAdd(splat(bytes, -GroupLayout::byteOffset), numbers[vector], other);
      }
  }
}

/// The sum of the bytes of a row in so many units, without their offset: a scalar, as all columns have the same.
Value ByteGroupEmitter::rowSum(Value index, int64_t units) {
  const int64_t count = units * groups.perUnit();
  Value stored =
      builder.create<vector::LoadOp>(VectorType::get(count, builder.getI8Type()), arguments.rows.buffer, index);
  Value wide = builder.create<arith::ExtUIOp>(VectorType::get(count, builder.getI32Type()), stored);
  Value all = builder.create<vector::ReductionOp>(vector::CombiningKind::ADD, wide);
  return builder.create<arith::SubIOp>(
      all, builder.create<arith::ConstantIntOp>(count * GroupLayout::byteOffset, builder.getI32Type()));
}

/// The sums of all sets.
ByteGroupEmitter::Values ByteGroupEmitter::addSets(ValueRange sums) {
  const int64_t apart = block.staysInBytes ? 8 / groups.lowerBits : 1, count = block.sums();
  Values all;
  for (int64_t i = 0; i < count; ++i) {
    Value total;
    for (int64_t plane = 0; plane < apart; ++plane) {
      Value ofPlane = sums[plane * count + i];
      for (int64_t set = plane + apart; set < block.sets; set += apart)
        ofPlane = builder.create<arith::AddIOp>(ofPlane, sums[set * count + i]);
      if (plane > 0)
        ofPlane = builder.create<arith::ShRSIOp>(ofPlane, splat(sum, plane * groups.lowerBits));
      total = total ? builder.create<arith::AddIOp>(total, ofPlane) : ofPlane;
    }
    all.push_back(total);
  }
  return all;
}

/// Leaves the sums of x (q - z).
void ByteGroupEmitter::subtractOtherSums(Value group, MutableArrayRef<Value> sums, ValueRange rowSums) {
  if (!block.hasOtherSums)
    return;
  Values offsets = block.hasSignedNumbers ? Values() : offsetsOf(group);
  ArrayRef<Value> others = sums.drop_front(block.rows * block.vectors);
  for (int64_t row = 0; row < block.rows; ++row) {
    Value ofRow = rowSums.empty() ? Value() : builder.create<vector::BroadcastOp>(sum, rowSums[row]);
    for (int64_t vector = 0; vector < block.vectors; ++vector) {
      Value other = ofRow ? builder.create<arith::MulIOp>(ofRow, offsets[vector]) : others[vector];
      Value &total = sums[row * block.vectors + vector];
      total = builder.create<arith::SubIOp>(total, other);
    }
  }
}

/// Emits the sums of one group, of the numbers themselves.
ByteGroupEmitter::Values ByteGroupEmitter::emitDepth(Value group) {
  Value aBase = offset(arguments.rows.base, group, arguments.rows.outerStride);
  Place first = placeOfGroup(group);
  const int64_t count = block.sets * block.sums();
  Values rowBases, zeros, sums(count, splat(sum, 0));
  if (block.hasSignedNumbers)
    zeros = zerosOf(group);
  for (int64_t row = 0; row < block.rows; ++row)
    rowBases.push_back(add(aBase, multiply(arguments.rows.stride, constant(row))));
  if (block.hasRowSums()) // behind the others
    sums.append(block.rows, builder.create<arith::ConstantIntOp>(0, builder.getI32Type()));
  Value from = constant(0);
  auto emitSteps = [&](int64_t units) {
    Value to = arguments.depth;
    if (units > 1)
      to = multiply(builder.create<arith::DivUIOp>(to, constant(units)), constant(units));
    sums = emitLoop(from, to, units, sums, [&](Value k, ValueRange current) {
      Values aIndices, next(current), narrow(step.fold.code ? count : 0, splat(halves, 0));
      for (Value base : rowBases)
        aIndices.push_back(add(base, multiply(k, constant(groups.perUnit()))));
      Place place = unitAt(first, k);
      Values rowVectors;
      for (int64_t unit = 0; unit < units; ++unit) {
        if (unitsOfVector() && units % unitsOfVector() == 0 && unit % unitsOfVector() == 0)
          rowVectors = Values(
              llvm::map_range(aIndices, [&](Value index) { return rowVector(add(index, unit * groups.perUnit())); }));
        emitUnit(aIndices, place, unit, zeros, step.fold.code ? narrow : next, rowVectors);
      }
      for (auto [pairs, total] : llvm::zip(narrow, next))
        total = fold(pairs, total);
      for (auto [index, total] : llvm::zip(aIndices, MutableArrayRef(next).drop_front(count)))
        total = builder.create<arith::AddIOp>(total, rowSum(index, units));
      return next;
    });
    from = to;
  };
  const int64_t units = step.fold.code ? unitsOfFold() : std::max(block.sets, unitsOfVector());
  if (units > 1)
    emitSteps(units);
  emitSteps(1);
  Values all = addSets(sums);
  subtractOtherSums(group, all, ArrayRef(sums).drop_front(count));
  all.resize(block.rows * block.vectors);
  return all;
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
        ByteGroupEmitter(code, intrinsic, ByteBlock(rows, columns, intrinsic, target), arguments, target).emit();
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

LogicalResult perpend::target::lowerFewRows(CallIntrinsicOp op, Value count, const Intrinsic &intrinsic,
                                            const target::Machine &target) {
  constexpr int64_t fewRows = 5, atOnce = 4;
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  auto constant = [&](int64_t value) -> Value { return builder.create<arith::ConstantIndexOp>(value); };
  Value isFew = builder.create<arith::CmpIOp>(arith::CmpIPredicate::sle, count, constant(fewRows));
  auto choice = builder.create<scf::IfOp>(isFew, /*withElseRegion=*/true);
  op->moveBefore(choice.elseBlock()->getTerminator());
  builder.setInsertionPointToStart(choice.thenBlock());
  Value from = constant(0);
  for (int64_t few : {atOnce, int64_t(1)}) {
    Value whole = builder.create<arith::SubIOp>(count, builder.create<arith::RemSIOp>(count, constant(few)));
    auto loop = builder.create<scf::ForOp>(from, whole, constant(few));
    OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
    CallIntrinsicOp part = GroupCall(op, intrinsic).ofRows(inner, loop.getInductionVar(), few);
    if (failed(bytesEmitter.lower(part, intrinsic, target)))
      return failure();
    from = whole;
  }
  return success();
}
