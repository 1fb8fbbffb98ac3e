//===- BytePanels.cpp - grouped numbers that many rows share --------------===//
//
// The emitter for many rows of bytes times numbers packed into words (GroupLayout.h), for instructions that add
// products of bytes in fours, or in pairs: of bytes to sums of 16 bits, if the numbers are small enough, or of 16 bits
// to sums of 32. A group's sums are exact, and they are scaled and added to the totals as those of ByteGroups.cpp: the
// results have the same bits, for any number of rows.
//
// All rows of a call share what belongs to the numbers alone, which is computed for some groups at a time, into scratch
// memory that stays in the first-level cache for all rows: the numbers, the sums of each column that the rows' offset
// asks for (ByteGroups.cpp), and the scales as floats. Rows of a block lose their offset if they become 16 bits wide.
// So a block of rows needs registers for its sums, one set of numbers and one word of a row, and nothing else:
//
//   for some groups:
//     numbers, sums of columns and scales of these groups, of all columns
//     for a block of rows:
//       numbers of 16 bits of these groups, if products are of these
//       for each of the groups: sums = those of columns + products; totals += column's scale * (row's scale * sums)
//
// Few rows are multiplied as in ByteGroups.cpp.
//
//   tile.call_intrinsic "pairs.i4.bytes.groups" %a, %b, %s, %c at(…) strides(…) extents(%cols, %depth, %outer, %rows)
// becomes
//   func.call @panels_pairs.i4.bytes.groups_4x16(%a, %ao, …, %rows)
//
//===----------------------------------------------------------------------===//

#include "target/vector/ByteGroupCode.h"
#include "target/vector/Emitters.h"
#include "target/vector/WordProducts.h"
#include "tile/Attributes.h"
#include "tile/intrinsics/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

namespace {

/// Blocks of rows per call. Of blocks of seven rows, a prompt's chunk of 256 tokens is one call.
constexpr int64_t mostBlocks = 37;

/// Vectors of a panel's columns.
int64_t vectorsOf(int64_t columns, const target::Machine &target) {
  return std::max<int64_t>(1, columns / int64_t(target.vectorLanes(4)));
}

/// The step for many rows: on pairs of 16 bits, or else on bytes.
const Intrinsic::Step *stepOfPanels(const Intrinsic &intrinsic, int64_t lanes, const target::Machine &target) {
  const Intrinsic::Step *pairs = pairStepFor(intrinsic, lanes, target);
  return pairs ? pairs : stepFor(intrinsic, lanes, target);
}

/// Rows of a block. Where products are added in pairs: sums, a set of numbers, a word of a row and two products are in
/// registers. Where they are added in fours, nothing is computed between products, so that reading and writing totals
/// would take longer than they do: these are in registers, too, which leaves rows enough to hide the latency.
int64_t rowsOfPanelBlock(const Intrinsic &intrinsic, int64_t columns, const target::Machine &target) {
  const int64_t vectors = vectorsOf(columns, target), registers = target.vectorRegisters;
  const int64_t lanes = std::gcd(columns, int64_t(target.vectorLanes(4)));
  const Intrinsic::Step *step = stepOfPanels(intrinsic, lanes, target);
  const bool addsFours = step && !step->fold.code && !takesPairs(intrinsic, *step);
  return std::max<int64_t>(1,
                           addsFours ? (registers - vectors - 2) / (2 * vectors) : (registers - vectors - 3) / vectors);
}

class BytePanelEmitter : ByteGroupCode {
public:
  /// `units`: those of a group.
  BytePanelEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t lanes, int64_t units,
                   int64_t columns, GroupArguments arguments, const target::Machine &target)
      : ByteGroupCode(builder, intrinsic, lanes, columns / lanes, arguments, target),
        step(*stepOfPanels(intrinsic, lanes, target)), units(units), isWide(takesPairs(intrinsic, step)),
        elementsOfWord(isWide ? 2 : bytesOfWord), sets(units * groups.perUnit() / elementsOfWord),
        blockRows(rowsOfPanelBlock(intrinsic, columns, target)), operand(isWide ? halves : bytes) {
    const int64_t groupBytes = (sets + 2) * columns * bytesOfWord;
    part = std::max<int64_t>(1, int64_t(target.nearCacheBytes()) / 3 / groupBytes);
    pitch = part * sets * elementsOfWord + alignment;
    setsAtOnce = hasNarrowSums() ? std::gcd(sets, setsOfFold()) : sets;
    setsOfStep = std::gcd(setsAtOnce, int64_t(2));
  }

