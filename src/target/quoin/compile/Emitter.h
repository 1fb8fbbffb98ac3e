//===- Emitter.h - instructions for the steps of main -----------*- C++ -*-===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_EMITTER_H
#define PERPEND_TARGET_QUOIN_COMPILE_EMITTER_H

#include "target/quoin/Program.h"
#include "target/quoin/compile/Decisions.h"
#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

/// The functions of scalar code that the steps call.
std::vector<std::string> scalarEntriesOf(const MainProgram &main);

/// Notes in each step why no unit runs it. Errors: the device has not so much memory.
llvm::Expected<Program> emitProgram(MainProgram &main, const Config &config, const Decisions &decisions,
                                    ScalarCode scalar);

} // namespace perpend::quoin

#endif
