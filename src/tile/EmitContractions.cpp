//===- EmitContractions.cpp - kernels around micro-kernels -----------------===//
//
// A micro-kernel fills a block of rows x cols in scratch memory that stays in
// the first-level cache; the rest of the kernel (bias, activation, residual ...)
// is then evaluated on that block. Where nothing follows and the block fits, it
// is written to its place directly.
//
// Rows that do not divide: the last block moves back so that it ends with the
// last row; the rows it shares with its neighbour are computed twice, to the
// same values. Where there are fewer rows than a block has, blocks of one row.
//
//===----------------------------------------------------------------------===//

#include "tile/KernelBody.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {
namespace {

/// One contraction, seen from a block of its result: rows are consecutive in one dimension, columns in the last.
struct Contraction {
  Value result;                                  // the tensor
  Value lhs, rhs;                                // buffers
  Value depth;                                   // innermost sum
  SmallVector<Value> counts, lhsSteps, rhsSteps; // window
  Value lhsStride;                               // between rows
  SymbolicInt columns;                           // of the result, per panel group
  SymbolicInt resultStride;                      // between rows of the result
};

/// Where a block is: the index of its first element without the last two dimensions, its first row and column.
struct Block {
  SmallVector<Value> outer;
  Value row, column, columnLimit; // columnLimit: how many columns exist from `column` on, at most cols
  Value lhsOffset, rhsOffset;
  int64_t rows;
};

class BlockEmitter {
public:
  BlockEmitter(KernelBody &body, const Contraction &contraction, OpBuilder &start)
      : body(body), contraction(contraction), cols(body.schedule.cols) {
    std::optional<int64_t> columns = contraction.columns.constant();
    writesDirectly = body.hasOneResult() && body.root() == contraction.result && columns && *columns % cols == 0;
    if (!writesDirectly)
      tile = body.scratch(start, body.schedule.rows * cols, tensorTypeOf(contraction.result).getElementType());
  }

  void emit(OpBuilder &builder, const Block &block) {
    Location loc = body.loc;
    Value target = tile, offset = body.constant(0), stride = body.constant(cols);
    if (writesDirectly) {
      target = body.output();
      offset = body.emitter.position(builder, loc, shapeOf(body.root()), indexOf(block, block.row, block.column));
      stride = body.extent(builder, contraction.resultStride);
    }
    builder.create<MicroKernelOp>(loc, contraction.lhs, block.lhsOffset, contraction.lhsStride, contraction.rhs,
                                  block.rhsOffset, target, offset, stride, contraction.depth, contraction.counts,
                                  contraction.lhsSteps, contraction.rhsSteps, block.rows, cols);
    if (!writesDirectly)
      emitEpilogue(builder, block);
  }

private:
  static SmallVector<Value> indexOf(const Block &block, Value row, Value column) {
    SmallVector<Value> index(block.outer);
    index.push_back(row);
    index.push_back(column);
    return index;
  }

  void emitEpilogue(OpBuilder &builder, const Block &block) {
    Location loc = body.loc;
    // The column loop is the inner one, and a vector; a single column leaves that to the rows.
    body.forEach(builder, body.constant(0), body.constant(block.rows), body.constant(1), [&](OpBuilder &b, Value m) {
      Value rowStart = b.create<arith::MulIOp>(loc, m, body.constant(cols));
      Value row = b.create<arith::AddIOp>(loc, block.row, m);
      auto storeColumn = [&](OpBuilder &inner, Value n) {
        Value position = inner.create<arith::AddIOp>(loc, rowStart, n);
        body.emitter.setSource(contraction.result, [&, position](OpBuilder &at, ValueRange) -> Value {
          return at.create<memref::LoadOp>(loc, tile, ValueRange(position));
        });
        body.storeElement(inner, indexOf(block, row, inner.create<arith::AddIOp>(loc, block.column, n)));
        body.emitter.clearSource(contraction.result);
      };
      if (contraction.columns == SymbolicInt(1))
        storeColumn(b, body.constant(0));
      else
        body.forEach(b, body.constant(0), block.columnLimit, body.constant(1), storeColumn);
    });
  }

