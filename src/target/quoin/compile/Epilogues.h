//===- Epilogues.h - what is done to each result of a sum -------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_EPILOGUES_H
#define PERPEND_TARGET_QUOIN_COMPILE_EPILOGUES_H

#include "target/quoin/compile/Nest.h"

namespace perpend::quoin {

/// The nests of a kernel, of which one that only reads the results of the reduction before it is part of that.
std::vector<Nest> withEpilogues(Kernel kernel);

/// Nests that read a copy in a wider float type, which only the kernel has, read the original, which nobody writes.
std::vector<Nest> withoutCopies(const Kernel &kernel, std::vector<Nest> nests);

} // namespace perpend::quoin

#endif
