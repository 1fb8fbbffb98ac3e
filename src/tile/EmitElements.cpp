//===- EmitElements.cpp - kernels that compute element by element ----------===//

#include "tile/KernelBody.h"

#include "graph/Scalars.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::tile {

void KernelBody::forEach(OpBuilder &builder, Value from, Value to, Value step, LoopBody body) {
  auto loop = builder.create<scf::ForOp>(loc, from, to, step);
  OpBuilder inner = OpBuilder::atBlockBegin(loop.getBody());
  body(inner, loop.getInductionVar());
}

/// An innermost loop that is this short (three colours, two coordinates) is unrolled: the next one is worth
/// vectorising.
static constexpr int64_t maxUnrolledExtent = 4;

static void nest(OpBuilder &builder, KernelBody &kernel, ArrayRef<SymbolicInt> extents, SmallVectorImpl<Value> &indices,
                 llvm::function_ref<void(OpBuilder &, ValueRange)> body) {
  if (extents.empty())
    return body(builder, indices);
  auto recurse = [&](OpBuilder &inner, Value index) {
    indices.push_back(index);
    nest(inner, kernel, extents.drop_front(), indices, body);
    indices.pop_back();
  };
  std::optional<int64_t> number = extents.front().constant();
  if (number == 1 || (number && *number <= maxUnrolledExtent && extents.size() == 1))
    return (void)llvm::for_each(llvm::seq<int64_t>(0, *number),
                                [&](int64_t index) { recurse(builder, kernel.constant(index)); });
  kernel.forEach(builder, kernel.constant(0), kernel.extent(builder, extents.front()), kernel.constant(1), recurse);
}

void KernelBody::forEachIndex(OpBuilder &builder, ArrayRef<SymbolicInt> extents,
                              llvm::function_ref<void(OpBuilder &, ValueRange)> body) {
  SmallVector<Value> indices;
  nest(builder, *this, extents, indices, body);
}

SymbolicInt KernelBody::forEachUnit(OpBuilder &builder, ArrayRef<SymbolicInt> outer, const SymbolicInt &extent,
                                    int64_t part, UnitBody unitBody) {
  Shape units(outer);
  if (part)
    units.push_back(ceilDiv(extent, SymbolicInt(part)));
  forEach(builder, begin, end, constant(1), [&](OpBuilder &inner, Value unit) {
    SmallVector<Value> index = emitter.delinearize(inner, loc, units, unit);
    Value from = constant(0), to = this->extent(inner, extent);
    if (part) {
      from = inner.create<arith::MulIOp>(loc, index.pop_back_val(), constant(part));
      to = inner.create<arith::MinSIOp>(loc, inner.create<arith::AddIOp>(loc, from, constant(part)), to);
    }
    unitBody(inner, index, from, to);
  });
  return elementCount(units);
}

void KernelBody::storeElement(OpBuilder &builder, ValueRange index) {
  Value position = emitter.position(builder, loc, shapeOf(root()), index);
  for (auto [root, output] : results)
    emitter.store(builder, loc, emitter.element(builder, loc, root, index), output, position);
}

Value KernelBody::scratch(OpBuilder &builder, int64_t count, Type elementType) {
  auto function = output().getParentRegion()->getParentOfType<func::FuncOp>();
  OpBuilder start = OpBuilder::atBlockBegin(&function.getBody().front());
  auto type = MemRefType::get({count}, bufferType(elementType).getElementType());
  Value memory = start.create<memref::AllocaOp>(loc, type, start.getI64IntegerAttr(64));
  return start.create<memref::CastOp>(loc, bufferType(elementType), memory);
}

/// Units are parts of the last dimension.
static SymbolicInt emitParts(OpBuilder &builder, KernelBody &body, ArrayRef<SymbolicInt> outerShape) {
  return body.forEachUnit(builder, outerShape, shapeOf(body.root()).back(), body.schedule.part,
                          [&](OpBuilder &unit, ArrayRef<Value> outer, Value from, Value to) {
                            body.forEach(unit, from, to, body.constant(1), [&](OpBuilder &inner, Value last) {
                              SmallVector<Value> index(outer);
                              index.push_back(last);
                              body.storeElement(inner, index);
                            });
                          });
}

