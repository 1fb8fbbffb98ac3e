//===- Fractals.h - where elements lie in L0A, L0B and L0C ------*- C++ -*-===//

#ifndef PERPEND_TARGET_QUOIN_SIMULATOR_FRACTALS_H
#define PERPEND_TARGET_QUOIN_SIMULATOR_FRACTALS_H

#include "target/quoin/Config.h"

namespace perpend::quoin {

/// Rows (L0A) or columns (L0B) of k elements: blocks of 16 of them, each a row of fractals of 32 bytes along k.
struct FractalLayout {
  uint64_t k;
  unsigned elementBytes;

  uint64_t fractalsOfBlock() const { return (k * elementBytes + 31) / 32; }
  uint64_t bytes(uint64_t rows) const { return (rows + 15) / 16 * fractalsOfBlock() * fractalBytes; }
  /// Of 32 bytes of a row, from its element k that is a multiple of 32 bytes.
  uint64_t offset(uint64_t row, uint64_t index) const {
    uint64_t byte = index * elementBytes;
    return (row / 16 * fractalsOfBlock() + byte / 32) * fractalBytes + row % 16 * 32 + byte % 32;
  }
};

/// Of an accumulator; the matrix has so many columns.
inline uint64_t tileOffset(uint64_t row, uint64_t column, uint64_t columns) {
  uint64_t tile = row / 16 * ((columns + 15) / 16) + column / 16;
  return tile * tileBytes + row % 16 * 64 + column % 16 * 4;
}
inline uint64_t tilesBytes(uint64_t rows, uint64_t columns) { return (rows + 15) / 16 * ((columns + 15) / 16) * tileBytes; }

} // namespace perpend::quoin

#endif
