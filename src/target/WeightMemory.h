//===- WeightMemory.h - Weights of artifacts in one process -----*- C++ -*-===//
//
// Artifacts that a process makes for itself (the graphs of torch.compile) need no weights in their files: their code
// reads them where the process has them. What two artifacts have in the same bytes lies there once
// (docs/decisions/0040-weights-in-the-process.md).
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_WEIGHTMEMORY_H
#define PERPEND_TARGET_WEIGHTMEMORY_H

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>

namespace perpend::target {

/// Threads: any.
class WeightMemory {
public:
  /// The first of some bytes that never change; they live for as long as any copy of this.
  using Piece = std::shared_ptr<const char>;

  /// Memory with these bytes that begins with a line of the cache: what an artifact has already, or else `given` itself
  /// where it is aligned so and has an owner, or a copy. Null: there is no memory.
  Piece place(llvm::ArrayRef<char> bytes, Piece given = nullptr);

private:
  using Hash = std::array<uint8_t, 32>; ///< BLAKE3
  std::mutex mutex;
  std::map<Hash, std::weak_ptr<const char>> pieces;
  size_t mostPieces = 64; ///< before those that nobody uses are left out
};

} // namespace perpend::target

#endif
