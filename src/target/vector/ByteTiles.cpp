//===- ByteTiles.cpp - grouped numbers in matrix registers ----------------===//
//
// The emitter for rows of bytes times numbers packed into words (GroupLayout.h), on processors with matrix registers
// (TileRegisters.h). A group's sums are exact, so they are computed in a register, stored, converted, scaled and added
// to the totals like those of ByteGroups.cpp: the results have the same bits, for any number of rows.
//
// Few rows, if only a run knows their number, are multiplied in vectors, which is faster then.
//
// All rows of a call share the work of unpacking: numbers become bytes, and rows become signed, in scratch memory,
// where the registers' elements are contiguous. Both are done for some groups at a time, so that the numbers stay in
// the first-level cache for all rows:
//
//   for some groups:
//     unpack their numbers, of all columns
//     for 16 rows:
//       make their bytes signed
//       for 16 columns:
//         for each of the groups: zero, load, multiply, store; totals += column's scale * (row's scale * sums)
//
// The processor executes this faster if it need not wait: while the sums of a group are scaled, those of the next one
// are stored, and the products of the one after that are computed. So four registers of sums are used in turns, and
// four buffers for stored sums. On a Sapphire Rapids that takes 12 ns for 16 x 16 sums of 32 products, against 18 ns
// one after another.
//
//   tile.call_intrinsic "amx.i4.bytes.groups" %a, %b, %s, %c at(…) strides(…) extents(%cols, %depth, %outer, %rows)
// becomes
//   func.call @tiles_amx.i4.bytes.groups_4x32(%a, %ao, …, %rows)
//
//===----------------------------------------------------------------------===//

#include "target/vector/ByteGroupCode.h"
#include "target/vector/Emitters.h"
#include "target/vector/TileRegisters.h"

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

/// Registers of sums, which groups use in turns; and the numbers of the operand registers behind them.
constexpr int64_t turns = 4, firstOfLeft = turns, firstOfRight = turns + 2;
/// Rows of a call, whose sums should stay in the first-level cache, in registers.
constexpr int64_t registersAtOnce = 8;

/// How a group's words of four numbers fill registers: in as few steps as possible, of equal depth. The last step may
/// have fewer words, whose place in the left register is filled with zeros.
struct GroupSteps {
  int64_t words, count, depth;

  GroupSteps(int64_t words, int64_t most)
      : words(words), count(llvm::divideCeil(words, most)),
        depth(llvm::divideCeil(words, std::max<int64_t>(count, 1))) {}
  int64_t wordsOf(int64_t step) const { return std::min(depth, words - step * depth); }
  int64_t padded() const { return count * depth; }
};

class ByteTileEmitter : ByteGroupCode {
public:
  /// `isDense`: the groups of a row follow one another in memory.
  ByteTileEmitter(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, GroupSteps steps, int64_t columns,
                  bool isDense, GroupArguments arguments, const target::Machine &target)
      : ByteGroupCode(builder, intrinsic, intrinsic.tiles->columns, columns / intrinsic.tiles->columns, arguments,
                      target),
        tiles(*intrinsic.tiles), steps(steps), isDense(isDense && steps.padded() == steps.words) {
    int64_t groupBytes = steps.padded() * columns * bytesOfWord, third = int64_t(target.nearCacheBytes()) / 3;
    part = std::max({int64_t(1), third / groupBytes, std::min(turns, 2 * third / groupBytes)});
    rowPitch = llvm::alignTo(part * steps.padded() * bytesOfWord, alignment) + alignment;
  }

  void emit();

private:
  /// Groups of a part: where it starts, and their number.
  struct Part {
    Value first, count;
  };

