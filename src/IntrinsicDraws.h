//===- IntrinsicDraws.h - intrinsics on random data --------------*- C++ -*-===//
//
// What an intrinsic's description means for extents, strides and data that are
// drawn: extents are small, or at the numbers of its conditions; strides that it
// leaves free are any; data are such that sums are exact in any order.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTRINSICDRAWS_H
#define PERPEND_INTRINSICDRAWS_H

#include "interp/Tensor.h"
#include "tile/intrinsics/Intrinsic.h"

namespace perpend {

struct IntrinsicDraw {
  struct Buffer {
    interp::Tensor tensor;
    llvm::SmallVector<int64_t> strides;
    /// Of the first element, and of all memory, in elements: there is more before and behind than what is addressed.
    int64_t base = 0, memory = 0;
    /// Where an element of the tensor lies, by its row-major position.
    std::vector<int64_t> positions() const;
  };
  /// Of the parameters.
  llvm::SmallVector<int64_t> extents;
  /// Points that are combined into one element.
  int64_t depth = 1;
  llvm::SmallVector<Buffer> buffers;
  /// Of the last buffer, afterwards.
  interp::Tensor expected;
  /// "with depth = 3"
  std::string text;
};

/// Errors: diagnostics: no extents fulfil the conditions, or none above 1 give the buffers a place (elements of the
/// last lie on one another, or far away), or the description cannot be interpreted.
mlir::FailureOr<std::vector<IntrinsicDraw>> drawCalls(const tile::Intrinsic &intrinsic);
} // namespace perpend

#endif
