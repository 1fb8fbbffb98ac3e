//===- Ops.td - the graph primitives --------------------------------------===//
//
// The list of primitives. Operators of models are composites of these
// (src/graph/composites); a new primitive needs a reason why it cannot be a
// composite (docs/howto/add-a-primitive.md). primitives/ has the code of their
// methods.
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_OPS_TD
#define PERPEND_GRAPH_OPS_TD

include "graph/Graph.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<GraphDialect, mnemonic, traits>;

/// For an op that assumes something of symbolic extents.
defvar Assumes = DeclareOpInterfaceMethods<RequirementInterface>;

/// For an op whose dimensions follow dimensions of its operands.
defvar KeepsDimensions = DeclareOpInterfaceMethods<DimensionFlowInterface>;

/// For an op whose elements are sums of products.
defvar Multiplies = DeclareOpInterfaceMethods<ProductInterface>;

/// For an op with a derivative.
defvar Differentiable = DeclareOpInterfaceMethods<DifferentiableInterface>;

/// An op with a single result, each of whose elements is a function of its index.
class Graph_ElementOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<ElementInterface>], traits)> {
  let hasVerifier = 1;
}

/// An op each of whose elements combines many elements of its operands.
class Graph_ReductionOp<string mnemonic, list<Trait> traits = []>
    : Graph_ElementOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<ReductionInterface>], traits)>;

/// An op with a single result whose elements are computed together along some dimensions.
class Graph_SequenceOp<string mnemonic, list<string> overridden = [], list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<SequenceInterface, overridden>], traits)> {
  let hasVerifier = 1;
}

def ConstantOp : Graph_Op<"constant", [Pure, ConstantLike]> {
  let summary = "A tensor known at compile time";
  let description = [{
    Large values are DenseResourceElementsAttr whose blob points into the mapped model file, and so are all minifloats.
    Errors: C1 the value's shape and element type are the result's, C2 a resource has no contents, or not as many bytes.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let extraClassDeclaration = [{
    /// Whether all elements are the same number, so that code needs no memory for them. (Not for strings, whose
    /// identities are assigned when the artifact is made.)
    bool isOneNumber();
  }];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def DimsOp : Graph_ElementOp<"dims"> {
  let summary = "The values of symbolic expressions, as a tensor of i64";
  let description = [{
    result[i] = values[i]; rank 0 for a single value, else rank 1. Errors: C1 as many values as elements, C2 the element type is i64.
  }];
  let arguments = (ins ShapeAttr:$values);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$values attr-dict `:` type($result)";
}

def MapOp : Graph_ElementOp<"map", [IsolatedFromAbove, SingleBlock, Assumes, DimensionWise, KeepsDimensions, Differentiable]> {
  let summary = "Elementwise scalar function";
  let description = [{
    result[i...] = body(inputs[0][i...], inputs[1][i...], ...). The body is arith and math on scalars; signedness is in its operations.
    Shapes: all inputs have the result's shape. Errors: C1 shapes differ, C2 block arguments are the scalars of the inputs, C3 the yielded type is the result's scalar.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasCanonicalizeMethod = 1;
}

def GenerateOp : Graph_ElementOp<"generate", [IsolatedFromAbove, SingleBlock, Assumes, Differentiable]> {
  let summary = "Each element computed from its index";
  let description = [{
    result[i...] = body(i..., inputs...). Block arguments: one index per result dimension, then the input tensors, read with graph.load.
    Errors: C2 block arguments, C3 yielded type.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{ bool readsAgain(unsigned operand) { return true; } }];
}

def LoadOp : Graph_Op<"load", [Pure, HasParent<"GenerateOp">]> {
  let summary = "An element of a tensor, inside generate";
  let description = [{ result = tensor[index...]; the index must be inside the tensor. Errors: C1 one index per dimension, C2 a constant index is outside. }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<Index>:$index);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$tensor `[` $index `]` attr-dict `:` type($tensor) `->` type($result)";
  let hasVerifier = 1;
}

def ExtentOp : Graph_Op<"extent", [Pure]> {
  let summary = "The value of one symbolic expression as an index, inside generate and kernels";
  let arguments = (ins StrAttr:$expression);
  let results = (outs Index:$result);
  let assemblyFormat = "$expression attr-dict";
}

def YieldOp : Graph_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "The scalar that a body computes";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def BroadcastOp : Graph_ElementOp<"broadcast", [Assumes, DeclareOpInterfaceMethods<DimensionFlowInterface, ["repeatsOperands"]>,
                                             Differentiable]> {
  let summary = "Repeats a tensor along new or unit dimensions";
  let description = [{
    result[i...] = input[j...] with j[d] = 0 where input dimension d is 1, else i[dims[d]].
    Errors: C1 dims is strictly increasing with one entry per input dimension, C2 every input dimension is 1 or the result's.
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{ bool readsAgain(unsigned operand) { return true; } }];
}

def TransposeOp : Graph_ElementOp<"transpose", [Assumes, KeepsDimensions, Differentiable]> {
  let summary = "Permutes dimensions";
  let description = [{ result dimension d is input dimension permutation[d]. Errors: C1 not a permutation, C2 wrong result shape. }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def ReshapeOp : Graph_ElementOp<"reshape", [Assumes, KeepsDimensions, Differentiable]> {
  let summary = "The same elements in row-major order under another shape";
  let description = [{ Errors: C1 the numbers of elements are provably different. }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Whether dimensions of the result merge several of the input, so that input indices are computed by division.
    bool mergesDimensions();
  }];
}

def SliceOp : Graph_ElementOp<"slice", [Assumes, DimensionWise, KeepsDimensions, Differentiable]> {
  let summary = "A strided part of a tensor";
  let description = [{
    result[i...] = input[starts[d] + i[d] * steps[d] ...]; steps may be negative; the result type gives the extents; all indices must lie inside.
    Errors: C1 one start and step per dimension, step not 0.
  }];
  let arguments = (ins AnyRankedTensor:$input, ShapeAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $starts $steps attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
}

def PadOp : Graph_ElementOp<"pad", [DimensionWise, KeepsDimensions, Differentiable]> {
  let summary = "A tensor inside a larger one filled with a value";
  let description = [{
    result[i...] = input[i - low ...] where that lies inside the input, else value. low may be negative (a crop).
    Errors: C1 one low per dimension, C2 the value has the element's scalar type.
  }];
  let arguments = (ins AnyRankedTensor:$input, ShapeAttr:$low, TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $low $value attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool looksForElements() { return true; }
    ::mlir::TypedAttr getFilling() { return getValue(); }
    void setFilling(::mlir::TypedAttr number) { setValueAttr(number); }
  }];
}

def ConcatOp : Graph_ElementOp<"concat", [Assumes, KeepsDimensions, Differentiable]> {
  let summary = "Tensors side by side along one dimension";
  let description = [{ Errors: C1 axis out of range, C2 other dimensions differ, C3 the extents do not add up. }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type($inputs, $result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{ bool looksForElements() { return true; } }];
}

def GatherOp : Graph_ElementOp<"gather", [Assumes, KeepsDimensions, Differentiable]> {
  let summary = "Slices of a tensor chosen by an index tensor";
  let description = [{
    result[a..., i..., b...] = input[a..., indices[i...], b...], i in place of dimension axis. An index outside is clamped to the nearest one
    inside; front ends map negative indices first.
    Errors: C1 axis, C2 result shape, C3 the indices are integers.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$indices, I64Attr:$axis);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `[` $indices `]` `axis` $axis attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    bool looksForElements() { return true; }
    bool readsAgain(unsigned operand) { return true; }
  }];
}

def ReduceOp : Graph_ReductionOp<"reduce", [Assumes, KeepsDimensions, Differentiable]> {
  let summary = "Combines the elements along some dimensions, which disappear";
  let description = [{
    Accumulates in the element type; max and min propagate NaN; the empty sum is 0, the empty product 1, the empty max the lowest value.
    Floating-point sums may be reassociated. Errors: C1 dims strictly increasing and in range, C2 result shape, C3 elements are minifloats.
  }];
  let arguments = (ins AnyRankedTensor:$input, ReductionKindAttr:$kind, DenseI64ArrayAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `dims` $dims attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{ bool readsAgain(unsigned operand) { return false; } }];
}

def ContractOp : Graph_ReductionOp<"contract", [Assumes, KeepsDimensions, Multiplies, Differentiable]> {
  let summary = "Sum of products over shared dimensions (matrix multiplication, tensor contraction)";
  let description = [{
    result[batch..., lhs free..., rhs free...] = sum over contracted of lhs * rhs, in the result's element type, to which the operands are extended.
    Errors: C1 dimension lists valid and disjoint, C2 paired dimensions differ, C3 result shape, C4 elements are minifloats.
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs, DenseI64ArrayAttr:$lhsBatch, DenseI64ArrayAttr:$rhsBatch,
                       DenseI64ArrayAttr:$lhsContracted, DenseI64ArrayAttr:$rhsContracted);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{$lhs `,` $rhs `batch` $lhsBatch `x` $rhsBatch `over` $lhsContracted `x` $rhsContracted attr-dict
                         `:` functional-type(operands, $result)}];
  let extraClassDeclaration = [{ bool readsAgain(unsigned operand); }];
}

def ConvOp : Graph_ReductionOp<"conv", [Assumes, KeepsDimensions, Multiplies, Differentiable]> {
  let summary = "N-d convolution (cross-correlation)";
  let description = [{
    Channels first: input [n, c, x...], filter [o, c/groups, k...], result [n, o, y...]. Channels last: [n, x..., c], [k..., c/groups, o], [n, y..., o].
    result[n, o, y...] = sum over c, k of input[n, c, (y * strides + k * dilations - padLow) / inputDilation] * filter[o, c, k], where positions outside the
    input, or between its elements when inputDilation > 1, count as 0. The extents of the result come from its type.
    Errors: C1 ranks and attribute lengths, C2 channels and groups, C3 result shape except its window dimensions, C4 elements are minifloats.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$padLow,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$inputDilation, I64Attr:$groups, UnitAttr:$channelsLast);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{$input `,` $filter `strides` $strides `pad` $padLow `dilations` $dilations `input_dilation` $inputDilation
                         `groups` $groups (`channels_last` $channelsLast^)? attr-dict `:` functional-type(operands, $result)}];
  let extraClassDeclaration = [{
    /// Position of the channel and of window dimension `i` in the input and the result, and in the filter.
    unsigned channelDim() { return getChannelsLast() ? getStrides().size() + 1 : 1; }
    unsigned windowDim(unsigned i) { return getChannelsLast() ? 1 + i : 2 + i; }
    unsigned filterOutputDim() { return getChannelsLast() ? getStrides().size() + 1 : 0; }
    unsigned filterInputDim() { return getChannelsLast() ? getStrides().size() : 1; }
    unsigned filterWindowDim(unsigned i) { return getChannelsLast() ? i : 2 + i; }
    /// Each channel of the input is its own group.
    bool isDepthwise();
  }];
}

def WindowReduceOp : Graph_ReductionOp<"window_reduce", [DimensionWise, KeepsDimensions, Differentiable]> {
  let summary = "Combines the elements of a sliding window (pooling)";
  let description = [{
    result[i...] = combine over w of input[i * strides + w * dilations - padLow], positions outside the input left out. One entry per dimension of the tensor
    (1, 1, 0, 1 where there is no window). The extents of the result come from its type.
    Errors: C1 attribute lengths, C2 elements are minifloats.
  }];
  let arguments = (ins AnyRankedTensor:$input, ReductionKindAttr:$kind, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$padLow, DenseI64ArrayAttr:$dilations);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{$kind $input `window` $window `strides` $strides `pad` $padLow `dilations` $dilations attr-dict
                         `:` type($input) `->` type($result)}];
  let extraClassDeclaration = [{ bool readsAgain(unsigned operand) { return getWindow() != getStrides(); } }];
}

//===----------------------------------------------------------------------===//
// Results whose elements depend on one another
//===----------------------------------------------------------------------===//

def ScatterOp : Graph_SequenceOp<"scatter", [], [Assumes, Differentiable]> {
  let summary = "A tensor with updates written at indices";
  let description = [{
    result = input, then for every k in row-major order result[indices[k..., 0], ..., indices[k..., r - 1], rest...] = updates[k..., rest...], or, with a
    reduction, that element combined with the update, rounded at each step. A position outside the tensor is left out; front ends map negative indices first.
    Shapes: input [d..., rest...] with r dimensions d, indices [k..., r], updates [k..., rest...]. Errors: C1 indices are integers of rank 1 or more whose last extent is a
    number of at most the input's rank, C2 shape of the updates, C3 result type.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$indices, AnyRankedTensor:$updates, OptionalAttr<ReductionKindAttr>:$kind);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `[` $indices `]` (`by` $kind^)? `to` $updates attr-dict `:` functional-type(operands, $result)";
  let extraClassDeclaration = [{
    /// The number of input dimensions that an index tuple addresses.
    unsigned indexedDims();
  }];
}

def SortOp : Graph_SequenceOp<"sort", ["readsOnce"], [Assumes]> {
  let summary = "The positions of the elements along one dimension in sorted order, or the first of them";
  let description = [{
    Stable: equal elements keep their order, also when descending. NaN counts as equal to NaN and greater than every number, -0 as equal to 0.
    lexicographic: the last dimension of the input holds the keys of one element, compared from first to last.
    Shapes: input [..., n, ...] (or [..., n, ..., keys]), result [..., m, ...] of i64: the first m positions. Limits: m <= n < 2^32.
    Errors: C1 dim out of range, C2 result type, C3 n is beyond the limit, C4 m > n.
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, UnitAttr:$descending, UnitAttr:$lexicographic);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "(`descending` $descending^)? (`lexicographic` $lexicographic^)? $input `dim` $dim attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    /// Sorting packs two positions into one word of the result.
    static constexpr int64_t mostElements = (int64_t{1} << 32) - 1;
  }];
}

def ScanOp : Graph_SequenceOp<"scan", [], [Differentiable]> {
  let summary = "Running combination of the elements along one dimension";
  let description = [{
    result[.., i, ..] = input[.., 0, ..] combined with .. input[.., i, ..], from first to last, rounded to the element type at each step; max and min propagate NaN.
    Errors: C1 dim out of range, C2 result type.
  }];
  let arguments = (ins AnyRankedTensor:$input, ReductionKindAttr:$kind, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$kind $input `dim` $dim attr-dict `:` type($input) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Control flow and sizes that depend on data (docs/decisions/0004)
//===----------------------------------------------------------------------===//

def MeasureOp : Graph_Op<"measure", [MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolInterface>]> {
  let summary = "Gives a symbol the value of an element";
  let description = [{
    symbol := count, which must be >= 0 (an error of the run otherwise). Every later use of the symbol sees this value.
    Errors: C1 the operand has one element of type i64, C2 the symbol is a name.
  }];
  let arguments = (ins AnyRankedTensor:$count, StrAttr:$symbol);
  let assemblyFormat = "$count `as` $symbol attr-dict `:` type($count)";
  let hasVerifier = 1;
}

def RequireOp : Graph_Op<"require", [MemoryEffects<[MemWrite]>]> {
  let summary = "Ends the run with an error when an expression is negative";
  let description = [{ Errors: C1 one expression. }];
  let arguments = (ins ShapeAttr:$value, StrAttr:$message);
  let assemblyFormat = "$value $message attr-dict";
  let hasVerifier = 1;
}

class Graph_RegionOp<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([MemoryEffects<[MemWrite]>, DeclareOpInterfaceMethods<SymbolInterface>], traits)> {
  let hasVerifier = 1;
}

def IfOp : Graph_RegionOp<"if", [NoRegionArguments]> {
  let summary = "One of two regions";
  let description = [{
    results = condition ? then() : else(). A symbol of `symbols` stands alone in some extent of a result; it gets the extent that the branch taken yields there.
    Errors: C1 the condition has one element of type i1, C2 a branch yields other types than the results (apart from extents with symbols defined here),
    C3 a symbol is no extent of a result.
  }];
  let arguments = (ins AnyRankedTensor:$condition, StrArrayAttr:$symbols);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{$condition `symbols` $symbols attr-dict `:` type($condition) `->` `(` type($results) `)`
                         $thenRegion `else` $elseRegion}];
}

def LoopOp : Graph_RegionOp<"loop", [AttrSizedOperandSegments]> {
  let summary = "A region repeated, with values carried from one iteration to the next";
  let description = [{
    Body arguments: the iteration's number (tensor<i64>), the carried values. It yields the condition to go on (when the loop has a condition operand), the next carried
    values, and one element of each scan result. Results: the last carried values, then the scan results [count, element...].
    `count` is the number of iterations: an expression known before (no limit, no condition), or a symbol that the loop defines: it then goes on while the iteration's
    number is less than `limit` (if given) and the condition (if given) is true.
    Other symbols of `symbols` stand alone in an extent of a carried value, or of the elements of a scan result. The former start with the extent of the initial value
    and take that of the yielded one after each iteration; the latter start with 0, take the extent of the first element, and another one later is an error of the run.
    Errors: C1 limit and condition have one element, C2 body arguments, C3 yielded types, C4 result types, C5 count, C6 a symbol is no extent of a carried value or of an element.
  }];
  let arguments = (ins Optional<AnyRankedTensor>:$limit, Optional<AnyRankedTensor>:$condition, Variadic<AnyRankedTensor>:$initial,
                       ShapeAttr:$count, StrArrayAttr:$symbols);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{`count` $count (`limit` $limit^ `:` type($limit))? (`while` $condition^ `:` type($condition))?
                         `carried` `(` ($initial^ `:` type($initial))? `)` `symbols` $symbols attr-dict
                         `->` `(` type($results) `)` $body}];
  let extraClassDeclaration = [{
    unsigned carriedCount() { return getInitial().size(); }
    /// The body's arguments after the iteration number.
    ::mlir::ValueRange carriedArguments() { return ::mlir::ValueRange(getBody().getArguments()).drop_front(); }
    ::mlir::ResultRange carriedResults() { return getResults().take_front(carriedCount()); }
    ::mlir::ResultRange scanResults() { return getResults().drop_front(carriedCount()); }
    /// The yielded condition, or null; the next carried values; the elements of the scan results.
    ::mlir::Value yieldedCondition();
    ::mlir::ValueRange yieldedCarried();
    ::mlir::ValueRange yieldedElements();
    /// The symbols whose values only the elements of scan results determine.
    ::llvm::SmallVector<::mlir::StringAttr> elementSymbols();
    /// Whether the number of iterations is known in advance.
    bool countIsKnown() { return !getLimit() && !getCondition(); }
  }];
}

//===----------------------------------------------------------------------===//
// Beyond arithmetic on tensors (docs/decisions/0005)
//===----------------------------------------------------------------------===//

def CallLibraryOp : Graph_Op<"call_library", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                              DeclareOpInterfaceMethods<DimensionFlowInterface, ["keepsDimensions"]>,
                                              DeclareOpInterfaceMethods<SymbolInterface>]> {
  let summary = "Calls a C function of the runtime's library or of the user (runtime/include/perpend_operator.h)";
  let description = [{
    The function is called once per run with whole tensors, and allocates its results. A symbol of `symbols` stands alone in an extent of a result, and gets
    the extent that the call gives there. The result depends on operands and parameters only. Errors: C1 the function's name is not `library.name`, C2 a symbol is no extent
    of a result, C3 a parameter is no number, text, or list of these.
  }];
  let arguments = (ins StrAttr:$function, Variadic<AnyRankedTensor>:$inputs, DictionaryAttr:$parameters, StrArrayAttr:$symbols);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{$function `(` $inputs `)` $parameters `symbols` $symbols attr-dict `:` functional-type($inputs, $outputs)}];
  let hasVerifier = 1;
}

def CallKernelOp : Graph_Op<"call_kernel", [Pure, Assumes, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel function of this module";
  let description = [{ Destination passing: the caller gives the buffers of the results. A kernel's symbols are those of main at the call. Errors: C1 no such kernel, C2 types differ from the kernel's. }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = "$kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)";
}

#endif
