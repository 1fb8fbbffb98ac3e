//===- LibraryCalls.td - operators that library functions compute faster ---===//
//
// Apart from Graph.td, because one pass alone asks for it (PlaceCalls.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_LIBRARYCALLS_TD
#define PERPEND_GRAPH_LIBRARYCALLS_TD

include "mlir/IR/OpBase.td"

def LibraryInterface : OpInterface<"LibraryInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator that has forms which a function of the runtime's library, or other operators, compute faster than a
    kernel of its own.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds a call, or other operators, in place of this operator, or of its only user, if that is computed as well.
        Returns the operator in whose place it is, and its result. Null: a kernel is about as fast.
      }], "std::pair<::mlir::Operation *, ::mlir::Value>", "placeCall", (ins "::perpend::graph::Builder &":$builder)>
  ];
}

#endif
