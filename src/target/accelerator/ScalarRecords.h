//===- ScalarRecords.h - what programs tell their scalar core ---*- C++ -*-===//
//
// A program calls functions of runtime/scalar with the address of a record: lists of words that say which kernel or
// function runs on what. These are the records of the steps of main.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_SCALARRECORDS_H
#define PERPEND_TARGET_ACCELERATOR_SCALARRECORDS_H

#include "target/accelerator/MainSteps.h"

namespace perpend::accelerator {

/// The memory of a program while it is made. Addresses are those that the scalar core sees.
class ScalarMemory {
public:
  virtual ~ScalarMemory() = default;
  /// Of initial data, at a multiple of 64 bytes.
  virtual uint64_t place(llvm::StringRef bytes) = 0;
  /// Of memory that the program may write.
  virtual uint64_t reserve(llvm::StringRef name, uint64_t bytes) = 0;
  virtual uint64_t addressOf(const Spot &spot) const = 0;
  virtual uint64_t addressOfFunction(llvm::StringRef name) const = 0;
};

struct ScalarCall {
  std::string function;
  uint64_t record = 0; ///< its address
};

/// The functions of scalar code that the steps may call, those of kernels included.
std::vector<std::string> scalarFunctionsOf(const MainProgram &main);

/// What calls share (struct Run of runtime/scalar/Run.h): its address. Before the first step, if heapBytes is not 0.
uint64_t placeRun(ScalarMemory &memory, const MainProgram &main);
constexpr llvm::StringLiteral beginFunction = "perpend_scalar_begin"; ///< gets the address of what calls share

/// A kernel, a function of the library, or a copy. `run`: the address of what calls share.
ScalarCall callOf(ScalarMemory &memory, const Step &step, uint64_t run);

} // namespace perpend::accelerator

#endif
