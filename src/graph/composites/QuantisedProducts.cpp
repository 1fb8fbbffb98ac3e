//===- QuantisedProducts.cpp - float products with quantised operands -----===//

#include "graph/Scalars.h"
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

namespace {
/// A matrix [rows, columns] in blocks along the columns.
struct PackedMatrix {
  int64_t rows, columns, bits, blockSize;
  int64_t zero; ///< of blocks without zero points
  int64_t blocks() const { return llvm::divideCeil(columns, blockSize); }
  int64_t blockBytes() const { return blockSize * bits / 8; }
  int64_t zeroBytes() const { return llvm::divideCeil(blocks() * bits, 8); }
};
} // namespace

/// A tensor of rows, of rank 2 or more or flat, as a matrix of these extents; null, with an error, if it has others.
static Value asMatrix(Builder &b, Value x, const Twine &what, const Shape &expected) {
  Shape shape = shapeOf(x), matrix{expected[0], expected.size() > 2 ? expected[1] * expected[2] : expected[1]};
  SymbolicInt count = elementCount(shape);
  bool hasRows = shape.size() <= 1;
  SymbolicInt first(1);
  for (const SymbolicInt &extent : shape)
    hasRows |= !provablyDiffer(first = first * extent, expected[0]);
  if (!hasRows || provablyDiffer(count, matrix[0] * matrix[1]))
    return b.contradict("expected " + what + " of shape " + toString(expected) + ", got " + toString(shape) +
                        "\nhint: it follows from N, K, bits and block_size; correct these or the tensor");
  return b.reshape(x, matrix);
}

/// Numbers packed in bytes must have an unsigned type.
static bool checkBytes(Builder &b, Value x, const Twine &what) {
  Type type = elementTypeOf(x);
  if (!type.isUnsignedInteger(8))
    b.fail("expected " + what + " of type u8, got " + nameOf(type) +
           "\nhint: numbers lie in bytes, low bits first; pack them");
  return !b.hasFailed();
}

static std::optional<PackedMatrix> packedMatrix(Builder &b, const Attributes &a) {
  const int64_t bits = a.getInt("bits", 4), middle = bits > 0 && bits <= 8 ? int64_t(1) << (bits - 1) : 0;
  PackedMatrix m{a.getInt("N"), a.getInt("K"), bits, a.getInt("block_size"), a.getInt("zero", middle)};
  bool hasBits = m.bits == 2 || m.bits == 4 || m.bits == 8;
  if (hasBits && m.rows > 0 && m.columns > 0 && m.blockSize >= 16 && llvm::isPowerOf2_64(m.blockSize))
    return m;
  b.fail(
      "expected 2, 4 or 8 bits, a block size that is a power of two of at least 16, and positive N and K; got bits " +
      Twine(m.bits) + ", block_size " + Twine(m.blockSize) + ", N " + Twine(m.rows) + ", K " + Twine(m.columns));
  return std::nullopt;
}

/// Bytes [bytes, columns] that hold numbers of `bits` bits along the columns, low bits first, as [rows, columns].
static Value unpacked(Builder &b, Value bytes, const SymbolicInt &rows, int64_t bits) {
  Type type = b.operations.getIntegerType(bits, /*isSigned=*/false);
  if (bits == 8)
    return sliceAxis(b, bytes, 0, SymbolicInt(0), rows);
  return b.generate(
      {bytes}, {rows, shapeOf(bytes)[1]}, type,
      [&](OpBuilder &builder, Location loc, ValueRange index, ValueRange tensors) {
        Scalar position(builder, loc, index[0], true), perByte = position.integer(8 / bits);
        Value place = (position / perByte).value;
        Scalar byte(builder, loc, load(builder, loc, tensors[0], {place, index[1]}), true);
        Scalar shift = (position % perByte).to(byte.type()) * byte.integer(bits);
        return byte.with(builder.create<arith::ShRUIOp>(loc, byte.value, shift.value)).to(scalarType(type)).value;
      });
}