  void emit();

private:
  /// Groups of a part: where it starts, and their number.
  struct Part {
    Value first, count;
  };

  /// Products of bytes are added to sums of 16 bits.
  bool hasNarrowSums() const { return bool(step.fold.code); }
  Value allocate(int64_t elements, Type element) {
    return builder.create<memref::AllocaOp>(MemRefType::get(elements, element), builder.getI64IntegerAttr(alignment));
  }
  Value minimum(Value a, Value b) { return builder.create<arith::MinSIOp>(a, b); }
  Value multiplyAdd(Value x, Value y, Value sums) { return inlinedInLanes(builder, step, step, lanes, {x, y, sums}); }
  Value fold(Value narrow, Value sums) { return inlinedInLanes(builder, step, step.fold, lanes, {narrow, sums}); }
  /// The place of a vector of 32 bits per column among those of the groups of a part.
  Value placeOf(Value group, int64_t vector) { return add(multiply(group, constant(columns())), vector * lanes); }
  Value placeOfNumbers(Value group, Value set, int64_t vector) {
    return multiply(placeOf(offset(set, group, constant(sets)), vector), constant(elementsOfWord));
  }
  /// The first element of a row's part, where products read it, and the distance of its groups.
  Value startOfRow(const Part &part, Value row, int64_t number);
  Value stepOfGroups() { return isWide ? constant(sets * elementsOfWord) : arguments.rows.outerStride; }
  Value startOfStored(const Part &part, Value row) {
    Value base = offset(arguments.rows.base, part.first, arguments.rows.outerStride);
    return offset(base, row, arguments.rows.stride);
  }
  int64_t setsOfFold() const;
  void emitZeros();
  void emitNumbers(const Part &part);
  Values widePairs(Value numbers);
  void emitWideRows(const Part &part, Value row, int64_t rows);
  Value rowWord(Value index);
  Values emitProducts(ValueRange rowPlaces, Value group, Value first, ValueRange sums);
  Values emitSums(ValueRange rowStarts, Value group);
  void emitBlock(const Part &part, Value row, int64_t rows);
  void emitPrefetch(const Part &part, Value row);
  /// Of a buffer with so many elements in a group.
  void emitPrefetch(const Part &part, Value row, const Operand &operand, int64_t ofGroup);

  static constexpr int64_t alignment = 64;

  const Intrinsic::Step &step;
  int64_t units; ///< of a group
  bool isWide;   ///< numbers and rows become 16 bits wide
  /// Numbers that a lane multiplies at once; sets of so many in a group; and rows of a block.
  int64_t elementsOfWord, sets, blockRows;
  VectorType operand;
  /// Groups of a part; elements from one row of 16 bits to the next; sets whose products the narrow sums hold; and
  /// those of an iteration.
  int64_t part, pitch, setsAtOnce, setsOfStep;
  /// Scratch memory: [group, set, column, number]; for [group, column] sums and scales; and [row, group, number].
  Value numbers, others, scales, wideRows;
};
} // namespace

/// Rows are stored with their offset, up to 255. A sum of 16 bits has two products of a set.
int64_t BytePanelEmitter::setsOfFold() const {
  const bool isOfWholeRange = groups.isUnsigned || groups.zero;
  const int64_t number = (int64_t(1) << (isOfWholeRange ? bits() : bits() - 1)) - (isOfWholeRange ? 1 : 0);
  return std::max<int64_t>(1, llvm::bit_floor(uint64_t(INT16_MAX / (2 * 255 * number))));
}

void BytePanelEmitter::emitZeros() {
  Value zeros = builder.create<arith::ConstantOp>(builder.getZeroAttr(real));
  emitLoop(constant(0), arguments.count, 1, {}, [&](Value row, ValueRange) {
    for (int64_t vector = 0; vector < vectors; ++vector)
      builder.create<vector::StoreOp>(zeros, arguments.sums.buffer, sumIndex(row, vector));
    return Values();
  });
}

