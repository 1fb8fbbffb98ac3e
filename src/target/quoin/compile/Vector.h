//===- Vector.h - nests for the vector unit ---------------------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_VECTOR_H
#define PERPEND_TARGET_QUOIN_COMPILE_VECTOR_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

struct Choices;

/// Fills the stream's section with instructions that compute the nest from buffers at these places, while so many cores
/// do such. Returns why that cannot be, and then the section is empty; empty: it is done.
std::string emitVectorNest(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                           unsigned sharers, Choices &choices);

/// As forEachMatrixWay (Matrix.h).
void forEachVectorWay(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                      unsigned sharers, llvm::function_ref<void()> visit);

/// The nest without nodes that nobody uses, and without conversions of floats that the vector unit does by the way.
Nest withFewerNodes(Nest nest);

/// The same, and with loops joined over which all addresses go on evenly.
Nest simplified(Nest nest);

} // namespace perpend::quoin

#endif
