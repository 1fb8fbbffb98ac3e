//===- Tile.td - the tile dialect -----------------------------------------===//
//
// Kernels at the tile level are loops around blocks on buffers, inside which scalars are computed by arith and math.
// The dialect also has two operators of the graph level, matmul and conv on packed operands, because intrinsics define
// how operands are packed.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_TD
#define PERPEND_TILE_TD

include "graph/Graph.td"
include "tile/ir/Enums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TileDialect : Dialect {
  let name = "tile";
  let cppNamespace = "::perpend::tile";
  let summary = "Loops around blocks on buffers, and tensor intrinsics";
  let useDefaultTypePrinterParser = 1;
  // Dialects that the texts of intrinsics use.
  let dependentDialects = ["::perpend::graph::GraphDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
  let extraClassDeclaration = [{
    /// The tensor intrinsics that schedules can name (intrinsics/Intrinsic.h); loaded on first use.
    ::std::shared_ptr<::perpend::tile::IntrinsicLibrary> intrinsics;
    ::std::mutex intrinsicsMutex; ///< around that first time: passes of kernels may run side by side
  }];
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<TileDialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Contractions on packed operands, in the form that micro-kernels read
//===----------------------------------------------------------------------===//

/// The second operand is packed into panels of `cols` columns, one panel after another. A panel consists of words of g
/// elements that are consecutive along the sum; without a last dimension, g is 1. Operand elements are extended to the
/// result's type; integer sums wrap around.
class Tile_PackedOp<string mnemonic, list<Trait> traits = [], string moreDeclarations = "">
    : Tile_Op<mnemonic, !listconcat(traits, [Pure, DeclareOpInterfaceMethods<ElementInterface, ["needsStoredOperands"]>,
                                             DeclareOpInterfaceMethods<ReductionInterface>,
                                             DeclareOpInterfaceMethods<RequirementInterface>])> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The panel of the packed operand; none if its last dimensions do not form one (C3).
    std::optional<::perpend::tile::Panel> panel();
  }] # moreDeclarations;
}

def MatmulOp : Tile_PackedOp<"matmul", [DeclareOpInterfaceMethods<DimensionFlowInterface>]> {
  let summary = "Matrix product with a packed right-hand side";
  let description = [{
    result[b..., m, n] = sum over k of lhs[b..., m, k] * rhs[b..., n / cols, k / g, n mod cols, k mod g].
    Shapes: lhs [b..., m, k], rhs [b..., ceil(n / cols), k / g, cols, g] or, for g = 1, [b..., ceil(n / cols), k, cols], result [b..., m, n];
    k is a multiple of g.
    Errors: C1 ranks, C2 element types, C3 no panels, C4 extents that do not fit.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, $result)";
}

def ConvOp : Tile_PackedOp<"conv", [], "bool isGrouped();"> {
  let summary = "2-d convolution, channels last, without padding, with a packed filter";
  let description = [{
    result[n, y, x, o] = sum over i, j, c of input[n, y*strides[0] + i*dilations[0], x*strides[1] + j*dilations[1], u*C + c] * filter[u, p, i, j, c / g, q, c mod g],
    where o = p * cols + q and C = channels / groups is a multiple of g; with more than one group, result[n, y, x, u, o].
    Shapes: input [n, h, w, groups*C], filter [groups, ceil(O / cols), kh, kw, C / g, cols, g], without the last dimension for g = 1, result [n, y, x, O] or [n, y, x, groups, O].
    Every window lies inside the input. Errors: C1 ranks, C2 element types, C3 no panels, groups, strides or dilations, C4 extents that do not fit.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `,` $filter `strides` $strides `dilations` $dilations attr-dict `:` functional-type(operands, $result)";
}

//===----------------------------------------------------------------------===//
// Calls of intrinsics on buffers
//===----------------------------------------------------------------------===//

def CallIntrinsicOp : Tile_Op<"call_intrinsic", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "A tensor intrinsic on parts of buffers";
  let description = [{
    Computes what the intrinsic of this name describes (intrinsics/Intrinsic.h) on buffers whose first elements lie at bases, in elements; strides
    are those of all dimensions of the first buffer, then of the second, and so on; extents are the values of the
    intrinsic's parameters in the order of their names. With `ahead`, it is one of `parts` calls in which the code is to ask for
    the elements that the second buffer has from there on: as many as this call reads of it, divided by `parts`.
    Effects: reads all buffers, writes the last. Errors: C1 lengths of lists, C2 a position ahead without parts, or of no buffer.
  }];
  let arguments = (ins StrAttr:$name, Variadic<AnyMemRef>:$buffers, Variadic<Index>:$bases, Variadic<Index>:$strides,
                       Variadic<Index>:$extents, Optional<Index>:$ahead, OptionalAttr<I64Attr>:$parts);
  let assemblyFormat = [{
    $name $buffers `at` `(` $bases `)` `strides` `(` $strides `)` `extents` `(` $extents `)`
    (`ahead` `(` $ahead^ `in` $parts `)`)? attr-dict `:` type($buffers)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loops around blocks on buffers
//===----------------------------------------------------------------------===//
//
// Indices, extents and conditions are expressions (support/SymbolicInt) over the model's symbols and index values, such
// as `%i * 8 + n`. In an attribute, the symbol "%k" stands for the operation's k-th index operand.

def BufferType : TypeDef<TileDialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Memory with a shape, an element type and a scope";
  let description = [{
    Elements have an index in each dimension; where they lie is decided when buffers are made flat (row-major). The
    scope names a memory: `global` is that of the kernel's caller, `local` that of one thread, others are the target's.
    Example: `!tile.buffer<[h, n, 64] x f32, local>`; without a scope it is global.
  }];
  let parameters = (ins "::perpend::graph::ShapeAttr":$shape, "::mlir::Type":$elementType, "::mlir::StringAttr":$scope);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static BufferType get(::mlir::MLIRContext *context, ::llvm::ArrayRef<::perpend::support::SymbolicInt> shape,
                          ::mlir::Type elementType, ::llvm::StringRef scope);
    ::perpend::graph::Shape extents() const { return ::perpend::graph::Shape(getShape().values()); }
    unsigned rank() const { return getShape().getDims().size(); }
    /// The type of an element as loads and stores see it.
    ::mlir::Type scalarType() const;
    bool isGlobal() const { return getScope() == "global"; }
    /// The name of a memory of the target; null for the scopes global and local, which share the host's memory.
    ::mlir::StringAttr memorySpace() const {
      return isGlobal() || getScope() == "local" ? ::mlir::StringAttr() : getScope();
    }
  }];
}

def ForOp : Tile_Op<"for", [SingleBlock, NoTerminator,
                            DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "A loop from 0 to an extent";
  let description = [{
    The body runs for %i = 0 … extent - 1. The kind says how: `serial` in order; `parallel` in any order, by any thread;
    `vectorized` as lanes of a vector; `unrolled` one copy after another. Only `serial` and `unrolled` promise an order.
    Example: `tile.for %i in n parallel { … }`. Errors: C1 one extent, C2 operands are not those of the expressions.
  }];
  let arguments = (ins Variadic<Index>:$variables, ShapeAttr:$extent, LoopKind:$kind, StrAttr:$name,
                       DictionaryAttr:$annotations);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument variable() { return getRegion().getArgument(0); }
    ::mlir::Block *body() { return &getRegion().front(); }
  }];
}

