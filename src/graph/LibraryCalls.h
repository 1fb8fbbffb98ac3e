//===- LibraryCalls.h - operators that library functions compute -*- C++ -*-===//

#ifndef PERPEND_GRAPH_LIBRARYCALLS_H
#define PERPEND_GRAPH_LIBRARYCALLS_H

#include "graph/Graph.h"
#include "support/SymbolicInt.h"

#include "graph/GraphLibraryInterface.h.inc"

namespace perpend::graph {
/// Whether kernels compute an order along lines of this extent, of keys with these bits, about as fast as the library
/// does: few elements of at most 32 bits.
bool areShortLines(const SymbolicInt &extent, unsigned bits);

/// Implements LibraryInterface for operators. NarrowReductions.cpp: for reductions.
void attachLibraryCalls(mlir::MLIRContext *context);
void attachNarrowReductions(mlir::MLIRContext *context);
} // namespace perpend::graph

#endif
