//===- Passes.td - passes for processors with vector registers ------------===//

#ifndef PERPEND_TARGET_VECTOR_PASSES_TD
#define PERPEND_TARGET_VECTOR_PASSES_TD

include "mlir/Pass/PassBase.td"
include "target/TargetOption.td"

def VectorFuseProducts : Pass<"vector-fuse-products", "::mlir::ModuleOp"> {
  let summary = "Sums several products of narrow integers per lane at once, in words built in registers";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
  let options = [TargetOption];
}

#endif
