//===- Sampling.h - interpolation inside images -----------------*- C++ -*-===//

#ifndef PERPEND_GRAPH_COMPOSITES_SAMPLING_H
#define PERPEND_GRAPH_COMPOSITES_SAMPLING_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// The elements of one image, inside generate.
class ImageReader {
public:
  virtual ~ImageReader() = default;
  /// The element at whole numbers, which may lie outside.
  virtual Scalar read(llvm::ArrayRef<Scalar> at) = 0;
};

/// A whole number of a float as an index in [0, count), whatever it is.
Scalar wholeIndex(Scalar whole, Scalar count);
/// The mean of the 2^k neighbours of a position, weighted by nearness.
Scalar sampleLinear(ImageReader &image, llvm::ArrayRef<Scalar> at);
} // namespace perpend::graph

#endif
