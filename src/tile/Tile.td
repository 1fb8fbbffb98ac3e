//===- Tile.td - the tile dialect ------------------------------------------===//
//
// Inside a kernel: tensor intrinsics. The rest of the tile level is scf, arith,
// math and memref.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_TD
#define PERPEND_TILE_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::perpend::tile";
  let summary = "Loops over blocks, and tensor intrinsics on them";
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

def MicroKernelOp : Tile_Op<"ukernel", [AttrSizedOperandSegments]> {
  let summary = "A rows x cols block of a contraction, accumulated in registers";
  let description = [{
    c[cOffset + m*cStride + n] = sum over o < counts[0], i < counts[1], k < depth of
        a[aOffset + o*aSteps[0] + i*aSteps[1] + m*aStride + k] * b[bOffset + o*bSteps[0] + i*bSteps[1] + k*cols + n]
    for m < rows, n < cols. A matrix product has counts 1, 1; a convolution sums over its window with them. b is packed: cols consecutive
    values for each k. Types: f32. Effects: reads a and b, writes c; c does not overlap them.
  }];
  let arguments = (ins AnyMemRef:$a, Index:$aOffset, Index:$aStride, AnyMemRef:$b, Index:$bOffset, AnyMemRef:$c, Index:$cOffset,
                       Index:$cStride, Index:$depth, Variadic<Index>:$counts, Variadic<Index>:$aSteps, Variadic<Index>:$bSteps,
                       I64Attr:$rows, I64Attr:$cols);
  let assemblyFormat = [{
    $a `[` $aOffset `,` $aStride `]` `,` $b `[` $bOffset `]` `,` $c `[` $cOffset `,` $cStride `]` `depth` $depth
    `window` `(` $counts `)` `steps` `(` $aSteps `)` `(` $bSteps `)` `block` $rows `x` $cols attr-dict `:` type($a) `,` type($b) `,` type($c)
  }];
  let hasVerifier = 1;
}

#endif
