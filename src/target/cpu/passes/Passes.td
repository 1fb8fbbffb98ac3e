//===- Passes.td - the passes of the CPU target ---------------------------===//

#ifndef PERPEND_TARGET_CPU_PASSES_TD
#define PERPEND_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"
include "target/TargetOption.td"

def CpuLowerMain : Pass<"cpu-lower-main", "::mlir::ModuleOp"> {
  let summary = "Replaces main by the functions of the module ABI: bind, sizes, run, and an entry for each kernel";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect"];
  let options = [TargetOption];
}

def CpuExpandFloats : Pass<"cpu-expand-floats", "::mlir::ModuleOp"> {
  let summary = "Computes bf16 in f32, and rounds to bf16 by integer arithmetic or the target's instructions";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect"];
  let options = [TargetOption];
}

def CpuLowerBFloat16 : Pass<"cpu-lower-bfloat16", "::mlir::ModuleOp"> {
  let summary = "Represents values of bf16 as integers of 16 bits once no arithmetic on them is left";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [TargetOption];
}

#endif
