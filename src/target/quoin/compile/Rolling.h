//===- Rolling.h - factors that come while they are used --------*- C++ -*-===//
//
// A large constant factor comes to LLB in chunks: the first core of a cluster copies a chunk into a ring of slots while
// the others, which have the rows of the product among them, read the chunk before. They meet at each chunk, but units
// do not stop: only loads of the chunk before must be done.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_ROLLING_H
#define PERPEND_TARGET_QUOIN_COMPILE_ROLLING_H

#include "target/quoin/compile/Matrix.h"

namespace perpend::quoin {

/// A ring takes at most one part of so many of LLB.
inline constexpr uint64_t mostRingShare = 8;

/// A chunk of the constant in DDR, and those behind it.
struct Rolling {
  Ring ring;
  uint64_t from = 0;                       ///< of the first chunk
  uint64_t row = 0, rows = 0, pitch = 0;   ///< of a chunk: bytes of a row, and from row to row in DDR
  uint64_t sumBytes = 0, columnsBytes = 0; ///< from chunk to chunk
  int64_t sums = 1, columns = 1;           ///< chunks

  uint64_t copyCycles(const Config &config) const; ///< of one chunk
  int64_t chunks() const { return sums * columns; }
};

/// Ways to cut the constant into chunks of which a ring of so many bytes holds at least two.
std::vector<Rolling> rollingsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned input, uint64_t ringBytes);

/// Whether a simplified nest is a product of two matrices, the right one of which is an input that lies in rows, that
/// can be cut into chunks, and of whose left one a core can have its rows at once.
bool canRoll(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned input, const Config &config);

/// Parts of a product for so many cores, each of whole tiles of rows, and the rows behind them, which all cores share.
struct EvenParts {
  std::vector<Nest> parts;
  int64_t rows = 0, rest = 0; ///< of a part; behind all parts
};

/// nullopt: no rows are left, or cores would write to the same lines.
std::optional<EvenParts> evenPartsOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned input, unsigned cores);

/// What the core of a part has of the rows behind all parts, if chunks are these. nullopt: lines have columns of two.
std::optional<OddRows> oddRowsOf(const EvenParts &even, const Rolling &rolling, size_t part);

/// Copies a chunk, which has a slot of its own, in a section of the first core.
void addEarlyChunk(const Rolling &rolling, int64_t chunk, Stream &stream);
/// Fills the section of the first core with the copies of all chunks from one on, and the meetings. addBehind: adds
/// what comes behind the copies; cores still meet then.
bool emitOtherChunks(const Rolling &rolling, int64_t first, Stream &stream, llvm::function_ref<void()> addBehind);

} // namespace perpend::quoin

#endif
