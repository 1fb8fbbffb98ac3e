//===- quoin-verify.cpp - checks a program without data for the machine Quoin ---===//

#include "target/quoin/Commands.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::SmallVector<llvm::StringRef> arguments(argv + 1, argv + argc);
  return perpend::quoin::runVerifier(arguments);
}
