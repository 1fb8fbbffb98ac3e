//===- Execute.h - what instructions compute --------------------*- C++ -*-===//
//
// One function for each family of instructions. All addresses are inside of their memories and operands do not overlap:
// the caller has checked the instruction.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_EXECUTE_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_EXECUTE_H

#include "target/quoin/Trap.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>

namespace perpend::quoin {

struct Call {
  const Instruction &instruction;
  std::array<uint8_t *, numOperands> at = {}; ///< first bytes of the operands; null: absent
  bool begins = false;                        ///< accumulators begin at 0
  uint64_t *sregs = nullptr;
  /// Asks for rows of a table whose number was not known before, and tells which ones were written: byte from the
  /// operand's first, count. The rows of an operand that is read must have been written.
  llvm::function_ref<std::optional<Violation>(OperandIndex, uint64_t byte, uint64_t count)> useRow = nullptr;

  /// Extents; 1 in place of those that are not used.
  uint64_t extent(unsigned index) const { return std::max(1u, instruction.extent[index]); }
  unsigned size(unsigned operand) const { return sizeOf(instruction.typeOf(operand)); }
  /// The element at index (i0, i1, i2) by the operand's strides.
  uint8_t *element(unsigned operand, uint64_t i0, uint64_t i1 = 0, uint64_t i2 = 0) const {
    uint64_t offset = i0 * instruction.inner[operand] + i1 * instruction.stride1[operand] + i2 * instruction.stride2[operand];
    return at[operand] + offset * size(operand);
  }
  /// As element, of the operand to which the mode applies.
  uint8_t *modeElement(unsigned operand, uint64_t i0, uint64_t i1, uint64_t i2) const {
    Operands mode = instruction.mode;
    if (mode == Operands::Row)
      return element(operand, i0);
    if (mode == Operands::Column)
      return element(operand, 0, i1, i2);
    return mode == Operands::Scalar ? at[operand] : element(operand, i0, i1, i2);
  }
};

using Result = std::optional<Violation>;

Result executeMove(const Call &call);    ///< families A, B, C
Result executeFeed(const Call &call);    ///< D
Result executeMatrix(const Call &call);  ///< E
Result executeUnary(const Call &call);   ///< F
Result executeBinary(const Call &call);  ///< G
Result executeConvert(const Call &call); ///< H
Result executeReduce(const Call &call);  ///< I
Result executeLayout(const Call &call);  ///< J
Result executeWindow(const Call &call);  ///< K

/// Any instruction of these families.
Result execute(const Call &call);

/// Shared by moves and layouts: rows by an index, transposition, patches of an image.
Result gatherRows(const Call &call);
Result scatterRows(const Call &call);
void transpose(const Call &call);

/// The element of the image at window element `k` of output pixel `pixel`; null in the border.
uint8_t *imageElement(const Call &call, unsigned operand, uint64_t pixel, uint64_t k);

} // namespace perpend::quoin

#endif
