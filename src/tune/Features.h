//===- Features.h - a scheduled kernel as numbers ----------------*- C++ -*-===//
//
// What a learned cost model knows of a schedule: a list of one length for every
// kernel. Most numbers are log2(1 + x), so that a factor is a distance.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TUNE_FEATURES_H
#define PERPEND_TUNE_FEATURES_H

#include "target/TargetInfo.h"
#include "tile/Tile.h"

#include <vector>

namespace perpend::tune {

using Features = std::vector<float>;

/// Of the kernel first; then those of the two blocks with the most arithmetic, 0 where there is none.
const std::vector<std::string> &featureNames();
/// `kernel` is one of blocks, as a schedule left it. A symbolic extent counts as 32 (tile/CostModel.h).
Features featuresOf(mlir::func::FuncOp kernel, const target::TargetInfo &target);
} // namespace perpend::tune

#endif
