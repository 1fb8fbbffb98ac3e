//===- Nests.td - operators that maps and reductions compute ---------------===//
//
// Apart from Graph.td, because one pass alone asks for it (MakeNests.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_NESTS_TD
#define PERPEND_GRAPH_NESTS_TD

include "mlir/IR/OpBase.td"

def NestInterface : OpInterface<"NestInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator that is no loops around one value, but may have forms which maps, reductions and look-ups compute.
  }];
  let methods = [
    InterfaceMethod<"Replaces the operator by these. Failure: they take more work than a core that computes one element at a time.",
      "::llvm::LogicalResult", "makeNests", (ins "::mlir::RewriterBase &":$rewriter)>,
    InterfaceMethod<"Whether it is a loop or a branch, which has operators of its own.", "bool", "hasOperators">
  ];
}

#endif
