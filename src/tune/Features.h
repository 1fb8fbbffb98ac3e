//===- Features.h - features of a scheduled kernel --------------*- C++ -*-===//
//
// The input of learned cost models: a list of numbers, of the same length for every kernel. Most are log2(1 + x), so
// that values which differ by a factor differ by a constant.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_FEATURES_H
#define PERPEND_TUNE_FEATURES_H

#include "target/Machine.h"
#include "tile/ir/Tile.h"

#include <vector>

namespace perpend::tune {

using Features = std::vector<float>;

/// First features of the kernel, then of the two blocks with the most arithmetic; 0 if there is no such block.
const std::vector<std::string> &featureNames();
/// `kernel` consists of scheduled blocks. Symbolic extents count as 32 (tile/cost/KernelCost.h).
Features featuresOf(mlir::func::FuncOp kernel, const target::Machine &target);
} // namespace perpend::tune

#endif
