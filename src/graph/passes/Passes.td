//===- Passes.td - the passes of the graph level ---------------------------===//

#ifndef PERPEND_GRAPH_PASSES_TD
#define PERPEND_GRAPH_PASSES_TD

include "mlir/Pass/PassBase.td"

def GraphFuseMaps : Pass<"graph-fuse-maps", "::mlir::func::FuncOp"> {
  let summary = "Merges an elementwise operator into its only user, when that is elementwise too";
}

def GraphFuseKernels : Pass<"graph-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Moves every operator into a kernel function, together with what it can compute on the way";
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let options = [Option<"isEnabled", "fuse", "bool", "true", "off: one kernel per operator">];
}

#endif
