//===- Overwrites.h - results that lie where operands did -------*- C++ -*-===//
//
// Nests of a step may write a result over an operand only if each element of the operand has been read by then, however
// iterations are cut into tiles and divided among cores. That is proved of the nests, in the form in which they run.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_OVERWRITES_H
#define PERPEND_TARGET_QUOIN_COMPILE_OVERWRITES_H

#include "target/quoin/compile/MainProgram.h"
#include "target/quoin/compile/RowChain.h"

namespace perpend::quoin {

/// Whether two iterations never store the same element, and those along the sum store one.
bool storesEachOnce(const Nest &nest);

/// Whether nests of a kernel may write one buffer where another one lies, which has as many bytes: one nest writes it,
/// each element once; that reads the other one only at the element that the same iteration stores, of a reduction
/// behind the sum; and no nest behind it reads the other one.
bool mayOverwrite(const Kernel &kernel, llvm::ArrayRef<Nest> nests, unsigned operand, unsigned result);

/// Whether nests of a step may run as its values lie.
bool keepsOperands(const Step &step, llvm::ArrayRef<Nest> nests);
/// The same of a chain, of which a core has some rows at once, and loads what it reads of them before it stores any.
bool keepsOperands(const Step &step, const RowChain &chain);

} // namespace perpend::quoin

#endif
