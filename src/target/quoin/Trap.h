//===- Trap.h - the codes of what can go wrong ------------------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_TRAP_H
#define PERPEND_TARGET_QUOIN_TRAP_H

#include "target/quoin/Instruction.h"

#include <optional>
#include <string>

namespace perpend::quoin {

enum class TrapCode : uint8_t {
#define QUOIN_TRAP(code, name, text) code,
#include "target/quoin/Traps.def"
#undef QUOIN_TRAP
};
llvm::StringRef nameOf(TrapCode code); ///< such as "E_OOB"

/// A rule that an instruction breaks.
struct Violation {
  TrapCode code;
  std::string text; ///< with the numbers involved
};

/// The first rule that the instruction breaks, whatever its generators add to addresses.
std::optional<Violation> findViolation(const Instruction &instruction, const Config &config);

/// The first rule that its addresses break: alignment, the ends of memories, a result that overlaps an operand. Operands
/// with a generator are skipped. The instruction must have no violation otherwise.
std::optional<Violation> findAddressViolation(const Instruction &instruction, const Config &config);

} // namespace perpend::quoin

#endif
