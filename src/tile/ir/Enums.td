//===- Enums.td - the enumerations of the tile dialect --------------------===//
//
// A file of its own, because tablegen emits code for every enumeration that it
// sees.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_ENUMS_TD
#define PERPEND_TILE_ENUMS_TD

include "mlir/IR/EnumAttr.td"

def LoopKind : I32EnumAttr<"LoopKind", "how the iterations of a loop run", [
    I32EnumAttrCase<"Serial", 0, "serial">, I32EnumAttrCase<"Parallel", 1, "parallel">,
    I32EnumAttrCase<"Vectorized", 2, "vectorized">, I32EnumAttrCase<"Unrolled", 3, "unrolled">]> {
  let cppNamespace = "::perpend::tile";
}

def IteratorKind : I32EnumAttr<"IteratorKind", "what the instances of a block along an iterator have to do with one another", [
    I32EnumAttrCase<"Spatial", 0, "spatial">, I32EnumAttrCase<"Reduced", 1, "reduced">, I32EnumAttrCase<"Opaque", 2, "opaque">]> {
  let cppNamespace = "::perpend::tile";
  let genSpecializedAttr = 0;
}

#endif
