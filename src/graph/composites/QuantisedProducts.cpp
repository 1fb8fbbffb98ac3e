//===- QuantisedProducts.cpp - float products with quantised operands -----===//

#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

/// Number `position` of column `column` of a matrix of bytes that hold `bits` bits per number along the columns, low
/// bits first.
static Scalar packedNumber(OpBuilder &builder, Location loc, Value bytes, Scalar position, Value column, int64_t bits) {
  Scalar perByte = position.integer(8 / bits);
  Scalar byte(builder, loc, load(builder, loc, bytes, {floorDiv(position, perByte).value, column}), true);
  if (bits == 8)
    return byte;
  Type type = byte.type();
  Scalar shift = floorMod(position, perByte).to(type) * byte.integer(bits);
  return byte.with(builder.create<arith::ShRUIOp>(loc, byte.value, shift.value)) & byte.integer((1 << bits) - 1);
}

namespace {
/// A matrix [rows, columns] in blocks along the columns.
struct PackedMatrix {
  int64_t rows, columns, bits, blockSize;
  int64_t blocks() const { return llvm::divideCeil(columns, blockSize); }
  int64_t blockBytes() const { return blockSize * bits / 8; }
  int64_t zeroBytes() const { return llvm::divideCeil(blocks() * bits, 8); }
};
} // namespace

/// A tensor as a matrix of these extents; null, with an error, when the numbers of elements differ.
static Value asMatrix(Builder &b, Value x, int64_t rows, int64_t columns) {
  return x ? b.reshape(x, {SymbolicInt(rows), SymbolicInt(columns)}) : x;
}

static std::optional<PackedMatrix> packedMatrix(Builder &b, const Attributes &a) {
  PackedMatrix m{a.getInt("N"), a.getInt("K"), a.getInt("bits", 4), a.getInt("block_size")};
  bool hasBits = m.bits == 2 || m.bits == 4 || m.bits == 8;
  if (hasBits && m.rows > 0 && m.columns > 0 && m.blockSize >= 16 && llvm::isPowerOf2_64(m.blockSize))
    return m;
  b.fail(
      "expected 2, 4 or 8 bits, a block size that is a power of two of at least 16, and positive N and K; got bits " +
      Twine(m.bits) + ", block_size " + Twine(m.blockSize) + ", N " + Twine(m.rows) + ", K " + Twine(m.columns));
  return std::nullopt;
}

/// in: bytes of numbers, scales and zero points, matrices [rows, ..]. `blocks`: of each column, or null. Result: [rows,
/// columns]. They are read sideways, so that neighbours in memory, which vectors hold, are numbers at the same place of
/// their bytes and blocks.
static Value dequantisedBlocks(Builder &b, const PackedMatrix &m, Values in, Value blocks, Type type) {
  bool packsZeros = in.size() > 2 && isa<IntegerType>(elementTypeOf(in[2]));
  SmallVector<Value> sideways;
  for (Value matrix : in)
    sideways.push_back(b.transpose(matrix, {1, 0}));
  if (blocks)
    sideways.push_back(blocks);
  Value result =
      b.generate(sideways, {SymbolicInt(m.columns), SymbolicInt(m.rows)}, type,
                 [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
                   Scalar column(builder, loc, index[0]);
                   Scalar block = floorDiv(column, column.integer(m.blockSize));
                   if (blocks)
                     block =
                         Scalar(builder, loc, load(builder, loc, tensors.back(), {index[0]}), false).to(column.type());
                   auto real = [&](Scalar number) {
                     Type f32 = builder.getF32Type();
                     return number.isFloat() ? number.to(f32)
                                             : number.with(builder.create<arith::UIToFPOp>(loc, f32, number.value));
                   };
                   auto ofBlock = [&](Value matrix) {
                     return real(Scalar(builder, loc, load(builder, loc, matrix, {block.value, index[1]})));
                   };
                   Scalar number = real(packedNumber(builder, loc, tensors[0], column, index[1], m.bits));
                   Scalar scale = ofBlock(tensors[1]), zero = scale.constant(1 << (m.bits - 1));
                   if (packsZeros)
                     zero = real(packedNumber(builder, loc, tensors[2], block, index[1], m.bits));
                   else if (in.size() > 2)
                     zero = ofBlock(tensors[2]);
                   return ((number - zero) * scale).to(scalarType(type)).value;
                 });
  return b.transpose(result, {1, 0});
}