/// in: bytes of numbers, scales and zero points, matrices [rows, ..]. `blocks`: the block of each column, or null.
/// Result: [rows, columns]. Numbers are read sideways, so that a vector holds numbers at the same position in their
/// bytes and blocks.
static Value dequantisedBlocks(Builder &b, const PackedMatrix &m, Values in, Value blocks, Type type) {
  SymbolicInt columns(m.columns);
  auto ofColumns = [&](Value matrix) {
    if (blocks)
      return b.gather(matrix, blocks, 0);
    return repeatBlocks(b, matrix, 0, m.blockSize, {columns, SymbolicInt(m.rows)});
  };
  auto sideways = [&](size_t i) { return b.transpose(in[i], {1, 0}); };
  SmallVector<Value> operands{unpacked(b, sideways(0), columns, m.bits), ofColumns(sideways(1))};
  if (in.size() > 2) {
    bool isPacked = isa<IntegerType>(elementTypeOf(in[2]));
    operands.push_back(ofColumns(isPacked ? unpacked(b, sideways(2), SymbolicInt(m.blocks()), m.bits) : sideways(2)));
  }
  Value result = b.map(operands, type, [&](OpBuilder &builder, Location loc, ValueRange v) {
    auto real = [&](size_t i) {
      return Scalar(builder, loc, convert(builder, loc, v[i], elementTypeOf(operands[i]), b.f32()));
    };
    Scalar number = real(0);
    Scalar centred = operands.size() > 2 ? number - real(2) : m.zero != 0 ? number - double(m.zero) : number;
    return (centred * real(1)).to(scalarType(type)).value;
  });
  return b.transpose(result, {1, 0});
}

/// The block of each column; given [blocks * block_size], the excess is cut off. Null, with an error, if the extent
/// does not fit.
static Value blockOfColumns(Builder &b, const PackedMatrix &m, Value given) {
  Shape shape = shapeOf(given), columns{SymbolicInt(m.columns)};
  bool hasExtent = shape == columns || shape == Shape{SymbolicInt(m.blocks() * m.blockSize)};
  Type type = elementTypeOf(given);
  if (shape.size() != 1 || (shape[0].constant() && !hasExtent) || (!type.isInteger(32) && !type.isInteger(64)))
    return b.fail("expected the number of the block of each column (g_idx): i32 or i64 of shape " + toString(columns) +
                  ", got " + nameOf(type) + " of shape " + toString(shape));
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
  Value clipped = call(b, "clip", {first, least, last}); // the requirement ends the run; kernels just clamp
  requireAll(b, call(b, "equal", {first, clipped}), message);
  return clipped;
}

namespace composites {
/// in: numbers packed in bytes [N, blocks, bytes], scales [N, blocks], zero points (packed in bytes per row, or floats
/// [N, blocks]; by default the attribute `zero`), the block of each column [K] (by default k / block_size).
/// Attributes: N, K, bits, block_size, zero (by default the middle of the range). result[n, k] = (number - zero) scale
/// of k's block. Errors: a block that does not exist, at compile time or at the start of the run. Source: MatMulNBits
/// of ONNX Runtime.
Results dequantize_packed(Builder &b, Values in, const Attributes &a) {
  std::optional<PackedMatrix> m = packedMatrix(b, a);
  if (!m)
    return {};
  Value zeros = optionalInput(in, 2);
  bool packsZeros = zeros && isa<IntegerType>(elementTypeOf(zeros));
  if (!checkBytes(b, in[0], "packed numbers") || (packsZeros && !checkBytes(b, zeros, "packed zero points")))
    return {};
  SymbolicInt rows(m->rows), count(m->blocks());
  SmallVector<Value> matrices{asMatrix(b, in[0], "packed numbers", {rows, count, SymbolicInt(m->blockBytes())}),
                              asMatrix(b, in[1], "scales", {rows, count})};
  if (zeros)
    matrices.push_back(asMatrix(b, zeros, packsZeros ? "packed zero points" : "zero points",
                                {rows, packsZeros ? SymbolicInt(m->zeroBytes()) : count}));
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