def BlockOp : Tile_Op<"block", [SingleBlock, NoTerminator,
                                DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "One point of a computation; the code around it does not see its body";
  let description = [{
    An instance runs for each iteration of the loops around in which `where` holds, with the iterators bound to
    expressions of the loops' variables. An iterator has a domain [0, extent). As built, every point of the
    domains is an instance exactly once; a schedule may compute a point again, and leave out those that nobody reads.
    Spatial: instances write different elements, and read none that another writes. Reduced: instances combine into the
    same elements, in an order that does not matter but for rounding; `tile.init` runs before the first of them. Opaque:
    neither is known. The body sees buffers and iterators only, no variable of a loop.
    Example: `tile.block "sum" spatial(%a in n = %i * 8 + %j) reduced(%k in 64 = %l) where(%i * 8 + %j < n) { … }`.
    Errors: C1 lengths of lists, C2 a variable of a loop is used inside, C3 two blocks of one name in a kernel.
  }];
  let arguments = (ins Variadic<Index>:$variables, StrAttr:$name, DenseI32ArrayAttr:$kinds, ShapeAttr:$domain,
                       ShapeAttr:$bindings, ShapeAttr:$conditions, StrArrayAttr:$iteratorNames, DictionaryAttr:$annotations);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block *body() { return &getRegion().front(); }
    ::mlir::Block::BlockArgListType iterators() { return getRegion().getArguments(); }
    IteratorKind kind(unsigned iterator) { return static_cast<IteratorKind>(getKinds()[iterator]); }
    bool isReduction() { return ::llvm::is_contained(getKinds(), static_cast<int32_t>(IteratorKind::Reduced)); }
    /// The block's init, or null.
    ::perpend::tile::InitOp init();
  }];
}

def InitOp : Tile_Op<"init", [SingleBlock, NoTerminator, HasParent<"BlockOp">]> {
  let summary = "Initialises a reduction: runs before the instance in which all reduced iterators are 0";
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = "$region attr-dict";
}

class Tile_AccessOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, traits> {
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def LoadOp : Tile_AccessOp<"load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Reads an element of a buffer";
  let description = [{ Example: `%x = tile.load %q[%a, %b + 1] : !tile.buffer<[n, m] x f32>`. Errors: C1 number of indices, C2 operands, C3 type. }];
  let arguments = (ins BufferType:$buffer, Variadic<Index>:$variables, ShapeAttr:$indices);
  let results = (outs AnyType:$result);
}

def StoreOp : Tile_AccessOp<"store", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Writes an element of a buffer";
  let description = [{ Example: `tile.store %x, %c[%a, %b] : !tile.buffer<[n, m] x f32>`. Errors: C1 number of indices, C2 operands, C3 type. }];
  let arguments = (ins AnyType:$value, BufferType:$buffer, Variadic<Index>:$variables, ShapeAttr:$indices);
}

def IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "The value of an expression";
  let description = [{ Example: `%x = tile.index %i * 8 + n`. Errors: C1 one expression, C2 operands. }];
  let arguments = (ins Variadic<Index>:$variables, ShapeAttr:$expression);
  let results = (outs Index:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def AllocOp : Tile_Op<"alloc", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Memory that lives for one iteration (or call) around it; initially undefined";
  let arguments = (ins StrAttr:$name);
  let results = (outs BufferType:$buffer);
  let assemblyFormat = "$name attr-dict `:` qualified(type($buffer))";
}

#endif
