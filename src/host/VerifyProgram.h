//===- VerifyProgram.h - what a host program must hold ----------*- C++ -*-===//

#ifndef PERPEND_HOST_VERIFYPROGRAM_H
#define PERPEND_HOST_VERIFYPROGRAM_H

#include "host/Host.h"
#include "target/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::host {
/// Whether the entries of a module are programs that can run: kernels and segments exist and fit, symbols have values
/// where they are used, and no plan lets a value overwrite another one that is still read. Errors: a diagnostic, with
/// advice where a user may have written the plan.
mlir::LogicalResult verifyPrograms(mlir::ModuleOp module);

/// Whether the machine has the memories, devices and links of the programs, which are valid otherwise.
/// VerifyDevices.cpp
mlir::LogicalResult verifyDevices(mlir::ModuleOp module, const target::Machine &machine);

/// The part of it that is about names: binding, symbols, outputs and rooms. VerifyEntry.cpp
mlir::LogicalResult verifyEntry(EntryOp entry);

/// The part that is about states: their arguments, and that nothing reads an old value of which a part has been
/// overwritten. VerifyStates.cpp
mlir::LogicalResult verifyStates(EntryOp entry);

/// Whether a run may overwrite elements that a state has before it, in its memory; else it only appends.
bool overwrites(EntryOp entry, unsigned state);

/// Bytes of a place, from the start of the memory that it is in: a buffer, a room, or an argument. A state that is
/// updated in place is one memory, that of its input.
struct PlaceRange {
  mlir::Value memory;
  SymbolicInt begin, end;
  bool isState = false;

  /// Whether two ranges of one memory provably share no byte.
  bool isApartFrom(const PlaceRange &other) const;
};
PlaceRange rangeOf(mlir::Value place);
} // namespace perpend::host

#endif
