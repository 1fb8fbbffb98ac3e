//===- RowChain.h - kernels whose rows stay on a core -----------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_ROWCHAIN_H
#define PERPEND_TARGET_QUOIN_COMPILE_ROWCHAIN_H

#include "target/quoin/compile/Nest.h"
#include "target/quoin/compile/Stream.h"

namespace perpend::quoin {

/// Nests over the same rows, each of which reads what earlier ones leave for its own row: maps of rows, reductions of
/// them, and maps of what these leave. All have the loops over rows, and then those along them, if any.
struct RowChain {
  std::vector<Nest> nests;
  unsigned rows = 0;    ///< loops over them
  int64_t columns = 1;  ///< elements of a row
  unsigned between = 0; ///< the first buffer that only these nests use
};

/// nullopt: the kernel is no chain of several nests.
std::optional<RowChain> rowChainOf(const Kernel &kernel);

/// As divisionsOf (Cores.h).
std::vector<std::vector<RowChain>> divisionsOf(const RowChain &chain, llvm::ArrayRef<Spot> places, unsigned cores);

/// Fills the stream's section; values between nests have no place in memory. Returns why that cannot be, and then the
/// section is empty.
std::string emitRowChain(const RowChain &chain, llvm::ArrayRef<Spot> places, const Config &config, Stream &stream,
                         unsigned sharers);

} // namespace perpend::quoin

#endif
