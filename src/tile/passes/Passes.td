//===- Passes.td - the passes of the tile level ---------------------------===//

#ifndef PERPEND_TILE_PASSES_TD
#define PERPEND_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"
include "target/TargetOption.td"

def TileLowerPrecision : Pass<"tile-lower-precision", "::mlir::ModuleOp"> {
  let summary = "Rounds the f32 operands of products and convolutions to a smaller float type, or quantises them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::perpend::graph::GraphDialect",
                           "::perpend::tile::TileDialect"];
  let options = [Option<"precision", "precision", "std::string", "\"f32\"", "type of floats, or int8">];
}

def TilePackOperands : Pass<"tile-pack-operands", "::mlir::ModuleOp"> {
  let summary = "Packs the operands of contractions and convolutions as the target's intrinsics require";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::perpend::graph::GraphDialect", "::perpend::tile::TileDialect"];
  let options = [TargetOption, Option<"precision", "precision", "std::string", "\"f32\"",
                                      "type of the right operands that are preferred">];
}

def TileBuildBlocks : Pass<"tile-build-blocks", "::mlir::ModuleOp"> {
  let summary = "Turns operators into loops around blocks, with one loop nest for each value that is stored";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::perpend::tile::TileDialect"];
}

def TileAssignDevices : Pass<"tile-assign-devices", "::mlir::ModuleOp"> {
  let summary = "Gives kernels to the device whose levels their traces bind";
  let options = [TargetOption];
}

def TileScheduleBlocks : Pass<"tile-schedule-blocks", "::mlir::ModuleOp"> {
  let summary = "Transforms kernels of blocks by their given trace, or by the first rule that applies";
  let options = [TargetOption];
}

def TileFlattenBlocks : Pass<"tile-flatten-blocks", "::mlir::ModuleOp"> {
  let summary = "Turns loops around blocks into loops on 1-D buffers, and vectors";
  let options = [TargetOption];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def TileHoistDivisions : Pass<"tile-hoist-divisions", "::mlir::ModuleOp"> {
  let summary = "Moves index divisions out of conditions, under which LLVM's vectoriser computes one lane only";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandIntegers : Pass<"tile-expand-integers"> {
  let summary = "Defines integer divisions and shifts for every operand";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandRounding : Pass<"tile-expand-rounding"> {
  let summary = "Rounds to integers of a limited range by an addition";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandMath : Pass<"tile-expand-math", "::mlir::ModuleOp"> {
  let summary = "Replaces transcendental functions of f32 by polynomials in arith, and rounding divisions by truncating ones";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [TargetOption,
                 ListOption<"kept", "kept", "std::string", "Operations that stay: the machine has instructions for them">];
}

def TileLowerIntrinsics : Pass<"tile-lower-intrinsics", "::mlir::ModuleOp"> {
  let summary = "Generates the code of each tensor intrinsic once, and calls it";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [TargetOption];
}

def TileVerifyAccesses : Pass<"tile-verify-accesses", "::mlir::ModuleOp"> {
  let summary = "Skips accesses outside of their buffer, and records them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

#endif