/// The block of each column; [blocks * block_size] has more than are meant. Null, with an error, where it does not fit.
static Value blockOfColumns(Builder &b, const PackedMatrix &m, Value given) {
  Shape shape = shapeOf(given), columns{SymbolicInt(m.columns)};
  bool hasExtent = shape == columns || shape == Shape{SymbolicInt(m.blocks() * m.blockSize)};
  Type type = elementTypeOf(given);
  if (shape.size() != 1 || (shape[0].constant() && !hasExtent) || (!type.isInteger(32) && !type.isInteger(64)))
    return b.fail("expected the block of each column, i32 or i64 of shape " + toString(columns) + ", got " +
                  nameOf(type) + " of shape " + toString(shape));
  requireExtents(b, shape, columns, "the blocks of columns");
  Value first = b.cast(sliceAxis(b, given, 0, SymbolicInt(0), columns[0]), b.i64());
  std::optional<SmallVector<int64_t>> known = b.constantContents(first);
  std::string message = ("expected blocks of columns from 0 to " + Twine(m.blocks() - 1)).str();
  for (int64_t block : known.value_or(SmallVector<int64_t>()))
    if (block < 0 || block >= m.blocks())
      return b.fail(message + ", got " + Twine(block));
  if (known || !first)
    return first;
  Value least = b.scalar(0, b.i64()), last = number(b, SymbolicInt(m.blocks() - 1), b.i64());
  Value clipped = call(b, "clip", {first, least, last}); // the requirement ends a run, not each kernel
  requireAll(b, call(b, "equal", {first, clipped}), message);
  return clipped;
}

namespace composites {
/// in: numbers packed in bytes [N, blocks, bytes], scales [N, blocks], zero points (packed in bytes per row, or floats
/// [N, blocks]; the middle of the range without), the block of each column [K] (k / block_size without). Attributes: N,
/// K, bits, block_size. result[n, k] = (number - zero) scale of k's block. Errors: a block that there is not, at
/// compile time or as the run begins. Source: MatMulNBits of ONNX Runtime.
Results dequantize_packed(Builder &b, Values in, const Attributes &a) {
  std::optional<PackedMatrix> m = packedMatrix(b, a);
  if (!m)
    return {};
  Value zeros = optionalInput(in, 2);
  bool packsZeros = zeros && isa<IntegerType>(elementTypeOf(zeros));
  SmallVector<Value> matrices{asMatrix(b, in[0], m->rows, m->blocks() * m->blockBytes()),
                              asMatrix(b, in[1], m->rows, m->blocks())};
  if (zeros)
    matrices.push_back(asMatrix(b, zeros, m->rows, packsZeros ? m->zeroBytes() : m->blocks()));
  if (llvm::is_contained(matrices, Value()))
    return {};
  Value blocks = optionalInput(in, 3) ? blockOfColumns(b, *m, in[3]) : Value();
  if (b.hasFailed())
    return {};
  return {dequantisedBlocks(b, *m, matrices, blocks, computeType(elementTypeOf(in[1])))};
}

/// in: a, b, a scale, b scale, a zero point, b zero point, bias. matmul_integer times both scales, plus the bias.
Results scaled_matmul_integer(Builder &b, Values in, const Attributes &) {
  Value product = applyComposite(b, "matmul_integer", {in[0], in[1], optionalInput(in, 4), optionalInput(in, 5)})[0];
  if (!product)
    return {};
  Type type = elementTypeOf(in[2]);
  Value scaled = graph::mul(b, b.cast(product, type), graph::mul(b, in[2], in[3]));
  Value bias = optionalInput(in, 6);
  return {bias ? graph::add(b, scaled, bias) : scaled};
}
} // namespace composites
} // namespace perpend::graph
