//===- MainSteps.h - main as steps on addresses ---------------*- C++ -*-===//
//
// A host program whose sizes are numbers, and whose order no data decides, is a list of steps on addresses of the main
// memory, and of a near one.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_MAINSTEPS_H
#define PERPEND_TARGET_ACCELERATOR_MAINSTEPS_H

#include "host/Host.h"

#include <string>
#include <vector>

namespace perpend::accelerator {

/// Where something lies.
struct Spot {
  bool isNear = false; ///< in the memory that the target lists before the host's
  uint64_t byte = 0;

  bool operator==(const Spot &) const = default;
};

/// Bytes of the main memory, or of the near one.
struct Range {
  uint64_t byte = 0, bytes = 0;
  uint64_t end() const { return byte + bytes; }
};

/// Memory in which values lie, for the steps [first, last].
struct Arena {
  Spot spot;
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
  bool mayBeNear = false; ///< only kernels touch it, or it is in near memory already
};

/// A value of main.
struct Value {
  mlir::RankedTensorType type;
  Spot spot;
  mlir::ElementsAttr contents = {};   ///< of a constant; null: a run decides
  std::optional<unsigned> arena = {}; ///< in which it lies; nullopt: in weights, inputs or outputs

  uint64_t bytes() const;
};

/// Of a function of the runtime's library, which the scalar core runs.
struct LibraryCall {
  std::string function;           ///< its symbol
  std::string parameters;         ///< JSON
  std::vector<int32_t> signature; ///< runtime/library/CallSignature.h
  std::vector<int64_t> extents;   ///< of inputs, then of outputs
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
  int64_t number = 0;      ///< in which lifetimes count
  std::vector<Range> near; ///< of the values in near memory that live at this step
  std::string location;    ///< "node 'conv1'"
};

/// What code of main on the scalar core needs (runtime/scalar/Main.c): data decides sizes, or what runs next.
struct DynamicMain {
  std::string cause;                         ///< what data decides first: "node 'loop'"
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
  Range weights, arena, near;                     ///< near: the part of the arena that is in the near memory
  std::vector<Arena> arenas;                      ///< of which both parts consist
  uint64_t end = 0;                               ///< of all of these
  uint64_t heapBytes = 0;                         ///< for calls, and values whose sizes a run decides; 0: none
  std::string tables;                             ///< of the model, if main has texts
};

/// Errors: a diagnostic at the operation that a list of steps cannot have.
mlir::FailureOr<MainProgram> mainProgramOf(mlir::ModuleOp module);

} // namespace perpend::accelerator

#endif
