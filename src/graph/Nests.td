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
    An operator that is no loops around one value, but has forms which maps, reductions and look-ups compute.
  }];
  let methods = [
    InterfaceMethod<"Builds these in place of the result. Null: they take more work than a core that computes one element at a time.",
      "::mlir::Value", "makeNests", (ins "::perpend::graph::Builder &":$builder)>
  ];
}

#endif
