//===- MainProgram.h - main as steps on addresses ---------------*- C++ -*-===//
//
// A host program whose sizes are numbers, and whose order no data decides, is a list of steps on addresses of DDR.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_QUOIN_COMPILE_MAINPROGRAM_H
#define PERPEND_TARGET_QUOIN_COMPILE_MAINPROGRAM_H

#include "target/accelerator/MainSteps.h"
#include "target/accelerator/Nest.h"
#include "target/quoin/Program.h"
#include "target/quoin/compile/Nest.h"

#include <string>
#include <vector>

namespace perpend::quoin {

using accelerator::LibraryCall;
using accelerator::Range; ///< of DDR, or of LLB

/// Some of each of so many rows of a value.
struct ValuePart {
  uint64_t bytes = 0, pitch = 0; ///< of a row; from row to row
  uint64_t rows = 1;
};

/// A value of main.
struct Value {
  mlir::RankedTensorType type;
  Spot spot;
  mlir::ElementsAttr contents = {};   ///< of a constant; null: a run decides
  std::optional<unsigned> arena = {}; ///< in which it lies; nullopt: in weights, inputs or outputs
  std::optional<ValuePart> part = {}; ///< what a piece of a step reads, the first row of which begins at the spot

  uint64_t bytes() const;
};

/// Memory in which values lie, for the steps [first, last].
struct Arena {
  Spot spot;
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
  bool mayBeNear = false;
};

/// Runs a kernel, calls a function, or copies a value.
struct Step {
  std::string kernel;              ///< empty: a call, or a copy of the only input
  std::optional<LibraryCall> call; ///< of the inputs and outputs
  std::vector<Value> inputs, outputs;
  std::vector<int64_t> symbols;
  int64_t units = 0;
  std::optional<Spot> scratch; ///< one part, with its flags
  std::optional<unsigned> scratchArena;
  int64_t number = 0;                                    ///< in which lifetimes count
  std::vector<Range> near;                               ///< of the values in LLB that live at this step
  std::vector<std::pair<unsigned, unsigned>> overwrites; ///< inputs, and outputs that lie in their places
  std::string location;                                  ///< "node 'conv1'"
  std::optional<Kernel> nests;                           ///< what it computes, if nests can say that
  bool hasPrologue = false;                              ///< nests do more than the kernel (Prologues.h)
  std::string refusal;                                   ///< why the scalar core runs it; empty: the units do
};

/// Calls `visit` with each place of a step, and with the arena that it is part of.
template <typename Visit> void visitSpots(Step &step, Visit visit) {
  for (auto *values : {&step.inputs, &step.outputs})
    for (Value &value : *values)
      visit(value.spot, value.arena);
  if (step.scratch)
    visit(*step.scratch, step.scratchArena);
}

/// What code of main on the scalar core needs (runtime/scalar/Main.c): data decides sizes, or what runs next.
struct DynamicMain {
  std::string cause;                         ///< what data decides first
  std::vector<std::optional<Range>> outputs; ///< nullopt: of a size that a run decides
  std::vector<unsigned> ranks;               ///< of outputs
  std::vector<Spot> buffers;                 ///< in the order of the program
  size_t symbols = 0, growing = 0;
  std::vector<std::string> functions; ///< of the runtime's library that main calls: their symbols
};

struct MainProgram {
  std::optional<DynamicMain> dynamic; ///< then there are no steps
  std::vector<Step> steps;
  std::vector<Range> inputs, outputs;             ///< in the order of the entry's arguments
  std::vector<std::pair<Range, int64_t>> scalars; ///< places that hold a number
  Range weights, arena, near;                     ///< near: the part of the arena that is in LLB
  std::vector<Arena> arenas;                      ///< of which both parts consist
  uint64_t end = 0;                               ///< of all of these
  uint64_t heapBytes = 0;                         ///< for calls, and values whose sizes a run decides; 0: none
  std::string tables;                             ///< of the model, if main has texts
  unsigned inOrder = 0;                           ///< stretches of programs of cores in which no units overlap
};

/// In terms of this machine's memories and instructions.
MainProgram unitsMain(accelerator::MainProgram main);
Kernel unitsKernel(accelerator::Kernel kernel);

} // namespace perpend::quoin

#endif
