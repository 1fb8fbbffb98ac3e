// What the compiler knows of the machine.
#include "Ashlar.h"

namespace ashlar {

/// Facts for the rules that schedule what the scalar core runs: it has no vectors and no cache.
static perpend::target::TargetInfo describe(llvm::StringRef) {
  perpend::target::TargetInfo target;
  target.features = {"rv64imfd"};
  target.levels = {{"thread"}};
  target.memories = {{"local"}};
  target.global.bytesPerSecond = 1e9;
  target.fusesMultiplyAdds = true;
  target.fmaPerCycle = 1;
  target.cyclesPerSecond = 1e9;
  target.code = {"riscv64-unknown-elf", "generic-rv64", "+m,+f,+d"};
  return target;
}

const perpend::target::Accelerator &accelerator() {
  static constexpr llvm::StringLiteral configurations[] = {"one"};
  static const perpend::target::Accelerator accelerator{"ashlar", configurations, ".ashlar", describe};
  return accelerator;
}

} // namespace ashlar
