//===- MainProgram.h - main as steps on addresses ---------------*- C++ -*-===//
//
// A host program whose sizes are numbers, and whose order no data decides, is a list of steps on addresses of DDR.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_MAINPROGRAM_H
#define PERPEND_TARGET_QUOIN_COMPILE_MAINPROGRAM_H

#include "host/Host.h"
#include "target/quoin/Program.h"
#include "target/quoin/compile/Nest.h"

#include <string>
#include <vector>

namespace perpend::quoin {

/// Bytes of DDR.
struct Range {
  uint64_t byte = 0, bytes = 0;
  uint64_t end() const { return byte + bytes; }
};

/// A value of main.
struct Value {
  mlir::RankedTensorType type;
  Spot spot;

  uint64_t bytes() const;
};

/// Runs a kernel, or copies a value.
struct Step {
  std::string kernel; ///< empty: a copy of the only input
  std::vector<Value> inputs, outputs;
  std::vector<int64_t> symbols;
  int64_t units = 0;
  std::optional<Spot> scratch; ///< one part, with its flags
  std::string location;        ///< "node 'conv1'"
  std::optional<Kernel> nests; ///< what it computes, if nests can say that
  std::string refusal;         ///< why the scalar core runs it; empty: the units do
};

/// What code of main on the scalar core needs (runtime/scalar/Main.c): data decides sizes, or what runs next.
struct DynamicMain {
  std::vector<std::optional<Range>> outputs; ///< nullopt: of a size that a run decides
  std::vector<unsigned> ranks;               ///< of outputs
  std::vector<Spot> buffers;                 ///< in the order of the program
  size_t symbols = 0, growing = 0;
};

struct MainProgram {
  std::optional<DynamicMain> dynamic; ///< then there are no steps
  std::vector<Step> steps;
  std::vector<Range> inputs, outputs;             ///< in the order of the entry's arguments
  std::vector<std::pair<Range, int64_t>> scalars; ///< places that hold a number
  Range weights, arena, near;                     ///< near: the part of the arena that is in LLB
  uint64_t end = 0;                               ///< of all of these
  unsigned inOrder = 0;                           ///< stretches of programs of cores in which no units overlap
};

/// Errors: a diagnostic at the operation that a list of steps cannot have.
mlir::FailureOr<MainProgram> mainProgramOf(mlir::ModuleOp module);

} // namespace perpend::quoin

#endif