  Value allocate(int64_t elements, Type element);
  Value minimum(Value a, Value b) { return builder.create<arith::MinSIOp>(a, b); }
  Value leftPosition(Value group, int64_t step) {
    return add(multiply(group, constant(steps.padded() * bytesOfWord)), step * steps.depth * bytesOfWord);
  }
  Value rightPosition(Value vector, Value group, int64_t step);
  void emitZeros();
  void emitNumbers(const Part &part);
  void emitSigned(Value from, Value to, int64_t bytes);
  void emitLeft(const Part &part, Value row, Value height);
  void emitProducts(int64_t turn, Value vector, Value group);
  void emitStore(int64_t turn);
  Value scaledSums(int64_t turn, Value i, Value scale, Value group, Value row, Value total);
  Value scalesOf(Value group, Value vector);
  void emitWhole(const Part &part, Value row, Value vector);
  void emitFewer(const Part &part, Value row, Value height, Value vector);
  void emitPrefetch(const Part &part, Value row);
  /// Of a buffer with so many words in a unit.
  void emitPrefetch(const Part &part, Value row, const Operand &operand, int64_t ofUnit);

  static constexpr int64_t alignment = 64;

  const Intrinsic::Tiles &tiles;
  GroupSteps steps;
  bool isDense;
  /// Groups that are unpacked at once; and bytes from one of their rows to the next, which are not in one set of a
  /// cache.
  int64_t part, rowPitch;
  /// Scratch memory: signed rows [row, group, word, byte], numbers [vector, group, word, lane, byte], and the sums of
  /// each turn [row, lane].
  Value rowBytes, numbers, results[turns];
};
} // namespace

Value ByteTileEmitter::allocate(int64_t elements, Type element) {
  return builder.create<memref::AllocaOp>(MemRefType::get(elements, element), builder.getI64IntegerAttr(alignment));
}

/// The position of a step's words in the scratch memory of numbers.
Value ByteTileEmitter::rightPosition(Value vector, Value group, int64_t step) {
  Value ofGroup = add(multiply(vector, constant(part)), group);
  return multiply(add(multiply(ofGroup, constant(steps.padded())), step * steps.depth), constant(lanes * bytesOfWord));
}

/// Emits zeros for all sums, and for all bytes of rows if not every step has all of its words.
void ByteTileEmitter::emitZeros() {
  Value zeros = builder.create<arith::ConstantOp>(builder.getZeroAttr(real));
  emitLoop(constant(0), arguments.count, 1, {}, [&](Value row, ValueRange) {
    for (int64_t vector = 0; vector < vectors; ++vector)
      builder.create<vector::StoreOp>(zeros, arguments.sums.buffer, sumIndex(row, vector));
    return Values();
  });
  if (steps.padded() == steps.words)
    return;
  auto line = VectorType::get(alignment, builder.getI8Type());
  emitLoop(constant(0), constant(tiles.rows * rowPitch), alignment, {}, [&](Value position, ValueRange) {
    builder.create<vector::StoreOp>(splat(line, 0), rowBytes, position);
    return Values();
  });
}

/// Emits code that unpacks the numbers of a part.
void ByteTileEmitter::emitNumbers(const Part &part) {
  emitLoop(constant(0), part.count, 1, {}, [&](Value group, ValueRange) {
    Value from = add(part.first, group);
    Values zeros = zerosOf(from), positions;
    for (int64_t vector = 0; vector < vectors; ++vector)
      positions.push_back(rightPosition(constant(vector), group, 0));
    Place first = placeOfGroup(from);
    emitLoop(constant(0), constant(steps.words / planes()), 1, {}, [&](Value k, ValueRange) {
      Place place = unitAt(first, k);
      for (int64_t vector = 0; vector < vectors; ++vector) {
        Unit words = loadUnit(place, vector);
        if (zeros[vector])
          words = plusHalf(words);
        for (int64_t plane = 0; plane < planes(); ++plane) {
          Value word = add(multiply(k, constant(planes())), plane);
          Value position = add(positions[vector], multiply(word, constant(lanes * bytesOfWord)));
          builder.create<vector::StoreOp>(numbersOf(words, plane, zeros[vector]), numbers, position);
        }
      }
      return Values();
    });
    return Values();
  });
}

