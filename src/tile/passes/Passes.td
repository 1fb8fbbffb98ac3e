//===- Passes.td - the passes of the tile level ----------------------------===//

#ifndef PERPEND_TILE_PASSES_TD
#define PERPEND_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "target/TargetOption.td"

def TileLowerPrecision : Pass<"tile-lower-precision", "::mlir::ModuleOp"> {
  let summary = "Rounds operands of products and convolutions of f32 to a type of floats, or quantises them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::perpend::graph::GraphDialect"];
  let options = [Option<"precision", "precision", "std::string", "\"f32\"", "type of floats, or int8">];
}

def TilePackOperands : Pass<"tile-pack-operands", "::mlir::ModuleOp"> {
  let summary = "Operands of contractions and convolutions into the form that the target's intrinsics want";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::perpend::graph::GraphDialect", "::perpend::tile::TileDialect"];
  let options = [TargetOption, Option<"precision", "precision", "std::string", "\"f32\"",
                                      "type of the right operands that are preferred">];
}

def TileBuildBlocks : Pass<"tile-build-blocks", "::mlir::ModuleOp"> {
  let summary = "Operators into loops around blocks, each value that is kept in a nest of its own";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::perpend::tile::TileDialect"];
}

def TileScheduleBlocks : Pass<"tile-schedule-blocks", "::mlir::ModuleOp"> {
  let summary = "Transforms kernels of blocks as their trace says, or the rule for their kind";
  let options = [TargetOption];
}

def TileFlattenBlocks : Pass<"tile-flatten-blocks", "::mlir::ModuleOp"> {
  let summary = "Loops around blocks into loops on 1-D buffers, and vectors";
  let options = [TargetOption];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def TileHoistDivisions : Pass<"tile-hoist-divisions", "::mlir::ModuleOp"> {
  let summary = "Moves divisions of indices in front of conditions, below which LLVM's vectoriser does them once";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandIntegers : Pass<"tile-expand-integers"> {
  let summary = "Integer divisions and shifts that are defined for every operand";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandRounding : Pass<"tile-expand-rounding"> {
  let summary = "Rounding to integers of a range, by an addition";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandMath : Pass<"tile-expand-math", "::mlir::ModuleOp"> {
  let summary = "Replaces transcendental functions of f32 by polynomials in arith, and rounding divisions by truncating ones";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect"];
  let options = [TargetOption];
}

def TileLowerIntrinsics : Pass<"tile-lower-intrinsics", "::mlir::ModuleOp"> {
  let summary = "Makes the code of tensor intrinsics, each once, and calls it";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [TargetOption];
}

def TileFuseProducts : Pass<"tile-fuse-products", "::mlir::ModuleOp"> {
  let summary = "Adds products of narrow integers in lanes several at once, as words that are made in registers";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
  let options = [TargetOption];
}

def TileVerifyAccesses : Pass<"tile-verify-accesses", "::mlir::ModuleOp"> {
  let summary = "Accesses outside of their memory do not happen, and are noted";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif
