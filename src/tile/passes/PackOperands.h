//===- PackOperands.h - which operators are packed ---------------*- C++ -*-===//

#ifndef PERPEND_TILE_PASSES_PACKOPERANDS_H
#define PERPEND_TILE_PASSES_PACKOPERANDS_H

#include "graph/Graph.h"

namespace perpend::tile {

/// Why a product stays as it is on every machine, as what it is: "depthwise convolution". Empty: it
/// is packed where an intrinsic takes it, unless few rows read what a run computes (FewRows.h).
llvm::StringRef whyUnpacked(graph::ProductInterface op);
} // namespace perpend::tile

#endif
