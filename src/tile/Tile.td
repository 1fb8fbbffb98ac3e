//===- Tile.td - the tile dialect ------------------------------------------===//
//
// Inside a kernel: tensor intrinsics. The rest of the tile level is scf, arith,
// math and memref.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_TD
#define PERPEND_TILE_TD

include "graph/Graph.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::perpend::tile";
  let summary = "Loops over blocks, and tensor intrinsics on them";
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Intrinsics on tensors: contractions in the form that the micro-kernels want
//===----------------------------------------------------------------------===//

/// The operands lie in memory; the second is packed: blocks of cols columns, one after another, of words of 32 bits. A
/// word holds g elements that follow one another in the sum: one f32, two i16, or four i8 (the left operand is ui8 then).
/// Integers are summed as i32, modulo 2^32.
class Tile_PackedOp<string mnemonic>
    : Tile_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ElementInterface, ["needsStoredOperands"]>]> {
  let hasVerifier = 1;
}

def MatmulOp : Tile_PackedOp<"matmul"> {
  let summary = "Matrix product with a packed right-hand side";
  let description = [{
    result[b..., m, n] = sum over k of lhs[b..., m, k] * rhs[b..., n / cols, k / g, (n mod cols) * g + k mod g].
    Shapes: lhs [b..., m, k], rhs [b..., ceil(n / cols), k / g, cols * g], result [b..., m, n]; k is a multiple of g.
    Errors: C1 ranks, C2 element types.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def ConvOp : Tile_PackedOp<"conv"> {
  let summary = "2-d convolution, channels last, without padding, with a packed filter";
  let description = [{
    result[n, y, x, o] = sum over i, j, c of input[n, y*strides[0] + i*dilations[0], x*strides[1] + j*dilations[1], u*C + c] * filter[u, p, i, j, c / g, q * g + c mod g],
    where o = u * (O / groups) + p * cols + q and C = channels / groups is a multiple of g.
    Shapes: input [n, h, w, groups*C], filter [groups, ceil(O / groups / cols), kh, kw, C / g, cols * g], result [n, y, x, O].
    Errors: C1 ranks, C2 element types.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $filter `strides` $strides `dilations` $dilations attr-dict `:` functional-type(operands, $result)";
}

//===----------------------------------------------------------------------===//
// Intrinsics on buffers
//===----------------------------------------------------------------------===//

def MicroKernelOp : Tile_Op<"ukernel", [AttrSizedOperandSegments]> {
  let summary = "A rows x cols block of a contraction, accumulated in registers";
  let description = [{
    c[cOffset + m*cStride + n] = sum over o < counts[0], i < counts[1], k < depth of
        a[aOffset + o*aSteps[0] + i*aSteps[1] + m*aStride + k] *
        b[bOffset + o*bSteps[0] + i*bSteps[1] + (k / g)*cols*g + n*g + k mod g]
    for m < rows, n < cols. A matrix product has counts 1, 1; a convolution sums over its window with them. b is packed: cols consecutive
    words of g elements for every g of k, and depth is a multiple of g. Types: f32 (g = 1); a and b i16, c i32 (g = 2); a unsigned and b signed
    i8, c i32 (g = 4), modulo 2^32. Effects: reads a and b, writes c; c does not overlap them. Errors: C1 counts, C2 block, C3 types.
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

//===----------------------------------------------------------------------===//
// Intrinsics on vectors
//===----------------------------------------------------------------------===//

def DotOp : Tile_Op<"dot", [Pure, AllTypesMatch<["lhs", "rhs"]>, AllTypesMatch<["sums", "result"]>]> {
  let summary = "Dot products of words of integers, one in each lane, added to sums";
  let description = [{
    result[l] = sums[l] + sum over j < g of lhs[l * g + j] * rhs[l * g + j], modulo 2^32. A word is two i16 (g = 2), or four i8 (g = 4), unsigned on
    the left and signed on the right. Shapes: lhs and rhs [lanes * g], sums and result [lanes]. Errors: C1 types and shapes.
  }];
  let arguments = (ins VectorOfRankAndType<[1], [I8, I16]>:$lhs, VectorOfRankAndType<[1], [I8, I16]>:$rhs, VectorOfRankAndType<[1], [I32]>:$sums);
  let results = (outs VectorOfRankAndType<[1], [I32]>:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $sums attr-dict `:` type($lhs) `,` type($sums)";
  let hasVerifier = 1;
}

#endif
