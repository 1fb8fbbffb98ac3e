//===- Quantised.cpp - ONNX Runtime's quantised operators -----------------===//
//
// Quantised operators of the domain com.microsoft. Those defined as
// "dequantise, compute, quantise" are expanded to exactly that.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Ranks.h"
#include "frontend/onnx/microsoft/PackedNumbers.h"
#include "frontend/onnx/ml/Classical.h"
#include "graph/composites/Formulas.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// in: a, packed weights, scales, zero points, order of the groups, bias.
Results importMatMulNBits(Node &node) {
  if (!node.hasInputs(3))
    return {};
  if (node.attributes.getInt("weight_prepacked"))
    return node.fail("weights that are packed for one machine are not supported");
  Value weights = node.composite("dequantize_packed", {node.input(1), node.input(2), node.input(3), node.input(4)})[0];
  return node.composite("linear", {node.input(0), weights, node.input(5)});
}

/// x times `rows` packed rows of weights, given by the inputs from `first` on (numbers, scales, bias).
static Value packedProduct(Node &node, Value x, size_t first, StringRef rows) {
  auto count = node.builder.operations.getI64IntegerAttr(node.attributes.getInt(rows));
  if (!x || !node.input(first) || !node.input(first + 1))
    return node.builder.fail("expected packed weights and scales, inputs " + Twine(first) + " and " + Twine(first + 1));
  Value weights =
      node.composite("dequantize_packed", {node.input(first), node.input(first + 1)}, node.attribute("N", count))[0];
  return weights ? node.composite("linear", {x, weights, node.input(first + 2)})[0] : weights;
}

/// The sum of inputs 0 and 1 (if present), and that sum normalised if there is a scale, input 2. `otherwise` is the
/// default epsilon.
static std::pair<Value, Value> summedNorm(Node &node, float otherwise) {
  Builder &b = node.builder;
  Value sum = node.input(1) ? graph::add(b, node.input(0), node.input(1)) : node.input(0);
  auto epsilon = b.operations.getF64FloatAttr(node.attributes.getFloat("epsilon", otherwise));
  if (!sum || !node.input(2))
    return {sum, sum};
  return {sum, node.composite("rms_norm", {sum, node.input(2)}, node.attribute("epsilon", epsilon))[0]};
}

/// in: x, a tensor to add to it, scale of the norm, then numbers, scales and bias of gate and up. Results: the
/// activated gate times up; the sum.
Results importMatMulNBitsMlp(Node &node) {
  if (!node.hasInputs(1))
    return {};
  StringRef activation = node.attributes.getString("activation");
  if (activation != "silu" && activation != "gelu" && activation != "relu")
    return node.fail("expected the activation silu, gelu or relu, got '" + activation + "'");
  auto [sum, x] = summedNorm(node, 1e-5F);
  Value gate = packedProduct(node, x, 3, "N"), up = gate ? packedProduct(node, x, 6, "N") : gate;
  return {graph::mul(node.builder, call(node.builder, activation, gate), up), sum};
}

/// in: x, a tensor to add to it, scale of the norm, then numbers, scales and bias of query, key and value. Results: the
/// three, and the sum.
Results importMatMulNBitsQkv(Node &node) {
  if (!node.hasInputs(1))
    return {};
  auto [sum, x] = summedNorm(node, 1e-6F);
  Value query = packedProduct(node, x, 3, "Nq"), key = query ? packedProduct(node, x, 6, "Nkv") : query;
  return {query, key, key ? packedProduct(node, x, 9, "Nkv") : key, sum};
}