/// Emits a copy of some bytes of the rows that makes them signed: flipping the highest bit subtracts 128.
void ByteTileEmitter::emitSigned(Value from, Value to, int64_t count) {
  auto type = VectorType::get(count, builder.getI8Type());
  Value stored = builder.create<vector::LoadOp>(type, arguments.rows.buffer, from);
  Value flipped = builder.create<arith::XOrIOp>(stored, splat(type, -GroupLayout::byteOffset));
  builder.create<vector::StoreOp>(flipped, rowBytes, to);
}

/// Emits code that makes a part of some rows signed: as whole lines, or step by step.
void ByteTileEmitter::emitLeft(const Part &part, Value row, Value height) {
  const Operand &rows = arguments.rows;
  int64_t groupBytes = steps.words * bytesOfWord, piece = std::gcd(groupBytes, alignment);
  Value bytes = multiply(part.count, constant(groupBytes));
  Value inLines = multiply(builder.create<arith::DivUIOp>(bytes, constant(alignment)), constant(alignment));
  emitLoop(constant(0), height, 1, {}, [&](Value i, ValueRange) {
    Value from = offset(offset(rows.base, add(row, i), rows.stride), part.first, rows.outerStride);
    Value to = multiply(i, constant(rowPitch));
    auto emitPieces = [&](Value first, Value end, int64_t size) {
      emitLoop(first, end, size, {}, [&](Value k, ValueRange) {
        emitSigned(add(from, k), add(to, k), size);
        return Values();
      });
    };
    if (isDense) {
      emitPieces(constant(0), inLines, alignment);
      emitPieces(inLines, bytes, piece);
      return Values();
    }
    emitLoop(constant(0), part.count, 1, {}, [&](Value group, ValueRange) {
      for (int64_t step = 0; step < steps.count; ++step)
        emitSigned(add(offset(from, group, rows.outerStride), step * steps.depth * bytesOfWord),
                   add(to, leftPosition(group, step)), steps.wordsOf(step) * bytesOfWord);
      return Values();
    });
    return Values();
  });
}

/// Emits the products of a group.
void ByteTileEmitter::emitProducts(int64_t turn, Value vector, Value group) {
  auto number = [&](int64_t value) -> Value { return builder.create<arith::ConstantIntOp>(value, 8); };
  int64_t leftTile = firstOfLeft + turn % 2, rightTile = firstOfRight + turn % 2;
  tiles.zero.inlined(builder, number(turn));
  for (int64_t step = 0; step < steps.count; ++step) {
    emitTileMove(builder, tiles.load, leftTile, rowBytes, leftPosition(group, step), constant(rowPitch));
    emitTileMove(builder, tiles.load, rightTile, numbers, rightPosition(vector, group, step),
                 constant(lanes * bytesOfWord));
    tiles.multiply.inlined(builder, {number(turn), number(leftTile), number(rightTile)});
  }
}

/// Stores the sums of a group.
void ByteTileEmitter::emitStore(int64_t turn) {
  emitTileMove(builder, tiles.store, turn, results[turn], constant(0), constant(lanes));
}

Value ByteTileEmitter::scalesOf(Value group, Value vector) {
  return columnScales(group, 0, multiply(vector, constant(lanes)));
}

/// Adds row i of the sums of a turn to its total.
Value ByteTileEmitter::scaledSums(int64_t turn, Value i, Value scale, Value group, Value row, Value total) {
  Value sums = builder.create<vector::LoadOp>(sum, results[turn], multiply(i, constant(lanes)));
  return scaled(sums, rowScale(group, add(row, i)), scale, total);
}

