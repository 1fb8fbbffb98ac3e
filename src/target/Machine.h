//===- Machine.h - what the compiler knows about a machine ------*- C++ -*-===//
//
// A machine is data: rules, cost model, planner, tuner and report read these facts and never test a name. What makes
// code for it is apart (CodeGenerator.h), so a machine that no compiler knows, such as test/accelerator's, is described
// by this and a text of intrinsics.
//
// Code asks the memories for what it wants to know ("what can a thread keep near?"), not for a cache by number: one
// machine has three caches, another has one, and a third has none.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TARGET_MACHINE_H
#define PERPEND_TARGET_MACHINE_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace perpend::target {

/// A level of execution, such as the threads of a processor. The primitive `bind` names it.
struct Level {
  std::string name;
  uint64_t count = 0; ///< instances in one of the level outside; 0: as many as a run has
};

enum class MemoryKind {
  Addressed, ///< buffers of kernels can be placed in it by name
  Cache,     ///< keeps what was last used of `global`
};

struct Memory {
  std::string name;
  uint64_t bytes = 0; ///< 0: unlimited; in `memories`, a part of `global`
  MemoryKind kind = MemoryKind::Addressed;
  std::string level = "";    ///< each instance of this level has one; empty: the machine has one
  unsigned lineBytes = 64;   ///< bytes that move together
  double bytesPerSecond = 0; ///< sustained by one thread
};

/// How a machine starts a kernel.
enum class Launch {
  Ranges, ///< instances of the outermost level get ranges of the kernel's units, until none is left
  Grid,   ///< each iteration of a loop that is bound to a level has an instance of its own, which gets its ids
};

/// The memory of the process, in which all values of main may lie.
inline constexpr llvm::StringLiteral hostMemory = "host";

/// Moves bytes from memory to memory of main: `host`, or one of Machine::mainMemories.
struct Link {
  std::string from, to;
  bool isAsynchronous = false;
};

/// Scalar functions that kernels call where the machine has a single instruction, by the names in Machine::functions.
/// (x: f32, n: f32) -> f32: x * 2^n, rounded once, for integers n.
inline constexpr llvm::StringLiteral scaleFunction = "perpend.scale";
/// (x: f32) -> i16: the bits of x as bf16, rounded to nearest even; subnormal numbers become 0.
inline constexpr llvm::StringLiteral roundToBF16Function = "perpend.round_to_bf16";
/// (x: f32) -> i16: the bits of x as f16, rounded to nearest even.
inline constexpr llvm::StringLiteral roundToF16Function = "perpend.round_to_f16";

/// Decisions about values of main in nearer memories (Machine::mainMemories): which of them lie there, and whether
/// chains of kernels run for parts of a batch, so that more of them do.
inline constexpr llvm::StringLiteral residencyDecision = "residency", partsDecision = "parts";

struct Machine {
  std::string name;
  std::vector<std::string> features;  ///< what intrinsics may require
  std::vector<std::string> functions; ///< scalar functions that are one instruction

  std::vector<Level> levels = {{"thread"}}; ///< from the outermost inwards
  /// Without `global`: caches from the innermost outwards, and the memories that schedules can name. Intrinsics say in
  /// which of these their operands must be.
  std::vector<Memory> memories = {{"local"}};
  Memory global = {"global"};     ///< holds the buffers of a kernel's caller
  std::vector<std::string> units; ///< parts of the machine whose instructions intrinsics are
  std::vector<Link> links;

  Launch launch = Launch::Ranges;
  /// Of a device: a launch returns before the kernel has ended.
  bool hasQueue = false;
  /// Machines to which this one hands kernels.
  std::vector<Machine> devices;

  /// Memories beside the host's in which values of main can lie, the nearest first: scratchpads that keep values from
  /// kernel to kernel, and what a device calls its memory. Devices share those that both name.
  std::vector<Memory> mainMemories;
  /// The memories of main (of the machine that hands out kernels) in which kernels of this machine can read operands,
  /// and write results.
  std::vector<std::string> reads = {hostMemory.str()}, writes = {hostMemory.str()};

  /// Decisions that the compiler does not take, by the names that the machine's description lists: a measurement
  /// leaves one out to see what it is worth.
  std::vector<std::string> leftOut;