SymbolicInt emitElements(OpBuilder &builder, KernelBody &body) {
  Shape shape = shapeOf(body.root());
  // A chain of rows that is computed here has the default schedule, and its result perhaps no dimension.
  size_t unitDims = std::min<size_t>(body.schedule.unitDims, shape.size());
  ArrayRef<SymbolicInt> unitShape = ArrayRef<SymbolicInt>(shape).take_front(unitDims);
  ArrayRef<SymbolicInt> innerShape = ArrayRef<SymbolicInt>(shape).drop_front(unitDims);
  if (body.schedule.part && innerShape.size() == 1)
    return emitParts(builder, body, unitShape);
  body.forEach(builder, body.begin, body.end, body.constant(1), [&](OpBuilder &unitBuilder, Value unit) {
    SmallVector<Value> outer = body.emitter.delinearize(unitBuilder, body.loc, unitShape, unit);
    body.forEachIndex(unitBuilder, innerShape, [&](OpBuilder &inner, ValueRange indices) {
      SmallVector<Value> index(outer);
      llvm::append_range(index, indices);
      body.storeElement(inner, index);
    });
  });
  return elementCount(unitShape);
}

namespace {
/// A reduction that keeps the last dimension, for a chunk of that dimension at a time: one accumulator per element.
/// Long sums of floats are sums of sums over blocks, because the error of a sum grows with its length.
class RowReduction {
public:
  RowReduction(OpBuilder &start, KernelBody &body, ReduceOp reduce)
      : body(body), reduce(reduce), loc(body.loc), type(tensorTypeOf(reduce.getResult()).getElementType()),
        shape(shapeOf(reduce.getResult())), input(shapeOf(reduce.getInput())) {
    for (int64_t dim : reduce.getDims())
      reducedExtents.push_back(input[dim]);
    totals = body.scratch(start, body.schedule.row, type);
    isBlocked = isa<FloatType>(type) && reduce.getKind() == ReductionKind::Sum && !isShort(reducedExtents);
    if (isBlocked)
      partials = body.scratch(start, body.schedule.row, type);
  }

  void emitChunk(OpBuilder &builder, ArrayRef<Value> outer, Value first) {
    int64_t row = body.schedule.row;
    Value left = builder.create<arith::SubIOp>(loc, body.extent(builder, shape.back()), first);
    bool dividesRow = mod(shape.back(), SymbolicInt(row)) == SymbolicInt(0);
    count = dividesRow ? body.constant(row) : builder.create<arith::MinSIOp>(loc, left, body.constant(row));
    kept.assign(outer.begin(), outer.end());
    kept.push_back(first);
    clear(builder, totals);
    if (isBlocked)
      accumulateBlocks(builder);
    else
      body.forEachIndex(builder, reducedExtents,
                        [&](OpBuilder &inner, ValueRange positions) { accumulate(inner, positions, totals); });
    storeChunk(builder, outer, first);
  }

private:
  static constexpr int64_t shortSum = 512, leastBlock = 32;

  static bool isShort(ArrayRef<SymbolicInt> extents) {
    std::optional<int64_t> number = elementCount(extents).constant();
    return number && *number <= shortSum;
  }

  void clear(OpBuilder &builder, Value accumulators) {
    forEachAccumulator(builder, [&](OpBuilder &inner, Value i) {
      body.emitter.store(inner, loc, initialValue(inner, loc, reduce.getKind(), type), accumulators, i);
    });
  }

  void forEachAccumulator(OpBuilder &builder, KernelBody::LoopBody emit) {
    body.forEach(builder, body.constant(0), count, body.constant(1), emit);
  }

  Value load(OpBuilder &builder, Value accumulators, Value i) {
    Value value = builder.create<memref::LoadOp>(loc, accumulators, ValueRange(i));
    return value.getType() == scalarType(type) ? value : builder.create<arith::TruncIOp>(loc, scalarType(type), value);
  }

  void combineInto(OpBuilder &builder, Value accumulators, Value i, Value next) {
    Value carried = load(builder, accumulators, i);
    body.emitter.store(builder, loc, combine(builder, loc, reduce.getKind(), type, carried, next), accumulators, i);
  }

