//===- TargetInfo.h - What the compiler knows about a machine ---*- C++ -*-===//
//
// A target is data: the rules of the schedules and of the cost model read these numbers and never ask for a name.
// Targets.def holds the list. A target resolves to the same TargetInfo on every machine, `host` included, so that an
// artifact does not depend on where it was made: `host` becomes the canonical text of what was found (Host.h).
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

/// Memory that a kernel has for itself, beside `global`, that of its caller.
struct Memory {
  std::string name;
  uint64_t bytes = 0; ///< 0: as many as it needs, in the memory that `global` is in, too
};

/// Functions of numbers that kernels call for what is one instruction (cpu/Lanes.h).
/// (x: f32, n: f32) -> f32: x * 2^n, rounded once, for integers n.
inline constexpr llvm::StringLiteral scaleFunction = "perpend.scale";
/// (x: f32) -> i16: x as the bits of a bf16, to nearest even, subnormal numbers as 0.
inline constexpr llvm::StringLiteral roundToBF16Function = "perpend.round_to_bf16";
/// (x: f32) -> i16: x as the bits of an f16, to nearest even.
inline constexpr llvm::StringLiteral roundToF16Function = "perpend.round_to_f16";

struct TargetInfo {
  std::string name;             ///< canonical text, e.g. "x86-64-v3,+avxvnni,l2=2M"; resolves to this TargetInfo again
  std::string triple;           ///< e.g. "x86_64-unknown-linux-gnu"; empty: no code is made, the interpreter runs it
  std::string cpu;              ///< LLVM's -mcpu
  std::string features;         ///< LLVM's -mattr on top of cpu, may be empty
  std::vector<std::string> isa; ///< every extension generated code may use, in the order of runtime/IsaX86.def

  unsigned vectorBytes = 0; ///< 0: it has no vectors
  unsigned vectorRegisters = 0;
  uint64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;
  unsigned lineBytes = 64;
  double bytesPerCycleOfL2 = 32, bytesPerCycleOfL3 = 16; ///< what one thread sustains, about, on all of Targets.def
  bool fusesMultiplyAdds = false;                        ///< with one rounding, in one instruction
  bool scalesByPowers = false;                           ///< has scaleFunction
  bool roundsToBF16 = false;                             ///< has roundToBF16Function
  bool roundsToF16 = false;                              ///< has roundToF16Function
  unsigned fmaPerCycle = 0;                              ///< vector multiply-adds
  unsigned gemmRows = 0;     ///< of a product's register tile in 32-bit floating point, two vectors wide; 0: none
  double bytesPerSecond = 0; ///< reading memory with one thread
  /// What schedules may name; an intrinsic says where its operands lie.
  std::vector<Memory> memories = {{"local"}};
  double cyclesPerSecond = 0;

  bool hasIsa(llvm::StringRef extension) const;
  /// The names of the memories.
  std::vector<std::string> scopes() const;
  /// 1 where there are no vectors.
  unsigned vectorLanes(unsigned elementBytes) const { return std::max(1u, vectorBytes / elementBytes); }
  /// Rows of a product's register tile for which there are registers: accumulators, two vectors of B, one of A.
  unsigned mostGemmRows() const { return (std::max(vectorRegisters, 3u) - 3) / 2; }
  /// Vectors of sums, where the other half of the registers and two more hold operands.
  unsigned mostSums() const { return std::max(vectorRegisters / 2, 3u) - 2; }
  /// Peak of one thread in 32-bit floating point.
  double flopsPerCycle() const { return 2.0 * fmaPerCycle * vectorLanes(4); }
  double flopsPerSecond() const { return flopsPerCycle() * cyclesPerSecond; }
  /// Reading so much again and again with one thread: what a cache holds is not read from memory.
  double bytesPerSecondOf(double bytes) const {
    return bytes <= double(l2Bytes)   ? bytesPerCycleOfL2 * cyclesPerSecond
           : bytes <= double(l3Bytes) ? bytesPerCycleOfL3 * cyclesPerSecond
                                      : bytesPerSecond;
  }
  /// One line for people.
  std::string describe() const;
};

/// The names in Targets.def, in order.
std::vector<llvm::StringRef> targetNames();

/// `host`, or a name of Targets.def, each optionally followed by features and sizes of caches: "x86-64-v3,+avxvnni",
/// "sapphirerapids,-amx", "icelake-server,l2=2M". A feature is a name of runtime/IsaX86.def, or `amx` for its three
/// parts. Errors: unknown name (lists the names and the nearest), unknown feature, feature without sign, no size of a
/// cache, several machines.
llvm::Expected<TargetInfo> resolveTarget(llvm::StringRef text);

/// A machine, or several behind each other: an item with a sign or '=' belongs to the machine before it, any other
/// begins the next. They come in the order in which a processor prefers them: those with wider vectors first, then
/// those with more extensions, then as named. Errors: those of resolveTarget; an item that belongs to no machine; a
/// machine that is named twice.
llvm::Expected<std::vector<TargetInfo>> resolveTargets(llvm::StringRef text);

/// What every machine of the list runs.
TargetInfo baselineTarget();

/// Whether there is a feature of this name in runtime/IsaX86.def. Errors: none, with the nearest.
llvm::Error checkFeature(llvm::StringRef name);

} // namespace perpend::target

#endif
