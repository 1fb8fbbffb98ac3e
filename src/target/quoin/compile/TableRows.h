//===- TableRows.h - rows of a table that data chooses ----------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_TABLEROWS_H
#define PERPEND_TARGET_QUOIN_COMPILE_TABLEROWS_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

/// As emitVectorNest (Vector.h), of a nest with rows.
std::string emitTableRows(const Nest &nest, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream);

/// Moves look-ups behind nests that do not depend on them, such as those that compute numbers of rows for others: loads
/// are in order, and would wait for each number before the next one is loaded.
void delayLookups(std::vector<Nest> &nests);

} // namespace perpend::quoin

#endif
