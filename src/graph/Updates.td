//===- Updates.td - blocks written into a tensor ---------------------------===//
//
// The update, and the interface of operators that write parts of a tensor. Apart
// from Ops.td, because states alone need them (States.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_UPDATES_TD
#define PERPEND_GRAPH_UPDATES_TD

include "graph/Graph.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def UpdateInterface : OpInterface<"UpdateInterface"> {
  let cppNamespace = "::perpend::graph";
  let description = [{
    An operator whose (single) result is its first operand with other elements in places, or behind it. So where the first operand's memory may be
    overwritten, nothing but these has to be written. They are blocks along one dimension, or slices at the positions of an index tensor.
  }];
  let methods = [
    InterfaceMethod<"The dimension along which the blocks lie.", "unsigned", "updatedDim", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"The blocks; they do not overlap.", "::llvm::SmallVector<::perpend::graph::UpdatedBlock>", "updatedBlocks", (ins)>,
    InterfaceMethod<"The operand [k..., r] with positions in the first r dimensions, at which the slices [k..., rest...] of the only block go, as in graph.scatter.",
      "std::optional<unsigned>", "positionsOperand", (ins), "", [{ return std::nullopt; }]>,
    InterfaceMethod<"Whether this operator is one: some are in a part of their forms.", "bool", "isUpdate", (ins), "", [{ return true; }]>
  ];
  let extraClassOf = [{ return $_op.isUpdate(); }];
}

def UpdateOp : Op<GraphDialect, "update", [Pure, DeclareOpInterfaceMethods<ElementInterface>, DeclareOpInterfaceMethods<RequirementInterface>,
                                           DeclareOpInterfaceMethods<UpdateInterface, ["updatedDim"]>]> {
  let summary = "A tensor with a block written into it";
  let description = [{
    result = input, but along `axis` the elements from `offset` on are those of `block`. The result may be longer than the input along `axis`: then it
    ends where the block ends, and the block begins inside the input or just behind it. Example: a row appended to a cache,
    `graph.update %cache, %row at <["length"]> axis 0`. Errors: C1 axis out of range, C2 other dimensions differ, C3 one offset, C4 the block ends outside of the result.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$block, ShapeAttr:$offset, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $block `at` $offset `axis` $axis attr-dict `:` functional-type(operands, $result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ bool looksForElements() { return true; } }];
}

#endif
