//===- ObjectCall.h - implementations in object files -----------*- C++ -*-===//
//
// An implementation without a body is a C function in one of the intrinsic's
// object files. It is called by MLIR's C interface: its name is that of the
// declaration prefixed with _mlir_ciface_, and each buffer is passed as the
// address of a descriptor:
//
//   struct {T *allocated, *aligned; int64_t offset, sizes[RANK], strides[RANK];}
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_INTRINSICS_OBJECTCALL_H
#define PERPEND_TILE_INTRINSICS_OBJECTCALL_H

#include "tile/intrinsics/Intrinsic.h"

#include "mlir/IR/BuiltinOps.h"

namespace perpend::tile {
/// The name of the C function.
std::string nameInObjects(const Intrinsic &intrinsic);

/// Creates a function of the implementation's type that calls the C function. Adds the intrinsic's objects to the
/// module (graph.objects), for linking.
mlir::func::FuncOp callOfObject(mlir::ModuleOp module, const Intrinsic &intrinsic);
} // namespace perpend::tile

#endif
