//===- Choices.h - tiles of nests that have been seen -----------*- C++ -*-===//
//
// Models repeat their layers. What was chosen for a nest holds for all of the same shape.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_CHOICES_H
#define PERPEND_TARGET_QUOIN_COMPILE_CHOICES_H

#include "target/quoin/compile/MatrixNest.h"
#include "target/quoin/compile/VectorNest.h"

#include <map>

namespace perpend::quoin {

struct Choices {
  std::map<std::string, Tiling> products;
  std::map<std::string, VectorTiling> vectors;
  struct Divided {
    unsigned option = 0; ///< twice the number of the one of divisionsOf, plus 1 with staging
    uint64_t cycles = 0; ///< of the first part
  };
  std::map<std::string, Divided> divisions; ///< among some cores
};

/// All of a nest but where in memory its buffers begin, and of how many cores compute such at the same time.
std::string shapeOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned sharers);

} // namespace perpend::quoin

#endif
