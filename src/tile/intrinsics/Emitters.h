//===- Emitters.h - intrinsics whose code is made in C++ --------*- C++ -*-===//
//
// An emitter makes the code of a whole family of intrinsics, of any number of
// rows and columns and any elements. Each has a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_EMITTERS_H
#define PERPEND_TILE_INTRINSICS_EMITTERS_H

#include "tile/intrinsics/Intrinsic.h"

namespace perpend::tile {

struct Emitter {
  llvm::StringLiteral name;
  /// Whether it can make code for what the description says.
  bool (*takes)(const Intrinsic &intrinsic);
  /// Puts the code in the place of the call. Rows and columns are numbers. Errors are emitted at the call.
  mlir::LogicalResult (*lower)(CallIntrinsicOp call, const Intrinsic &intrinsic, const target::TargetInfo &target);
};

/// Null: there is none of this name.
const Emitter *findEmitter(llvm::StringRef name);
std::string emitterNames();

/// A block of sums in vector registers (Registers.cpp).
extern const Emitter registersEmitter;
} // namespace perpend::tile

#endif
