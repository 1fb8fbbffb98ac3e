//===- PackOperands.h - which products are not packed -----------*- C++ -*-===//

#ifndef PERPEND_TILE_PACKING_PACKOPERANDS_H
#define PERPEND_TILE_PACKING_PACKOPERANDS_H

#include "graph/Graph.h"

namespace perpend::tile {

/// Why a product is packed on no machine, as a description of it: "depthwise convolution". Empty: it is packed if an
/// intrinsic accepts it, unless it has few rows and a right operand computed at run time (FewRows.h).
llvm::StringRef whyUnpacked(graph::ProductInterface op);
} // namespace perpend::tile

#endif
