//===- IntrinsicDraws.h - random calls of intrinsics ------------*- C++ -*-===//
//
// Makes random calls of an intrinsic, with the results that its description gives: random extents (small, or near the
// constants of its conditions), strides (any value if the intrinsic leaves them free) and data. The data are chosen so
// that sums are exact in any order.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_COMPILER_INTRINSICDRAWS_H
#define PERPEND_COMPILER_INTRINSICDRAWS_H

#include "interp/Tensor.h"
#include "tile/intrinsics/Intrinsic.h"

namespace perpend {

struct IntrinsicDraw {
  struct Buffer {
    interp::Tensor tensor;
    llvm::SmallVector<int64_t> strides;
    /// Position of the first element, and size of the whole memory, in elements. Guard elements surround it.
    int64_t base = 0, memory = 0;
    /// Positions of the tensor's elements, in row-major order.
    std::vector<int64_t> positions() const;
  };
  /// Extents, in the order of the parameters.
  llvm::SmallVector<int64_t> extents;
  /// Number of values that are summed into one element.
  int64_t depth = 1;
  llvm::SmallVector<Buffer> buffers;
  /// Contents of the last buffer after the call.
  interp::Tensor expected;
  /// The extents as text: "with depth = 3".
  std::string text;
};

/// Errors (diagnostics): no extents satisfy the conditions; for no extents above 1 can the buffers be placed (elements
/// of the last one overlap, or strides are too large); the description cannot be interpreted.
mlir::FailureOr<std::vector<IntrinsicDraw>> drawCalls(const tile::Intrinsic &intrinsic);
} // namespace perpend

#endif
