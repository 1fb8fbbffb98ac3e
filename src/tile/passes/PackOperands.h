//===- PackOperands.h - which operators are packed ---------------*- C++ -*-===//

#ifndef PERPEND_TILE_PASSES_PACKOPERANDS_H
#define PERPEND_TILE_PASSES_PACKOPERANDS_H

#include "mlir/IR/Operation.h"

namespace perpend::tile {

/// Why a contraction or convolution stays as it is on every machine, as what it is: "depthwise convolution". Empty: it
/// is packed where an intrinsic takes it.
llvm::StringRef whyUnpacked(mlir::Operation *op);
} // namespace perpend::tile

#endif
