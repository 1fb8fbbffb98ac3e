//===- ByteGroupCode.h - numbers of words, and sums of groups ---*- C++ -*-===//
//
// Shared by the emitters for rows of bytes times numbers packed into words (ByteGroups.cpp, ByteTiles.cpp), whose
// results are therefore the same, bit for bit.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_VECTOR_BYTEGROUPCODE_H
#define PERPEND_TARGET_VECTOR_BYTEGROUPCODE_H

#include "target/vector/GroupCall.h"

#include "mlir/IR/BuiltinTypes.h"

namespace perpend::target {

/// A unit of machines (measured: Zen 4) where words of several numbers are prefetched into the first-level cache. Words
/// of bytes are not: so few instructions are between their loads that loads in flight already fill the buffers that
/// such prefetches need. They are prefetched into the second level, and a third as far ahead: further ahead is slower
/// than no prefetch. Other machines (measured: Sapphire Rapids) prefetch everything into the second level.
inline constexpr llvm::StringLiteral nearPrefetchUnit = "near-prefetch";

class ByteGroupCode : protected BlockCode {
public:
  /// Words of 32 bits, with numbers less than bytes or whole bytes without zero points, so that a byte holds a
  /// difference.
  static bool takes(const tile::Intrinsic &intrinsic);
  /// Bytes of a word.
  static constexpr int64_t bytesOfWord = 4;

protected:
  using Operand = GroupArguments::Operand;

  /// A panel has `vectors` vectors of `lanes` columns.
  ByteGroupCode(mlir::ImplicitLocOpBuilder &builder, const tile::Intrinsic &intrinsic, int64_t lanes, int64_t vectors,
                GroupArguments arguments, const Machine &target);

  mlir::Value splat(mlir::VectorType type, int64_t value);
  mlir::Value load(const Operand &operand, mlir::Value position, int64_t vector, mlir::Type element);
  mlir::Value sumIndex(mlir::Value row, int64_t vector);
  int64_t columns() const { return vectors * lanes; }
  int64_t bits() const { return groups.number.getIntOrFloatBitWidth(); }
  /// Sets of four numbers in a unit, and the distance between units of words.
  int64_t planes() const { return groups.perUnit() / bytesOfWord; }
  int64_t columnsOfUnit() const { return groups.wordsOfUnit * columns(); }

  /// Where a unit of words, and the word with its upper bits, are; null: there are none.
  struct Place {
    mlir::Value words, upper;
  };
  Place placeOfGroup(mlir::Value group);
  /// So many units further; `number`: a constant that is added.
  Place unitAt(Place first, mlir::Value units);
  Place unitAt(Place first, int64_t number);
  /// One vector of the words of a unit.
  struct Unit {
    Values words;
    mlir::Value upper;
  };
  Unit loadUnit(Place place, int64_t vector);
  /// Prefetches a unit that lies ahead, where the machine wants it (nearPrefetchUnit).
  void prefetchUnit(Place place);

  /// What numbersOf() subtracts from each byte: half of the range, which plusHalf() adds before, and the zero point of
  /// its column; null: nothing, neither before.
  Values zerosOf(mlir::Value group);
  /// The numbers at positions 4 * plane to 4 * plane + 3 of each unit, as bytes, less `zeros`.
  mlir::Value numbersOf(const Unit &unit, int64_t plane, mlir::Value zeros);
  /// The same numbers as unsigned bytes, as they are stored.
  mlir::Value storedNumbersOf(const Unit &unit, int64_t plane);
  /// And times 2^(plane * bits) at most, where they lie in their bytes, if all of a number's bits are in one word.
  mlir::Value numbersInBytes(const Unit &unit, int64_t plane);
  /// Words whose stored numbers are the signed ones and half of their range.
  Unit plusHalf(Unit unit);
  /// For each column of a vector, by how much such a number is more than the one less its zero point.
  Values offsetsOf(mlir::Value group);
  /// The scale of a row in a group, in all lanes; null: none.
  mlir::Value rowScale(mlir::Value group, mlir::Value row);
  /// The scales of a vector's columns in a group; `first`: the first column's offset, or null.
  mlir::Value columnScales(mlir::Value group, int64_t vector, mlir::Value first = {});
  /// Adds the sums of a group, times the scale of their row, if there is one, and that of each column, to the total.
  mlir::Value scaled(mlir::Value sums, mlir::Value rowScale, mlir::Value scale, mlir::Value total);

  const tile::GroupLayout &groups;
  int64_t lanes, vectors;
  GroupArguments arguments;
  mlir::VectorType real, sum, bytes, halves; ///< halves: twice as many integers of 16 bits as sums
};
} // namespace perpend::target

#endif