/// in: a [.., K], blocks, [K, N]. Blocks of 32 numbers along K, column by column: a scale as the bytes of an f32, the
/// zero point in a byte if blk_quant_type is 1 (otherwise it is 8), then 16 bytes with number i in the low bits of byte
/// i and number i + 16 in the high ones. Source: MatMulFpQ4 of ONNX Runtime.
Results importMatMulFpQ4(Node &node) {
  std::optional<SmallVector<int64_t>> size = node.hasInputs(3) ? node.knownNumbers(2, "shape of b") : std::nullopt;
  int64_t kind = node.attributes.getInt("blk_quant_type", 1), bytes = kind == 1 ? 21 : 20;
  if (!size)
    return {};
  if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1 || (kind != 0 && kind != 1))
    return node.fail("expected a matrix [K, N] in blocks of 32 (blk_quant_type 0 or 1), got blk_quant_type " +
                     Twine(kind) + " and shape " + toString(*size));
  Builder &b = node.builder;
  SymbolicInt columns((*size)[1]), blocks = ceilDiv(SymbolicInt((*size)[0]), SymbolicInt(32));
  Value packed = b.reshape(node.input(1), {columns, blocks, SymbolicInt(bytes)});
  auto part = [&](int64_t start, int64_t count) {
    return packed ? b.cast(sliceAxis(b, packed, 2, SymbolicInt(start), SymbolicInt(count)), b.i64()) : packed;
  };
  Value weights = call(b, "shift_left", {b.scalar(1, b.i64()), b.integers({0, 8, 16, 24})});
  Value bits = call(b, "reduce_sum", graph::mul(b, part(0, 4), weights),
                    Attributes(b.context(), node.attribute("axes", ArrayRef<int64_t>{2})));
  Value scale = call(b, "bit_cast", b.cast(bits, b.operations.getI32Type()),
                     Attributes(b.context(), node.attribute("to", TypeAttr::get(b.f32()))));
  Value pairs = part(bytes - 16, 16), sixteen = b.scalar(16, b.i64());
  Value low = pointwise(b, {pairs, sixteen}, [](ArrayRef<Scalar> v) { return floorMod(v[0], v[1]); });
  Value numbers = b.concat({low, graph::div(b, pairs, sixteen)}, 2);
  Value centred = graph::sub(b, numbers, kind == 1 ? part(4, 1) : b.scalar(8, b.i64()));
  Value matrix = b.reshape(graph::mul(b, b.cast(centred, b.f32()), scale), {columns, blocks * 32});
  return {call(b, "linear", {node.input(0), matrix ? sliceAxis(b, matrix, 1, SymbolicInt(0), (*size)[0]) : matrix})};
}

/// in: a [.., K], b [N, K] of 8-bit floats, scales [N, ceil(K / block_size)] of b, scale of a, bias [N]. Result:
/// a (b * scales of its blocks)^T + bias, computed in f32; a is rounded to multiples of its scale that b's type has.
/// Source: MatMulBlockQuantizedFp8Weight of ONNX Runtime.
Results importMatMulBlockQuantizedFp8Weight(Node &node) {
  if (!node.hasInputs(3))
    return {};
  int64_t block = node.attributes.getInt("block_size", 128);
  if (rankOf(node.input(1)) != 2 || rankOf(node.input(2)) != 2 || block < 1)
    return node.fail("expected a weight [N, K] and scales [N, blocks] of a positive block_size, got shapes " +
                     toString(shapeOf(node.input(1))) + " and " + toString(shapeOf(node.input(2))));
  Builder &b = node.builder;
  Shape shape = shapeOf(node.input(1));
  requireShape(b, node.input(2), "b_scale", {shape[0], ceilDiv(shape[1], SymbolicInt(block))});
  requireShape(b, node.input(4), "bias", {shape[0]});
  if (b.hasFailed())
    return {};
  Value wide = b.reshape(
      b.broadcastTo(b.unsqueeze(node.input(2), {2}), {shape[0], shapeOf(node.input(2))[1], SymbolicInt(block)}),
      {shape[0], shapeOf(node.input(2))[1] * block});
  Value weights =
      wide ? graph::mul(b, b.cast(node.input(1), b.f32()), sliceAxis(b, wide, 1, SymbolicInt(0), shape[1])) : wide;
  Value x = b.cast(node.input(0), b.f32());
  if (Value scale = node.input(3)) {
    scale = b.reshape(scale, {});
    x = graph::mul(b, b.cast(b.cast(graph::div(b, x, scale), graph::elementTypeOf(node.input(1))), b.f32()), scale);
  }
  Value product = call(b, "linear", {x, weights});
  if (node.input(4) && product)
    product = graph::add(b, product, b.cast(node.input(4), b.f32()));
  return {b.cast(product, graph::elementTypeOf(node.input(0)))};
}