/// The first two numbers of each column as numbers of 16 bits, and the others.
BytePanelEmitter::Values BytePanelEmitter::widePairs(Value numbers) {
  Values pairs;
  for (int64_t first : {0, 2}) {
    SmallVector<int64_t> places;
    for (int64_t lane = 0; lane < lanes; ++lane)
      places.append({lane * bytesOfWord + first, lane * bytesOfWord + first + 1});
    Value two = builder.create<vector::ShuffleOp>(numbers, numbers, places);
    pairs.push_back(builder.create<arith::ExtSIOp>(halves, two));
  }
  return pairs;
}

/// Emits code that unpacks the numbers of a part, less their zero points, adds them up where rows keep their offset,
/// and extends their scales.
void BytePanelEmitter::emitNumbers(const Part &part) {
  emitLoop(constant(0), part.count, 1, {}, [&](Value group, ValueRange) {
    Value absolute = add(part.first, group);
    Place from = placeOfGroup(absolute);
    Values zeros = zerosOf(absolute), none(isWide ? 0 : vectors, splat(sum, 0));
    Values totals = emitLoop(constant(0), constant(units), 1, none, [&](Value k, ValueRange before) {
      Values next(before);
      Place place = unitAt(from, k);
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Unit packed = loadUnit(place, vector);
        Value added = hasNarrowSums() || isWide ? splat(halves, 0) : next[vector];
        if (zeros[vector])
          packed = plusHalf(packed);
        Values unpacked;
        for (int64_t plane = 0; plane < planes(); ++plane) {
          Value ofPlane = numbersOf(packed, plane, zeros[vector]);
          if (isWide)
            unpacked.append(widePairs(ofPlane));
          else
            unpacked.push_back(ofPlane);
        }
        Value first = multiply(k, constant(unpacked.size()));
        for (auto [number, ofSet] : llvm::enumerate(unpacked)) {
          builder.create<vector::StoreOp>(ofSet, numbers, placeOfNumbers(group, add(first, number), vector));
          if (!isWide)
            added = multiplyAdd(splat(bytes, -GroupLayout::byteOffset), ofSet, added);
        }
        if (!isWide)
          next[vector] = hasNarrowSums() ? fold(added, next[vector]) : added;
      }
      return next;
    });
    for (int64_t vector = 0; vector < vectors; ++vector) {
      builder.create<vector::StoreOp>(columnScales(absolute, vector), scales, placeOf(group, vector));
      if (isWide)
        continue;
      Value negative = builder.create<arith::SubIOp>(splat(sum, 0), totals[vector]);
      builder.create<vector::StoreOp>(negative, others, placeOf(group, vector));
    }
    return Values();
  });
}

/// Emits code that makes a part of some rows 16 bits wide.
void BytePanelEmitter::emitWideRows(const Part &part, Value row, int64_t rows) {
  const int64_t ofGroup = sets * elementsOfWord, piece = std::gcd(ofGroup, operand.getNumElements());
  auto stored = VectorType::get(piece, builder.getI8Type()), wide = VectorType::get(piece, builder.getI16Type());
  for (int64_t i = 0; i < rows; ++i) {
    Value base = startOfStored(part, add(row, i));
    emitLoop(constant(0), part.count, 1, {}, [&](Value group, ValueRange) {
      Value from = offset(base, group, arguments.rows.outerStride);
      Value to = offset(startOfRow(part, row, i), group, stepOfGroups());
      prefetch(arguments.rows.buffer, offset(from, constant(blockRows), arguments.rows.stride), 0, 1); // the next block
      for (int64_t first = 0; first < ofGroup; first += piece) {
        Value elements = builder.create<vector::LoadOp>(stored, arguments.rows.buffer, add(from, first));
        Value widened = builder.create<arith::ExtUIOp>(wide, elements);
        Value without = builder.create<arith::SubIOp>(widened, splat(wide, GroupLayout::byteOffset));
        builder.create<vector::StoreOp>(without, wideRows, add(to, first));
      }
      return Values();
    });
  }
}

Value BytePanelEmitter::startOfRow(const Part &part, Value row, int64_t number) {
  return isWide ? constant(number * pitch) : startOfStored(part, add(row, number));
}

/// A word of a row, in all lanes.
Value BytePanelEmitter::rowWord(Value index) {
  auto type = VectorType::get(elementsOfWord, operand.getElementType());
  Value elements = builder.create<vector::LoadOp>(type, isWide ? wideRows : arguments.rows.buffer, index);
  Value word = builder.create<vector::BitCastOp>(VectorType::get(1, builder.getI32Type()), elements);
  return builder.create<vector::BitCastOp>(operand, builder.create<vector::BroadcastOp>(sum, word));
}