  /// Adds the elements at one position of the reduced dimensions.
  void accumulate(OpBuilder &builder, ValueRange positions, Value accumulators) {
    forEachAccumulator(builder, [&](OpBuilder &inner, Value i) {
      SmallVector<Value> source(input.size()), index(kept);
      index.back() = inner.create<arith::AddIOp>(loc, kept.back(), i);
      for (auto [dim, position] : llvm::zip(reduce.getDims(), positions))
        source[dim] = position;
      unsigned next = 0;
      for (Value &value : source)
        if (!value)
          value = index[next++];
      combineInto(inner, accumulators, i, body.emitter.element(inner, loc, reduce.getInput(), source));
    });
  }

  /// The innermost dimensions with enough elements are a block; of a single long one, a part.
  void accumulateBlocks(OpBuilder &builder) {
    ArrayRef<SymbolicInt> extents(reducedExtents);
    size_t split = extents.size() - 1;
    while (split > 0 && isShort(extents.drop_front(split)) &&
           *elementCount(extents.drop_front(split)).constant() < leastBlock)
      --split;
    bool isLong = extents.size() - split == 1 && !isShort(extents.drop_front(split));
    body.forEachIndex(builder, extents.take_front(split), [&](OpBuilder &outer, ValueRange positions) {
      if (!isLong)
        return addBlock(outer, [&](OpBuilder &b) {
          body.forEachIndex(b, extents.drop_front(split), [&](OpBuilder &inner, ValueRange more) {
            SmallVector<Value> all(positions);
            llvm::append_range(all, more);
            accumulate(inner, all, partials);
          });
        });
      Value end = body.extent(outer, extents.back());
      body.forEach(outer, body.constant(0), end, body.constant(shortSum), [&](OpBuilder &part, Value from) {
        Value to = part.create<arith::AddIOp>(loc, from, body.constant(shortSum));
        to = part.create<arith::MinSIOp>(loc, to, end);
        addBlock(part, [&](OpBuilder &b) {
          body.forEach(b, from, to, body.constant(1), [&](OpBuilder &inner, Value position) {
            SmallVector<Value> all(positions);
            all.push_back(position);
            accumulate(inner, all, partials);
          });
        });
      });
    });
  }

  void addBlock(OpBuilder &builder, llvm::function_ref<void(OpBuilder &)> emitSum) {
    clear(builder, partials);
    emitSum(builder);
    forEachAccumulator(builder, [&](OpBuilder &b, Value i) { combineInto(b, totals, i, load(b, partials, i)); });
  }

  void storeChunk(OpBuilder &builder, ArrayRef<Value> outer, Value first) {
    forEachAccumulator(builder, [&](OpBuilder &inner, Value i) {
      body.emitter.setSource(reduce.getResult(),
                             [&, i](OpBuilder &at, ValueRange) -> Value { return load(at, totals, i); });
      SmallVector<Value> index(outer);
      index.push_back(inner.create<arith::AddIOp>(loc, first, i));
      body.storeElement(inner, index);
      body.emitter.clearSource(reduce.getResult());
    });
  }

  KernelBody &body;
  ReduceOp reduce;
  Location loc;
  Type type;
  Shape shape, input, reducedExtents;
  Value totals, partials, count;
  SmallVector<Value> kept; // index of the chunk's first element
  bool isBlocked;
};
} // namespace

SymbolicInt emitRows(OpBuilder &builder, KernelBody &body, ReduceOp reduce) {
  Shape shape = shapeOf(reduce.getResult());
  int64_t unitDims = std::min<int64_t>(body.schedule.unitDims, shape.size() - 1);
  ArrayRef<SymbolicInt> unitShape = ArrayRef<SymbolicInt>(shape).take_front(unitDims);
  RowReduction rows(builder, body, reduce);
  ArrayRef<SymbolicInt> middle = ArrayRef<SymbolicInt>(shape).drop_front(unitDims).drop_back();
  int64_t part = middle.empty() ? body.schedule.part : 0;
  return body.forEachUnit(builder, unitShape, shape.back(), part,
                          [&](OpBuilder &unit, ArrayRef<Value> unitIndex, Value from, Value to) {
                            body.forEachIndex(unit, middle, [&](OpBuilder &inner, ValueRange indices) {
                              SmallVector<Value> outer(unitIndex);
                              llvm::append_range(outer, indices);
                              body.forEach(inner, from, to, body.constant(body.schedule.row),
                                           [&](OpBuilder &chunk, Value first) { rows.emitChunk(chunk, outer, first); });
                            });
                          });
}
} // namespace perpend::tile