/// in: a, b, a scale, b scale, a zero point, b zero point, bias.
Results importMatMulIntegerToFloat(Node &node) { return node.composite("scaled_matmul_integer", node.inputs); }

/// in: a, b, b scale, b zero point, bias; a is quantised by its range.
Results importDynamicQuantizeMatMul(Node &node) {
  if (!node.hasInputs(3))
    return {};
  Results a = applyComposite(node.builder, "dynamic_quantize", node.input(0));
  if (a.size() < 3 || !a[0])
    return {};
  return node.composite("scaled_matmul_integer",
                        {a[0], node.input(1), a[1], node.input(2), a[2], node.input(3), node.input(4)});
}

static Value quantised(Node &node, Value x, Value scale, Value zero, Type type) {
  if (!x || !scale)
    return {};
  return applyComposite(node.builder, "quantize", {x, scale, zero},
                        Attributes(node.builder.context(), node.attribute("to", TypeAttr::get(type))))[0];
}

/// in: a, a scale, a zero, b, b scale, b zero, c (i32), y scale, y zero. Without a scale of y the result is of floats.
Results importQGemm(Node &node) {
  if (!node.hasInputs(6) || rankOf(node.input(0)) != 2 || rankOf(node.input(3)) != 2)
    return node.fail("expected two matrices with scales and zero points");
  Builder &b = node.builder;
  auto operand = [&](size_t index, StringRef name) {
    return node.attributes.getInt(name) ? b.transpose(node.input(index), {1, 0}) : node.input(index);
  };
  Value sum = applyComposite(b, "matmul_integer",
                             {operand(0, "transA"), operand(3, "transB"), node.input(2), node.input(5)})[0];
  if (sum && node.input(6))
    sum = graph::add(b, sum, node.input(6));
  if (!sum)
    return {};
  Value scale = graph::mul(b, node.input(1), node.input(4));
  Value real = graph::mul(b, b.cast(sum, b.f32()), scale);
  double alpha = node.attributes.getFloat("alpha", 1);
  real = real && alpha != 1 ? graph::mul(b, real, b.scalar(alpha, b.f32())) : real;
  return {node.input(7) ? quantised(node, real, node.input(7), node.input(8), graph::elementTypeOf(node.input(0)))
                        : real};
}

//===----------------------------------------------------------------------===//
// Dequantise, compute, quantise
//===----------------------------------------------------------------------===//

/// The dequantised values of inputs `first` (numbers), first + 1 (scale), first + 2 (zero point).
static Value dequantised(Node &node, size_t first) {
  if (!node.input(first) || !node.input(first + 1))
    return {};
  return applyComposite(node.builder, "dequantize",
                        {node.input(first), node.input(first + 1), node.input(first + 2)})[0];
}

/// `real` quantised by inputs `scale` and scale + 1 (zero point), in the element type of input `like`.
static Results quantisedAs(Node &node, Value real, size_t scale, size_t like) {
  return {real ? quantised(node, real, node.input(scale), node.input(scale + 1), graph::elementTypeOf(node.input(like)))
               : Value()};
}

/// A function of two numbers. The zero point is added before rounding and so affects ties: half of 1 is 0, but 5.5 is
/// 6.
static Results quantisedBinary(Node &node, Value real) {
  Value scale = node.input(6), zero = node.input(7);
  if (!real || !scale)
    return {};
  Builder &b = node.builder;
  Value ratio = graph::div(b, real, scale);
  if (zero && ratio)
    ratio = graph::add(b, ratio, b.cast(zero, graph::elementTypeOf(ratio)));
  Value one = b.scalar(1, graph::elementTypeOf(scale));
  return {quantised(node, ratio, one, {}, graph::elementTypeOf(node.input(0)))};
}
Results importQLinearAdd(Node &node) {
  return quantisedBinary(node, graph::add(node.builder, dequantised(node, 0), dequantised(node, 3)));
}
Results importQLinearMul(Node &node) {
  return quantisedBinary(node, graph::mul(node.builder, dequantised(node, 0), dequantised(node, 3)));
}