  unsigned pointerBytes = 8;
  unsigned vectorBytes = 0; ///< 0: no vectors
  unsigned vectorRegisters = 0;
  bool fusesMultiplyAdds = false; ///< has fused multiply-add instructions
  bool hasF64 = true;             ///< has instructions for f64; if not, functions of the C library compute with them
  bool hasF16 = true;             ///< code for it may have values of f16; if not, they are integers of 16 bits
  unsigned fmaPerCycle = 0;       ///< vector multiply-adds per cycle
  unsigned cyclesOfWord = 0;      ///< in which a loaded word of several elements reaches all lanes; 0: by the load
  double accessesPerCycle = 2;    ///< sustained loads and stores of vectors per cycle
  double cyclesOfSum = 4;         ///< latency of an addition
  unsigned gemmRows = 0;          ///< rows of a register tile of f32, two vectors wide; 0: none
  double cyclesPerSecond = 0;

  bool hasFeature(llvm::StringRef feature) const { return llvm::is_contained(features, feature); }
  bool hasUnit(llvm::StringRef unit) const { return llvm::is_contained(units, unit); }
  bool hasFunction(llvm::StringRef function) const { return llvm::is_contained(functions, function); }
  bool takes(llvm::StringRef decision) const { return !llvm::is_contained(leftOut, decision); }

  /// The device of this name, the link between two memories; null: there is none.
  const Machine *device(llvm::StringRef device) const;
  const Link *link(llvm::StringRef from, llvm::StringRef to) const;

  /// The names of the memories of main, the nearest first and the host's last.
  std::vector<llvm::StringRef> mainMemoryNames() const;
  /// Of memories of main, the farthest: the host's, or the last of `mainMemories`.
  llvm::StringRef farthest(llvm::ArrayRef<std::string> memories) const;
  /// The memories behind `from` on the way with the fewest links to one of these; of several the farthest one. Empty:
  /// there is no way.
  std::vector<llvm::StringRef> route(llvm::StringRef from, llvm::ArrayRef<std::string> to) const;
  /// What is wrong with names of memories and devices; empty: nothing.
  std::string flaw() const;

  /// The names of the memories that schedules can name, and of the levels.
  std::vector<std::string> scopes() const;
  std::vector<std::string> levelNames() const;

  /// The caches, from the innermost outwards.
  llvm::SmallVector<const Memory *, 4> caches() const;
  /// Whether each instance of the innermost level has one.
  bool isOwn(const Memory &memory) const { return memory.level == (levels.empty() ? "" : levels.back().name); }
  /// Bytes of the innermost cache; 0: there is none.
  uint64_t nearCacheBytes() const;
  /// Bytes of the outermost cache that an instance of the innermost level has to itself; 0: there is none.
  uint64_t ownCacheBytes() const;
  /// Bytes of the outermost cache, which is in front of `global`; 0: there is none.
  uint64_t lastCacheBytes() const;
  /// The innermost cache that holds so many bytes of an instance of this level (empty: of the whole machine); `global`
  /// if none does. Caches of inner levels hold parts of them only.
  const Memory &innermostHolding(double bytes, llvm::StringRef level) const;
  /// Bandwidth of an instance of the innermost level that reads this many bytes repeatedly: what fits a cache is read
  /// from there.
  double bytesPerSecondOf(double bytes) const;
  /// The line of the innermost cache; of `global` without caches.
  unsigned lineBytes() const;

  /// At least 1, also without vectors.
  unsigned vectorLanes(unsigned elementBytes) const { return std::max(1u, vectorBytes / elementBytes); }
  /// Rows of a product's register tile for which there are registers: accumulators, two vectors of B, one of A.
  unsigned mostGemmRows() const { return (std::max(vectorRegisters, 3u) - 3) / 2; }
  /// Vectors of sums, where the other half of the registers and two more hold operands.
  unsigned mostSums() const { return std::max(vectorRegisters / 2, 3u) - 2; }
  /// Peak of one thread in 32-bit floating point.
  double flopsPerCycle() const { return 2.0 * fmaPerCycle * vectorLanes(4); }
  double flopsPerSecond() const { return flopsPerCycle() * cyclesPerSecond; }

  /// One line for users, without features.
  std::string describe() const;
};

} // namespace perpend::target

#endif
