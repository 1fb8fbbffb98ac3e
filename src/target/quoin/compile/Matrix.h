//===- Matrix.h - nests for the matrix unit ---------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_MATRIX_H
#define PERPEND_TARGET_QUOIN_COMPILE_MATRIX_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

/// Appends instructions that compute a nest that is a sum of products, from buffers in DDR at these bytes. Returns why
/// that cannot be, and then appends nothing; empty: it is done.
std::string emitMatrixNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream);

} // namespace perpend::quoin

#endif