/// A composite of the first input, with this node's attributes.
static Results quantisedUnary(Node &node, StringRef composite, ArrayRef<NamedAttribute> changes = {}) {
  Value x = dequantised(node, 0);
  return x ? quantisedAs(node, node.composite(composite, x, changes)[0], 3, 0) : Results();
}
Results importQLinearSigmoid(Node &node) { return quantisedUnary(node, "sigmoid"); }
Results importQLinearLeakyRelu(Node &node) { return quantisedUnary(node, "leaky_relu"); }
Results importQLinearReduceMean(Node &node) { return quantisedUnary(node, "reduce_mean"); }

/// Before operator set 13, softmax runs over all dimensions from `axis` on.
Results importQLinearSoftmax(Node &node) {
  Value x = dequantised(node, 0);
  if (!x)
    return {};
  int64_t rank = rankOf(x), axis = normalAxis(node.builder, node.attributes.getInt("axis", -1), rank);
  if (axis < 0)
    return {};
  Shape shape = shapeOf(x), flat(shape.begin(), shape.begin() + axis);
  bool isFlat = node.attributes.getInt("opset", 13) < 13;
  flat.push_back(elementCount(ArrayRef(shape).drop_front(axis)));
  Value result = graph::softmax(node.builder, isFlat ? node.builder.reshape(x, flat) : x, axis, false);
  return quantisedAs(node, isFlat ? node.builder.reshape(result, shape) : result, 3, 0);
}

/// A pool of a tensor that may be channels-last.
static Results quantisedPool(Node &node, StringRef composite) {
  Value x = dequantised(node, 0);
  if (!x)
    return {};
  if (rankOf(x) < 3)
    return node.fail("expected a tensor of rank 3 or more, got shape " + toString(shapeOf(x)));
  if (!node.attributes.getInt("channels_last"))
    return quantisedAs(node, node.composite(composite, x)[0], 3, 0);
  int64_t last = rankOf(x) - 1;
  Value result = node.composite(composite, moveAxis(node.builder, x, last, 1))[0];
  return quantisedAs(node, moveAxis(node.builder, result, 1, last), 3, 0);
}
Results importQLinearAveragePool(Node &node) { return quantisedPool(node, "average_pool"); }
Results importQLinearGlobalAveragePool(Node &node) { return quantisedPool(node, "global_average_pool"); }

/// in: y scale, y zero point, then a tensor, its scale and its zero point, each.
Results importQLinearConcat(Node &node) {
  if (!node.hasInputs(5) || node.inputs.size() % 3 != 2)
    return node.fail("expected a scale and a zero point, then three inputs per tensor");
  SmallVector<Value> parts;
  for (size_t first = 2; first < node.inputs.size(); first += 3)
    parts.push_back(dequantised(node, first));
  if (llvm::is_contained(parts, Value()))
    return {};
  return quantisedAs(node, node.composite("concat", parts)[0], 0, 2);
}

/// in: condition, then x, y, each with scale and zero point, then the result's.
Results importQLinearWhere(Node &node) {
  if (!node.input(0))
    return {};
  return quantisedAs(node, graph::where(node.builder, node.input(0), dequantised(node, 1), dequantised(node, 4)), 7, 1);
}

//===----------------------------------------------------------------------===//
// Weights in blocks
//===----------------------------------------------------------------------===//