/// Adds the products of setsAtOnce sets. A loop, not one long block: LLVM would reorder the sums, and keep more of them
/// than there are registers.
BytePanelEmitter::Values BytePanelEmitter::emitProducts(ValueRange rowPlaces, Value group, Value first,
                                                        ValueRange sums) {
  Values initial = hasNarrowSums() ? Values(sums.size(), splat(halves, 0)) : Values(sums);
  Values added = emitLoop(first, add(first, setsAtOnce), setsOfStep, initial, [&](Value from, ValueRange before) {
    Values next(before);
    for (int64_t i = 0; i < setsOfStep; ++i) {
      Value set = add(from, i);
      Values ofSet;
      for (int64_t vector = 0; vector < vectors; ++vector)
        ofSet.push_back(builder.create<vector::LoadOp>(operand, numbers, placeOfNumbers(group, set, vector)));
      for (auto [row, place] : llvm::enumerate(rowPlaces)) {
        Value x = rowWord(add(place, multiply(set, constant(elementsOfWord))));
        for (int64_t vector = 0; vector < vectors; ++vector) {
          Value &total = next[int64_t(row) * vectors + vector];
          total = multiplyAdd(x, ofSet[vector], total);
        }
      }
    }
    return next;
  });
  if (hasNarrowSums())
    for (auto [total, before] : llvm::zip(added, sums))
      total = fold(total, before);
  return added;
}

/// The sums of a group, of the numbers themselves.
BytePanelEmitter::Values BytePanelEmitter::emitSums(ValueRange rowStarts, Value group) {
  Values places, sums;
  for (Value start : rowStarts) {
    places.push_back(offset(start, group, stepOfGroups()));
    for (int64_t vector = 0; vector < vectors; ++vector)
      sums.push_back(isWide ? splat(sum, 0)
                            : Value(builder.create<vector::LoadOp>(sum, others, placeOf(group, vector))));
  }
  if (sets == setsAtOnce)
    return emitProducts(places, group, constant(0), sums);
  return emitLoop(constant(0), constant(sets), setsAtOnce, sums,
                  [&](Value first, ValueRange before) { return emitProducts(places, group, first, before); });
}

/// Adds a part of the groups to the totals of some rows, which are carried from group to group: LLVM keeps those that
/// have no register on the stack, at constant addresses.
void BytePanelEmitter::emitBlock(const Part &part, Value row, int64_t rows) {
  if (isWide)
    emitWideRows(part, row, rows);
  Values starts, indices, totals;
  for (int64_t i = 0; i < rows; ++i) {
    starts.push_back(startOfRow(part, row, i));
    for (int64_t vector = 0; vector < vectors; ++vector) {
      indices.push_back(sumIndex(add(row, i), vector));
      totals.push_back(builder.create<vector::LoadOp>(real, arguments.sums.buffer, indices.back()));
    }
  }
  totals = emitLoop(constant(0), part.count, 1, totals, [&](Value group, ValueRange before) {
    Values sums = emitSums(starts, group), next;
    for (int64_t i = 0; i < rows; ++i) {
      Value ofRow = rowScale(add(part.first, group), add(row, i));
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Value scale = builder.create<vector::LoadOp>(real, scales, placeOf(group, vector));
        next.push_back(scaled(sums[next.size()], ofRow, scale, before[next.size()]));
      }
    }
    return next;
  });
  for (auto [index, total] : llvm::zip(indices, totals))
    builder.create<vector::StoreOp>(total, arguments.sums.buffer, index);
}

/// Prefetches a share of the next part, or of what follows the last one: the next panel.
void BytePanelEmitter::emitPrefetch(const Part &part, Value row) {
  emitPrefetch(part, row, arguments.words, units * columnsOfUnit());
  if (groups.upper)
    emitPrefetch(part, row, arguments.upper, units * columns());
  emitPrefetch(part, row, arguments.scales, columns());
  if (groups.zero)
    emitPrefetch(part, row, arguments.zeros, columns());
}