/// Emits as many rows as a register has, with the totals of a part in vector registers.
void ByteTileEmitter::emitWhole(const Part &part, Value row, Value vector) {
  Values indices, totals;
  for (int64_t i = 0; i < tiles.rows; ++i) {
    indices.push_back(offset(sumIndex(add(row, i), 0), vector, constant(lanes)));
    totals.push_back(builder.create<vector::LoadOp>(real, arguments.sums.buffer, indices.back()));
  }
  auto addGroup = [&](int64_t turn, Value group, ValueRange before) {
    Value absolute = add(part.first, group), scale = scalesOf(absolute, vector);
    Values next;
    for (int64_t i = 0; i < tiles.rows; ++i)
      next.push_back(scaledSums(turn, constant(i), scale, absolute, row, before[i]));
    return next;
  };
  Value last = builder.create<arith::SubIOp>(part.count, constant(1));
  auto emitAhead = [&](int64_t turn, Value group) {
    emitProducts((turn + 2) % turns, vector, minimum(add(group, 2), last));
    emitStore((turn + 1) % turns);
  };
  emitProducts(0, vector, constant(0));
  emitProducts(1, vector, minimum(constant(1), last));
  emitStore(0);
  Value from = multiply(builder.create<arith::DivUIOp>(part.count, constant(turns)), constant(turns));
  totals = emitLoop(constant(0), from, turns, totals, [&](Value first, ValueRange before) {
    Values next(before);
    for (int64_t turn = 0; turn < turns; ++turn) {
      Value group = add(first, turn);
      emitAhead(turn, group);
      next = addGroup(turn, group, next);
    }
    return next;
  });
  for (int64_t turn = 0; turn + 1 < turns; ++turn) { // those that are left
    Value to = minimum(add(from, 1), part.count);
    totals = emitLoop(from, to, 1, totals, [&](Value group, ValueRange before) {
      emitAhead(turn, group);
      return addGroup(turn, group, before);
    });
    from = to;
  }
  for (auto [index, total] : llvm::zip(indices, totals))
    builder.create<vector::StoreOp>(total, arguments.sums.buffer, index);
}

/// Emits fewer rows, with their totals in memory.
void ByteTileEmitter::emitFewer(const Part &part, Value row, Value height, Value vector) {
  emitLoop(constant(0), part.count, 1, {}, [&](Value group, ValueRange) {
    emitProducts(0, vector, group);
    emitStore(0);
    Value absolute = add(part.first, group), scale = scalesOf(absolute, vector);
    emitLoop(constant(0), height, 1, {}, [&](Value i, ValueRange) {
      Value index = offset(sumIndex(add(row, i), 0), vector, constant(lanes));
      Value total = builder.create<vector::LoadOp>(real, arguments.sums.buffer, index);
      builder.create<vector::StoreOp>(scaledSums(0, i, scale, absolute, row, total), arguments.sums.buffer, index);
      return Values();
    });
    return Values();
  });
}

/// Prefetches a share of the next part, or of what follows the last one: the next panel.
void ByteTileEmitter::emitPrefetch(const Part &part, Value row) {
  emitPrefetch(part, row, arguments.words, columnsOfUnit());
  if (groups.upper)
    emitPrefetch(part, row, arguments.upper, columns());
}

void ByteTileEmitter::emitPrefetch(const Part &part, Value row, const Operand &operand, int64_t ofUnit) {
  const int64_t inLine = target.lineBytes() / bytesOfWord, ofPart = this->part * steps.words / planes() * ofUnit;
  auto divideUp = [&](Value a, Value b) -> Value {
    return builder.create<arith::DivUIOp>(add(a, builder.create<arith::SubIOp>(b, constant(1))), b);
  };
  Value count = divideUp(arguments.count, constant(tiles.rows));
  Value lines = divideUp(constant(llvm::divideCeil(ofPart, inLine)), count);
  Value before = multiply(builder.create<arith::DivUIOp>(row, constant(tiles.rows)), lines);
  Value next = offset(operand.base, add(part.first, this->part), operand.outerStride);
  emitLoop(constant(0), lines, 1, {}, [&](Value line, ValueRange) {
    prefetch(operand.buffer, offset(next, add(before, line), constant(inLine)), 0, inLine);
    return Values();
  });
}