Value unpackedNumbers(Builder &b, Value bytes, int64_t bits) {
  if (!bytes || bits == 8)
    return bytes;
  Shape shape = shapeOf(bytes);
  SymbolicInt count(8 / bits);
  Value shifts = b.cast(graph::mul(b, iota(b, count, b.i64()), b.scalar(static_cast<double>(bits), b.i64())),
                        graph::elementTypeOf(bytes));
  int64_t mask = (1 << bits) - 1;
  Value numbers = pointwise(b, {b.unsqueeze(bytes, {rankOf(bytes)}), shifts}, [=](ArrayRef<Scalar> v) {
    return v[0].call<arith::ShRUIOp>(v[0].value, v[1].value) & v[0].integer(mask);
  });
  shape.back() = shape.back() * count;
  return b.reshape(numbers, shape);
}

namespace {
/// Slices of a table along `axis`; its numbers of `bits` bits are in blocks along `blockAxis`.
struct BlockGather {
  Value indices;
  int64_t axis, blockAxis, bits, blockSize;
  bool isPacked;
};
} // namespace

static std::optional<BlockGather> blockGather(Node &node) {
  Builder &b = node.builder;
  Value data = node.input(0);
  BlockGather form{node.input(1),
                   normalAxis(b, node.attributes.getInt("gather_axis"), rankOf(data)),
                   0,
                   node.attributes.getInt("bits", 4),
                   node.attributes.getInt("block_size", 128),
                   graph::elementTypeOf(data).isUnsignedInteger(8)};
  form.blockAxis = form.axis < 0 ? -1 : normalAxis(b, node.attributes.getInt("quantize_axis", 1), rankOf(data));
  bool fits = form.axis != form.blockAxis && form.blockSize >= 16 &&
              (!form.isPacked || (form.blockAxis == rankOf(data) - 1 && llvm::is_contained({2, 4, 8}, form.bits)));
  if (form.blockAxis >= 0 && fits)
    return form;
  if (form.blockAxis >= 0)
    node.fail("expected blocks of at least 16 numbers along another axis than that of the indices (the last one for "
              "bytes), and 2, 4 or 8 bits");
  return std::nullopt;
}

/// `result` where the index is valid for `extent`, otherwise 0.
static Value whereInside(Builder &b, Value result, const BlockGather &form, const SymbolicInt &extent) {
  Value indices = b.cast(form.indices, b.i64());
  Value isInside = pointwise(
      b, {indices, number(b, extent, b.i64())}, [](ArrayRef<Scalar> v) { return (v[0] < v[1]) & (v[0] + v[1] >= 0); },
      b.operations.getI1Type());
  if (!isInside || !result)
    return {};
  Shape shape(form.axis, SymbolicInt(1));
  llvm::append_range(shape, shapeOf(form.indices));
  shape.append(rankOf(result) - static_cast<int64_t>(shape.size()), SymbolicInt(1));
  return graph::where(b, b.reshape(isInside, shape), result, b.scalar(0, graph::elementTypeOf(result)));
}

/// in: table, indices, scales, zero points (by default the middle of the range for bytes, otherwise 0).
Results importGatherBlockQuantized(Node &node) {
  if (!node.hasInputs(3) || rankOf(node.input(0)) != rankOf(node.input(2)))
    return node.fail("expected a table, indices, and scales of the table's rank");
  Builder &b = node.builder;
  std::optional<BlockGather> form = blockGather(node);
  if (!form)
    return {};
  SymbolicInt extent = shapeOf(node.input(0))[form->axis];
  Value positions = normalIndices(b, form->indices, extent);
  auto taken = [&](Value table) { return table ? b.gather(table, positions, form->axis) : table; };
  Value numbers = taken(node.input(0)), scales = taken(node.input(2)), zeros = taken(node.input(3));
  int64_t axis = form->blockAxis > form->axis ? form->blockAxis + rankOf(form->indices) - 1 : form->blockAxis;
  if (form->isPacked) {
    numbers = unpackedNumbers(b, numbers, form->bits);
    zeros = zeros ? sliceAxis(b, unpackedNumbers(b, zeros, form->bits), axis, SymbolicInt(0), shapeOf(scales)[axis])
                  : b.splat(shapeOf(scales), 1 << (form->bits - 1), graph::elementTypeOf(numbers));
  }
  Value result = node.composite("dequantize", {numbers, scales, zeros},
                                {node.attribute("axis", b.operations.getI64IntegerAttr(axis)),
                                 node.attribute("block_size", b.operations.getI64IntegerAttr(form->blockSize))})[0];
  return {whereInside(b, result, *form, extent)};
}