void BytePanelEmitter::emitPrefetch(const Part &part, Value row, const Operand &operand, int64_t ofGroup) {
  const int64_t bits = cast<MemRefType>(operand.buffer.getType()).getElementTypeBitWidth();
  const int64_t inLine = 8 * target.lineBytes() / bits, ofPart = this->part * ofGroup;
  auto divideUp = [&](Value a, Value b) -> Value {
    return builder.create<arith::DivUIOp>(add(a, builder.create<arith::SubIOp>(b, constant(1))), b);
  };
  Value lines = divideUp(constant(llvm::divideCeil(ofPart, inLine)), divideUp(arguments.count, constant(blockRows)));
  Value before = multiply(builder.create<arith::DivUIOp>(row, constant(blockRows)), lines);
  Value next = offset(operand.base, add(part.first, this->part), operand.outerStride);
  emitLoop(constant(0), lines, 1, {}, [&](Value line, ValueRange) {
    prefetch(operand.buffer, offset(next, add(before, line), constant(inLine)), 0, inLine, /*cache=*/2);
    return Values();
  });
}

void BytePanelEmitter::emit() {
  numbers = allocate(part * sets * columns() * elementsOfWord, operand.getElementType());
  if (isWide)
    wideRows = allocate(blockRows * pitch, operand.getElementType());
  else
    others = allocate(part * columns(), builder.getI32Type());
  scales = allocate(part * columns(), groups.real);
  emitZeros();
  emitLoop(constant(0), arguments.outer, part, {}, [&](Value first, ValueRange) {
    Part own{first, minimum(builder.create<arith::SubIOp>(arguments.outer, first), constant(part))};
    emitNumbers(own);
    Value from = constant(0);
    for (int64_t rows = blockRows; rows > 0; rows = int64_t(llvm::bit_floor(uint64_t(rows - 1)))) {
      Value left = builder.create<arith::SubIOp>(arguments.count, from);
      Value to = add(from, multiply(builder.create<arith::DivUIOp>(left, constant(rows)), constant(rows)));
      emitLoop(from, to, rows, {}, [&](Value row, ValueRange) {
        if (rows == blockRows)
          emitPrefetch(own, row);
        emitBlock(own, row, rows);
        return Values();
      });
      from = to;
    }
    return Values();
  });
}

/// Steps for many rows, and any others for few. Rows keep their offset, so steps of two signed bytes are none.
static bool takesBytePanels(const Intrinsic &intrinsic) {
  return ByteGroupCode::takes(intrinsic) && !intrinsic.steps.empty() &&
         llvm::none_of(intrinsic.steps,
                       [](const Intrinsic::Step &step) { return step.code->hasAttr(signedAttribute); });
}

static LogicalResult lowerBytePanels(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  constexpr int64_t fewRows = 5;
  GroupCall call(op, intrinsic);
  if (std::optional<int64_t> rows = getConstantIntValue(call.rows()); rows && *rows <= fewRows)
    return bytesEmitter.lower(op, intrinsic, target);
  std::optional<int64_t> depth = call.depth(), columns = getConstantIntValue(call.columns());
  if (!depth || *depth < 1 || !columns)
    return op.emitOpError("expected a number of words in a group, and of columns");
  if (Value rows = call.unknownRows(); rows && failed(lowerFewRows(op, rows, intrinsic, target)))
    return failure();
  const int64_t lanes = std::gcd(*columns, int64_t(target.vectorLanes(4)));
  return call.lowerAnyRows("panels", rowsOfPanelBlock(intrinsic, *columns, target) * mostBlocks, *depth, {},
                           [&](ImplicitLocOpBuilder &code, const GroupArguments &arguments, int64_t columns) {
                             BytePanelEmitter(code, intrinsic, lanes, *depth, columns, arguments, target).emit();
                           });
}

static int64_t rowsOfBytePanels(const Intrinsic &intrinsic, int64_t panel, std::optional<int64_t> rows,
                                const target::Machine &target) {
  const int64_t most = rowsOfPanelBlock(intrinsic, panel, target);
  return rows && *rows > 0 ? std::min(*rows, most) : most;
}

const Emitter perpend::target::bytePanelsEmitter = {"byte-panels",
                                                    takesBytePanels,
                                                    lowerBytePanels,
                                                    rowsOfBytePanels,
                                                    /*takesAnyRows=*/true,
                                                    /*blocksAtOnce=*/mostBlocks,
                                                    /*linesAtOnce=*/1,
                                                    /*sharesUnpacking=*/true};
