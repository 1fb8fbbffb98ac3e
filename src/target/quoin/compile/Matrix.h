//===- Matrix.h - nests for the matrix unit ---------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_MATRIX_H
#define PERPEND_TARGET_QUOIN_COMPILE_MATRIX_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

struct Choices;

/// Fills the stream's section with instructions that compute a nest that is a sum of products, from buffers at these
/// places, while so many cores do such. Returns why that cannot be, and then the section is empty; empty: it is done.
std::string emitMatrixNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                           unsigned sharers, Choices &choices);

/// Rows of a product that are too few for a tile of 16 in each core: each core has some columns of them in each chunk,
/// from `column` on. `row`: from the first row of the core's own part.
struct OddRows {
  int64_t row = 0, rows = 0, column = 0, columns = 0;
};

/// A factor that comes to LLB in chunks while cores compute: so many columns, for so many elements of the sum. Chunks
/// of the same columns follow on one another.
struct Ring {
  unsigned buffer = 0;
  uint64_t byte = 0, chunkBytes = 0; ///< in LLB
  unsigned slots = 2;
  int64_t columns = 1, sum = 1;
  uint32_t cores = 0; ///< that meet before each chunk is read
  OddRows odd = {};   ///< besides the rows of the nest
};

/// Rows of the left factor that a core has at once while the right one comes through a ring.
inline constexpr int64_t mostRowsOfRing = 1024;

/// The same, where the right factor comes through a ring.
std::string emitMatrixNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                           unsigned sharers, Choices &choices, const Ring &ring);

/// Whether it is such a sum, of which each column has its own factors (a depthwise convolution).
bool isDepthwiseNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                     Choices &choices);

/// Whether it is such a sum.
bool isMatrixNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                  Choices &choices);

/// Calls `visit` when the section has the nest in one of the ways from which emitMatrixNest chooses, for all of them.
void forEachMatrixWay(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                      unsigned sharers, llvm::function_ref<void()> visit);

} // namespace perpend::quoin

#endif
