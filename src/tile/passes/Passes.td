//===- Passes.td - the passes of the tile level ----------------------------===//

#ifndef PERPEND_TILE_PASSES_TD
#define PERPEND_TILE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TilePackContractions : Pass<"tile-pack-contractions", "::mlir::func::FuncOp"> {
  let summary = "Contractions and convolutions of f32 and of integers into the form that the micro-kernels want";
  let dependentDialects = ["::perpend::graph::GraphDialect", "::perpend::tile::TileDialect"];
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
                 Option<"integersPerWord", "integers-per-word", "int64_t", "4", "integers that a multiply-add of a lane takes at most: 4, 2 or 1">];
}

def TileScheduleKernels : Pass<"tile-schedule-kernels", "::mlir::ModuleOp"> {
  let summary = "Chooses each kernel's schedule from the machine's numbers";
  let options = [Option<"lanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
                 Option<"registers", "registers", "int64_t", "32", "vector registers">,
                 Option<"rows", "rows", "int64_t", "8", "rows of a micro-kernel two vectors wide">,
                 Option<"l2Bytes", "l2-bytes", "int64_t", "1048576", "second-level cache of one core">,
                 Option<"flopsPerSecond", "flops-per-second", "double", "1e11", "peak of one thread">,
                 Option<"bytesPerSecond", "bytes-per-second", "double", "2e10", "memory bandwidth of one thread">];
}

def TileLowerKernels : Pass<"tile-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Each kernel's operators into loops on 1-D buffers, as its schedule says";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::perpend::tile::TileDialect"];
}

def TilePlanMemory : Pass<"tile-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value of main a place: input, output, weights or arena";
}

def TileExpandIntegers : Pass<"tile-expand-integers"> {
  let summary = "Integer divisions and shifts that are defined for every operand";
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileExpandMath : Pass<"tile-expand-math"> {
  let summary = "Replaces transcendental functions of f32 by polynomials in arith, and rounding divisions by truncating ones";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"useFma", "fma", "bool", "false", "Fuse multiply-adds; for targets that have the instruction">];
}

def TileLowerMicroKernels : Pass<"tile-lower-ukernels", "::mlir::ModuleOp"> {
  let summary = "Emits each micro-kernel once, in the vector dialect, and calls it";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [Option<"vectorLanes", "lanes", "int64_t", "16", "f32 lanes of a vector register">,
                 Option<"vectorRegisters", "registers", "int64_t", "32", "vector registers">,
                 Option<"accumulatesDots", "accumulates-dots", "bool", "true", "one instruction makes products of integers and adds them to sums">];
}

#endif
