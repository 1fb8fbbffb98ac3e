//===- Ashlar.h - Ashlar as an accelerator of the compiler ------*- C++ -*-===//
#ifndef PERPEND_TEST_ASHLAR_ASHLAR_H
#define PERPEND_TEST_ASHLAR_ASHLAR_H

#include "Machine.h"
#include "target/ProgramMaker.h"
#include "target/accelerator/Nest.h"

namespace ashlar {

const perpend::target::Accelerator &accelerator();
std::unique_ptr<perpend::target::ProgramMaker> makeMaker(const perpend::target::TargetInfo &target);
llvm::Expected<std::unique_ptr<perpend::target::Program>> loadProgram(llvm::StringRef path);

/// Appends instructions that compute the nest from buffers at these addresses. Returns why that cannot be, and then
/// appends nothing; empty: it is done.
std::string emitNest(const perpend::accelerator::Nest &nest, llvm::ArrayRef<uint64_t> addresses,
                     std::vector<Instruction> &instructions);

} // namespace ashlar

#endif