/// The 16 values of bitsandbytes' 4-bit types fp4 and nf4. Source: Dettmers et al. (2023), "QLoRA".
static ArrayRef<double> numbersOf4Bits(bool isNormal) {
  static constexpr double fp4[] = {0,   0.0052083333,  2 / 3.0,  1,  1 / 3.0,  0.5,  1 / 6.0,  0.25,
                                   -0., -0.0052083333, -2 / 3.0, -1, -1 / 3.0, -0.5, -1 / 6.0, -0.25};
  static constexpr double nf4[] = {-1.0,
                                   -0.6961928009986877,
                                   -0.5250730514526367,
                                   -0.39491748809814453,
                                   -0.28444138169288635,
                                   -0.18477343022823334,
                                   -0.09105003625154495,
                                   0.0,
                                   0.07958029955625534,
                                   0.16093020141124725,
                                   0.24611230194568634,
                                   0.33791524171829224,
                                   0.44070982933044434,
                                   0.5626170039176941,
                                   0.7229568362236023,
                                   1.0};
  return isNormal ? ArrayRef(nf4) : ArrayRef(fp4);
}

/// in: a, weights [N, K] as pairs of numbers in bytes (the first in the high bits), the largest magnitude per block.
Results importMatMulBnb4(Node &node) {
  int64_t rows = node.attributes.getInt("N"), columns = node.attributes.getInt("K");
  int64_t block = node.attributes.getInt("block_size"), count = 0;
  if (!node.hasInputs(3) || rows < 1 || columns < 1 || block < 1 || !node.attributes.getInt("transB", 1) ||
      llvm::MulOverflow(rows, columns, count) || !graph::elementTypeOf(node.input(1)).isUnsignedInteger(8) ||
      provablyDiffer(elementCount(shapeOf(node.input(1))), SymbolicInt(llvm::divideCeil(count, 2))) ||
      provablyDiffer(elementCount(shapeOf(node.input(2))), SymbolicInt(llvm::divideCeil(count, block))))
    return node.fail(
        "expected weights [N, K] in (N K + 1) / 2 elements of type ui8, a magnitude per block, and transB = 1");
  Builder &b = node.builder;
  Type type = computeType(graph::elementTypeOf(node.input(2)));
  Value table = constantOf(b, numbersOf4Bits(node.attributes.getInt("quant_type") == 1), 16, type);
  Value bytes = b.reshape(node.input(1), {SymbolicInt(llvm::divideCeil(count, 2))});
  Value scales = b.reshape(b.cast(node.input(2), type), {SymbolicInt(llvm::divideCeil(count, block))});
  auto element = [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
    Scalar place = Scalar(builder, loc, index[0]) * Scalar(builder, loc, index[0]).integer(columns) +
                   Scalar(builder, loc, index[1]);
    Scalar byte(builder, loc, load(builder, loc, tensors[0], {floorDiv(place, place.integer(2)).value}), true);
    Scalar isSecond = graph::equal(floorMod(place, place.integer(2)), place.integer(1));
    Scalar code = select(isSecond, byte & byte.integer(15), byte / byte.integer(16)).to(builder.getI64Type());
    Value position = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), code.value);
    Scalar scale(builder, loc, load(builder, loc, tensors[1], {floorDiv(place, place.integer(block)).value}));
    return (Scalar(builder, loc, load(builder, loc, tensors[2], {position})) * scale).value;
  };
  Value weights = b.generate({bytes, scales, table}, {SymbolicInt(rows), SymbolicInt(columns)}, type, element);
  return node.composite("linear", {node.input(0), b.cast(weights, graph::elementTypeOf(node.input(0)))});
}
} // namespace perpend::onnx
