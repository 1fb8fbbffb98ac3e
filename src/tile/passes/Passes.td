//===- Passes.td - the passes of the tile level ----------------------------===//

#ifndef PERPEND_TILE_PASSES_TD
#define PERPEND_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileExpandMath : Pass<"tile-expand-math"> {
  let summary = "Replaces transcendental functions of f32 by polynomials in arith";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TileLowerMicroKernels : Pass<"tile-lower-ukernels", "::mlir::ModuleOp"> {
  let summary = "Emits each micro-kernel once, in the vector dialect, and calls it";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [Option<"vectorLanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">];
}

#endif