  KernelBody &body;
  const Contraction &contraction;
  int64_t cols;
  bool writesDirectly;
  Value tile;
};

/// How many columns of a panel exist when `left` remain of `columns`: a number where every panel has the same.
Value columnLimit(OpBuilder &builder, KernelBody &body, const SymbolicInt &columns, Value left) {
  int64_t cols = body.schedule.cols;
  if (mod(columns, SymbolicInt(cols)) == SymbolicInt(0))
    return body.constant(cols);
  if (std::optional<int64_t> count = columns.constant(); count && *count < cols)
    return body.constant(*count);
  return builder.create<arith::MinSIOp>(body.loc, left, body.constant(cols));
}

/// Calls `emit(builder, firstRow, rows)` for blocks that cover [from, to) of `total` rows.
void forEachBlock(OpBuilder &builder, KernelBody &body, Value from, Value to, const SymbolicInt &total,
                  llvm::function_ref<void(OpBuilder &, Value, int64_t)> emit) {
  Location loc = body.loc;
  int64_t rows = body.schedule.rows;
  auto full = [&](OpBuilder &b) {
    Value last = body.extent(b, total - SymbolicInt(rows));
    body.forEach(b, from, to, body.constant(rows), [&](OpBuilder &inner, Value row) {
      bool divides = mod(total, SymbolicInt(rows)) == SymbolicInt(0);
      emit(inner, divides ? row : inner.create<arith::MinSIOp>(loc, row, last), rows);
    });
  };
  if ((total - SymbolicInt(rows)).knownNonNegative())
    return full(builder);
  Value isFull =
      builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::sge, body.extent(builder, total), body.constant(rows));
  auto choice = builder.create<scf::IfOp>(loc, isFull, /*withElseRegion=*/true);
  OpBuilder then = choice.getThenBodyBuilder(), otherwise = choice.getElseBodyBuilder();
  full(then);
  body.forEach(otherwise, from, to, body.constant(1), [&](OpBuilder &inner, Value row) { emit(inner, row, 1); });
}
} // namespace

SymbolicInt emitMatmul(OpBuilder &builder, KernelBody &body, MatmulOp matmul) {
  Location loc = body.loc;
  KernelEmitter &emitter = body.emitter;
  Shape lhs = shapeOf(matmul.getLhs()), rhs = shapeOf(matmul.getRhs()), result = shapeOf(matmul.getResult());
  size_t batchRank = lhs.size() - 2;
  Shape batch(result.begin(), result.begin() + batchRank);
  SymbolicInt rows = lhs[batchRank], depth = lhs[batchRank + 1], columns = result.back(), panels = rhs[batchRank];
  int64_t cols = body.schedule.cols, blockRows = body.schedule.block;
  SymbolicInt blocks = ceilDiv(rows, SymbolicInt(blockRows));

  Value zero = body.constant(0), one = body.constant(1);
  Contraction contraction{matmul.getResult(),
                          emitter.bufferOf(matmul.getLhs()),
                          emitter.bufferOf(matmul.getRhs()),
                          body.extent(builder, depth),
                          {one, one},
                          {zero, zero},
                          {zero, zero},
                          body.extent(builder, depth),
                          columns,
                          columns};
  BlockEmitter blockEmitter(body, contraction, builder);
  body.forEach(builder, body.begin, body.end, one, [&](OpBuilder &b, Value unit) {
    Shape unitShape(batch);
    unitShape.push_back(blocks);
    unitShape.push_back(panels);
    SmallVector<Value> unitIndex = emitter.delinearize(b, loc, unitShape, unit);
    Block block;
    block.outer.assign(unitIndex.begin(), unitIndex.begin() + batchRank);
    Value batchPosition = emitter.position(b, loc, batch, block.outer);
    Value panel = unitIndex[batchRank + 1];
    block.column = b.create<arith::MulIOp>(loc, panel, body.constant(cols));
    Value left = b.create<arith::SubIOp>(loc, body.extent(b, columns), block.column);
    block.columnLimit = columnLimit(b, body, columns, left);
    Shape rhsUnit(rhs.begin(), rhs.begin() + batchRank + 1);
    SmallVector<Value> rhsIndex(block.outer);
    rhsIndex.push_back(panel);
    block.rhsOffset = b.create<arith::MulIOp>(loc, emitter.position(b, loc, rhsUnit, rhsIndex),
                                              body.extent(b, depth * SymbolicInt(cols)));
    Value from = b.create<arith::MulIOp>(loc, unitIndex[batchRank], body.constant(blockRows));
    Value to = b.create<arith::AddIOp>(loc, from, body.constant(blockRows));
    to = b.create<arith::MinSIOp>(loc, to, body.extent(b, rows));
    Value firstRow = b.createOrFold<arith::MulIOp>(loc, batchPosition, body.extent(b, rows));
    forEachBlock(b, body, from, to, rows, [&](OpBuilder &inner, Value row, int64_t count) {
      block.row = row;
      block.rows = count;
      Value absolute = inner.createOrFold<arith::AddIOp>(loc, firstRow, row);
      block.lhsOffset = inner.create<arith::MulIOp>(loc, absolute, body.extent(inner, depth));
      blockEmitter.emit(inner, block);
    });
  });
  return elementCount(batch) * blocks * panels;
}

