//===- TargetInfo.h - What the compiler knows about a machine ---*- C++ -*-===//
//
// A target is data: the rules for schedules and the cost model read these numbers and never test a name. Targets.def
// has the list. A target resolves to the same TargetInfo on every machine, `host` included, so that an artifact does
// not depend on the machine that made it: `host` is replaced by the canonical text of the detected machine (Host.h).
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_TARGETINFO_H
#define PERPEND_TARGET_TARGETINFO_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace perpend::target {

/// A memory that belongs to a kernel, as opposed to `global`, which belongs to its caller.
struct Memory {
  std::string name;
  uint64_t bytes = 0; ///< 0: unlimited, in the same memory as `global`
};

/// Scalar functions that kernels call where the target has a single instruction (cpu/Lanes.h).
/// (x: f32, n: f32) -> f32: x * 2^n, rounded once, for integers n.
inline constexpr llvm::StringLiteral scaleFunction = "perpend.scale";
/// (x: f32) -> i16: the bits of x as bf16, rounded to nearest even; subnormal numbers become 0.
inline constexpr llvm::StringLiteral roundToBF16Function = "perpend.round_to_bf16";
/// (x: f32) -> i16: the bits of x as f16, rounded to nearest even.
inline constexpr llvm::StringLiteral roundToF16Function = "perpend.round_to_f16";

struct TargetInfo {
  std::string name;             ///< canonical text, e.g. "x86-64-v3,+avxvnni,l2=2M"; resolves to this TargetInfo again
  std::string triple;           ///< e.g. "x86_64-unknown-linux-gnu"; empty: no code is made, the interpreter runs it
  std::string cpu;              ///< LLVM's -mcpu
  std::string features;         ///< LLVM's -mattr on top of cpu, may be empty
  std::vector<std::string> isa; ///< extensions that generated code may use, in the order of runtime/IsaX86.def

  unsigned vectorBytes = 0; ///< 0: no vectors
  unsigned vectorRegisters = 0;
  uint64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  unsigned lineBytes = 64;
  double bytesPerCycleOfL2 = 32, bytesPerCycleOfL3 = 16; ///< sustained by one thread; typical of all of Targets.def
  bool fusesMultiplyAdds = false;                        ///< has fused multiply-add instructions
  bool scalesByPowers = false;                           ///< has scaleFunction
  bool roundsToBF16 = false;                             ///< has roundToBF16Function
  bool roundsToF16 = false;                              ///< has roundToF16Function
  unsigned fmaPerCycle = 0;                              ///< vector multiply-adds per cycle
  unsigned gemmRows = 0;                                 ///< rows of a register tile of f32, two vectors wide; 0: none
  double bytesPerSecond = 0;                             ///< bandwidth of one thread reading memory
  /// The memories that schedules can name; intrinsics say in which their operands must be.
  std::vector<Memory> memories = {{"local"}};
  double cyclesPerSecond = 0;

  bool hasIsa(llvm::StringRef extension) const;
  /// The names of the memories.
  std::vector<std::string> scopes() const;
  /// At least 1, also without vectors.
  unsigned vectorLanes(unsigned elementBytes) const { return std::max(1u, vectorBytes / elementBytes); }
  /// Rows of a product's register tile for which there are registers: accumulators, two vectors of B, one of A.
  unsigned mostGemmRows() const { return (std::max(vectorRegisters, 3u) - 3) / 2; }
  /// Vectors of sums, where the other half of the registers and two more hold operands.
  unsigned mostSums() const { return std::max(vectorRegisters / 2, 3u) - 2; }
  /// Peak of one thread in 32-bit floating point.
  double flopsPerCycle() const { return 2.0 * fmaPerCycle * vectorLanes(4); }
  double flopsPerSecond() const { return flopsPerCycle() * cyclesPerSecond; }
  /// Bandwidth of one thread reading this many bytes repeatedly: what fits a cache is read from there.
  double bytesPerSecondOf(double bytes) const {
    return bytes <= double(l2Bytes)   ? bytesPerCycleOfL2 * cyclesPerSecond
           : bytes <= double(l3Bytes) ? bytesPerCycleOfL3 * cyclesPerSecond
                                      : bytesPerSecond;
  }
  /// One line for users.
  std::string describe() const;
};

/// The names in Targets.def, in order.
std::vector<llvm::StringRef> targetNames();

/// `host`, or a name of Targets.def, each optionally followed by features and sizes of caches: "x86-64-v3,+avxvnni",
/// "sapphirerapids,-amx", "icelake-server,l2=2M". A feature is a name of runtime/IsaX86.def, or `amx` for its three
/// parts. Errors: unknown name (lists the names and the nearest), unknown feature, feature without sign, no size of a
/// cache, several machines.
llvm::Expected<TargetInfo> resolveTarget(llvm::StringRef text);

/// Resolves one machine, or several separated by commas: an item with a sign or '=' belongs to the machine before it,
/// any other starts the next. Sorted in the order in which a processor prefers them: wider vectors first, then more
/// extensions, then the given order. Errors: those of resolveTarget; an item that belongs to no machine; a machine
/// named twice.
llvm::Expected<std::vector<TargetInfo>> resolveTargets(llvm::StringRef text);

/// The base level, which every machine of the list can run.
TargetInfo baselineTarget();

/// Checks for a feature of this name in runtime/IsaX86.def. Errors: there is none (names the nearest).
llvm::Error checkFeature(llvm::StringRef name);

} // namespace perpend::target

#endif