void ByteTileEmitter::emit() {
  Type byte = builder.getI8Type();
  rowBytes = allocate(tiles.rows * rowPitch, byte);
  numbers = allocate(vectors * part * steps.padded() * lanes * bytesOfWord, byte);
  for (Value &result : results)
    result = allocate(tiles.rows * lanes, builder.getI32Type());
  emitZeros();
  emitLoop(constant(0), arguments.outer, part, {}, [&](Value first, ValueRange) {
    Part own{first, minimum(builder.create<arith::SubIOp>(arguments.outer, first), constant(part))};
    emitNumbers(own);
    emitLoop(constant(0), arguments.count, tiles.rows, {}, [&](Value row, ValueRange) {
      Value height = minimum(builder.create<arith::SubIOp>(arguments.count, row), constant(tiles.rows));
      emitLeft(own, row, height);
      emitPrefetch(own, row);
      Value isWhole = builder.create<arith::CmpIOp>(arith::CmpIPredicate::eq, height, constant(tiles.rows));
      emitLoop(constant(0), constant(vectors), 1, {}, [&](Value vector, ValueRange) {
        auto choice = builder.create<scf::IfOp>(isWhole, /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(choice.thenBlock());
        emitWhole(own, row, vector);
        builder.setInsertionPointToStart(choice.elseBlock());
        emitFewer(own, row, height, vector);
        return Values();
      });
      return Values();
    });
    return Values();
  });
}

/// Steps are for few rows.
static bool takesByteTiles(const Intrinsic &intrinsic) {
  return ByteGroupCode::takes(intrinsic) && intrinsic.tiles && !intrinsic.steps.empty();
}

static LogicalResult lowerByteTiles(CallIntrinsicOp op, const Intrinsic &intrinsic, const target::Machine &target) {
  const Intrinsic::Tiles &tiles = *intrinsic.tiles;
  GroupCall call(op, intrinsic);
  std::optional<int64_t> depth = call.depth();
  if (!depth || *depth < 1)
    return op.emitOpError("expected a number of words in a group");
  if (Value rows = call.unknownRows(); rows && failed(lowerFewRows(op, rows, intrinsic, target)))
    return failure();
  GroupSteps steps(*depth * intrinsic.groups->perUnit() / ByteGroupCode::bytesOfWord, tiles.rows);
  TileConfiguration configuration(op, tiles);
  TileShapes wanted = configuration.shapes(tiles.rows, steps.depth), configured = configuration.onEntry(wanted);
  if (!(wanted == configured)) {
    OpBuilder builder(op);
    configuration.emit(builder, wanted);
    builder.setInsertionPointAfter(op);
    configuration.emit(builder, configured);
  }
  auto attributes = tiles.multiply.code->getAttrOfType<ArrayAttr>("passthrough");
  bool isDense = call.groupStride() == steps.words * ByteGroupCode::bytesOfWord;
  return call.lowerAnyRows(isDense ? "tiles" : "tiles_apart", tiles.rows * registersAtOnce, *depth,
                           attributes ? attributes.getValue() : ArrayRef<Attribute>(),
                           [&](ImplicitLocOpBuilder &code, const GroupArguments &arguments, int64_t columns) {
                             ByteTileEmitter(code, intrinsic, steps, columns, isDense, arguments, target).emit();
                           });
}

static int64_t rowsOfByteTiles(const Intrinsic &intrinsic, int64_t, std::optional<int64_t> rows,
                               const target::Machine &) {
  return rows && *rows > 0 ? std::min(*rows, intrinsic.tiles->rows) : intrinsic.tiles->rows;
}

const Emitter perpend::target::byteTilesEmitter = {"byte-tiles",
                                                   takesByteTiles,
                                                   lowerByteTiles,
                                                   rowsOfByteTiles,
                                                   /*takesAnyRows=*/true,
                                                   /*blocksAtOnce=*/registersAtOnce,
                                                   /*linesAtOnce=*/1,
                                                   /*sharesUnpacking=*/true};