SymbolicInt emitConv(OpBuilder &builder, KernelBody &body, ConvOp conv) {
  Location loc = body.loc;
  KernelEmitter &emitter = body.emitter;
  Shape input = shapeOf(conv.getInput()), filter = shapeOf(conv.getFilter()), result = shapeOf(conv.getResult());
  int64_t cols = body.schedule.cols, blockHeight = body.schedule.block;
  SymbolicInt groups = filter[0], panels = filter[1], perGroup = floorDiv(result[3], groups), channels = input[3];
  SymbolicInt width = input[2], rowStride = width * channels, blocks = ceilDiv(result[1], SymbolicInt(blockHeight));
  SymbolicInt perPosition = filter[4] * SymbolicInt(elementsPerWord(tensorTypeOf(conv.getFilter()).getElementType()));
  // Neighbouring window columns are neighbours in memory: one longer sum instead of a loop.
  bool isRowContiguous = conv.getDilations()[1] == 1 && groups == SymbolicInt(1);
  SymbolicInt depth = isRowContiguous ? filter[3] * perPosition : perPosition;
  SymbolicInt windowColumns = isRowContiguous ? SymbolicInt(1) : filter[3];
  SymbolicInt panelSize = filter[2] * filter[3] * perPosition * SymbolicInt(cols);

  auto extent = [&](const SymbolicInt &value) { return body.extent(builder, value); };
  Contraction contraction{
      conv.getResult(),
      emitter.bufferOf(conv.getInput()),
      emitter.bufferOf(conv.getFilter()),
      extent(depth),
      {extent(filter[2]), extent(windowColumns)},
      {extent(rowStride * SymbolicInt(conv.getDilations()[0])), extent(channels * SymbolicInt(conv.getDilations()[1]))},
      {extent(filter[3] * perPosition * SymbolicInt(cols)), extent(perPosition * SymbolicInt(cols))},
      extent(channels * SymbolicInt(conv.getStrides()[1])),
      perGroup,
      result[3]};
  BlockEmitter blockEmitter(body, contraction, builder);
  auto mul = [&](OpBuilder &b, Value value, const SymbolicInt &factor) {
    return b.createOrFold<arith::MulIOp>(loc, value, body.extent(b, factor));
  };
  auto add = [&](OpBuilder &b, Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); };
  body.forEach(builder, body.begin, body.end, body.constant(1), [&](OpBuilder &b, Value unit) {
    SmallVector<Value> at = emitter.delinearize(b, loc, {result[0], blocks, groups, panels}, unit);
    Block block;
    Value inGroup = b.create<arith::MulIOp>(loc, at[3], body.constant(cols));
    block.column = add(b, mul(b, at[2], perGroup), inGroup);
    Value left = b.create<arith::SubIOp>(loc, body.extent(b, perGroup), inGroup);
    block.columnLimit = columnLimit(b, body, perGroup, left);
    block.rhsOffset = mul(b, add(b, mul(b, at[2], panels), at[3]), panelSize);
    Value from = mul(b, at[1], SymbolicInt(blockHeight));
    Value to = b.create<arith::MinSIOp>(loc, add(b, from, body.constant(blockHeight)), body.extent(b, result[1]));
    Value image = add(b, mul(b, at[0], input[1] * rowStride), mul(b, at[2], perPosition));
    body.forEach(b, from, to, body.constant(1), [&](OpBuilder &rowBuilder, Value y) {
      block.outer = {at[0], y};
      Value line = add(rowBuilder, image, mul(rowBuilder, y, rowStride * SymbolicInt(conv.getStrides()[0])));
      forEachBlock(rowBuilder, body, body.constant(0), body.extent(rowBuilder, result[2]), result[2],
                   [&](OpBuilder &inner, Value x, int64_t count) {
                     block.row = x;
                     block.rows = count;
                     block.lhsOffset =
                         add(inner, line, inner.createOrFold<arith::MulIOp>(loc, x, contraction.lhsStride));
                     blockEmitter.emit(inner, block);
                   });
    });
  });
  return result[0] * blocks * groups * panels;
}
} // namespace perpend::tile
