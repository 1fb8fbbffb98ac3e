//===- ObjectCall.h - implementations in object files ------------*- C++ -*-===//
//
// An implementation that has no body is a C function of one of the intrinsic's
// objects. It is called as MLIR's C interface says, by the name of the declaration
// behind _mlir_ciface_, with the address of a descriptor for each buffer:
//
//   struct {T *allocated, *aligned; int64_t offset, sizes[RANK], strides[RANK];}
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_OBJECTCALL_H
#define PERPEND_TILE_INTRINSICS_OBJECTCALL_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::tile {
/// The C function's name.
std::string nameInObjects(const Intrinsic &intrinsic);

/// A new function of the implementation's type that calls the C function. The module gets the intrinsic's objects
/// (graph.objects), with which artifacts are linked.
mlir::func::FuncOp callOfObject(mlir::ModuleOp module, const Intrinsic &intrinsic);
} // namespace perpend::tile

#endif
