//===- Access.h - which bytes an instruction touches ------------*- C++ -*-===//
//
// Bounds, overlaps, races, initialised bytes and transferred bytes are all questions about these ranges.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_ACCESS_H
#define PERPEND_TARGET_QUOIN_ACCESS_H

#include "target/quoin/Instruction.h"

#include "llvm/ADT/SmallVector.h"

namespace perpend::quoin {

/// Three nested rows of elements in one memory.
struct Access {
  OperandIndex operand = Dst;
  Space space = Space::None;
  uint8_t core = ownCore;
  uint64_t byte = 0;
  uint64_t elementBytes = 0;
  std::array<uint64_t, 3> count = {1, 1, 1};      ///< inner first
  std::array<uint64_t, 3> pitchBytes = {0, 0, 0}; ///< from element to element, row to row, plane to plane
  bool isRead = false, isWritten = false;
  bool isIndexed = false; ///< touches only some of the rows, which values of the run choose

  uint64_t rowBytes() const;  ///< from the first byte of a row to behind its last
  uint64_t sizeBytes() const; ///< from the first byte of all to behind the last
  uint64_t movedBytes() const { return count[0] * count[1] * count[2] * elementBytes; }
};

/// The ranges of the instruction's operands, which must have no violation other than of addresses. `begins`: its
/// accumulators begin at 0 (Instruction::zero, in the first iteration), so that it does not read them.
llvm::SmallVector<Access, 4> accessesOf(const Instruction &instruction, bool begins = false);

/// Rows of an image that the instruction reads, [first, last). Empty if all of them lie in the border.
std::pair<unsigned, unsigned> imageRows(const Instruction &instruction);

/// True unless the two surely have no byte in common.
bool mayOverlap(const Access &left, const Access &right);

} // namespace perpend::quoin

#endif
