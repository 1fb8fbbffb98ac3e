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

static void nest(OpBuilder &builder, KernelBody &kernel, ArrayRef<SymbolicInt> extents, ArrayRef<Cuts> cuts,
                 SmallVectorImpl<Value> &indices, llvm::function_ref<void(OpBuilder &, ValueRange)> body) {
  if (extents.empty())
    return body(builder, indices);
  auto recurse = [&](OpBuilder &inner, Value index) {
    indices.push_back(index);
    nest(inner, kernel, extents.drop_front(), cuts.empty() ? cuts : cuts.drop_front(), indices, body);
    indices.pop_back();
  };
  std::optional<int64_t> number = extents.front().constant();
  if (number == 1 || (number && *number <= maxUnrolledExtent && extents.size() == 1))
    return (void)llvm::for_each(llvm::seq<int64_t>(0, *number),
                                [&](int64_t index) { recurse(builder, kernel.constant(index)); });
  Cuts ends = cuts.empty() ? Cuts() : cuts.front();
  ends.push_back(extents.front());
  Value from = kernel.constant(0);
  for (const SymbolicInt &end : ends) {
    Value to = kernel.extent(builder, end);
    kernel.forEach(builder, from, to, kernel.constant(1), recurse);
    from = to;
  }
}

void KernelBody::forEachIndex(OpBuilder &builder, ArrayRef<SymbolicInt> extents,
                              llvm::function_ref<void(OpBuilder &, ValueRange)> body, ArrayRef<Cuts> cuts) {
  SmallVector<Value> indices;
  nest(builder, *this, extents, cuts, indices, body);
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

/// Elementwise over equal shapes: the index does not matter, only the position.
static SymbolicInt emitFlat(OpBuilder &builder, KernelBody &body) {
  SymbolicInt count = elementCount(shapeOf(body.root()));
  body.forEach(builder, body.begin, body.end, body.constant(1), [&](OpBuilder &inner, Value position) {
    // All buffers are read at the same position: present it as the index of a 1-D tensor.
    for (Value tensor : cast<func::FuncOp>(body.root().getParentRegion()->getParentOp()).getArguments())
      body.emitter.setSource(tensor, [&body, tensor, position](OpBuilder &b, ValueRange) {
        return body.emitter.elementAtPosition(b, body.loc, tensor, position);
      });
    SmallVector<Value> index(shapeOf(body.root()).size(), position);
    for (auto [root, output] : body.results)
      body.emitter.store(inner, body.loc, body.emitter.element(inner, body.loc, root, index), output, position);
  });
  return count;
}

/// One loop nest per input of a concatenation, instead of a choice at every element.
static void emitPieces(OpBuilder &builder, KernelBody &body, ConcatOp concat, ArrayRef<Value> outer) {
  Shape shape = shapeOf(body.root());
  int64_t axis = concat.getAxis();
  SymbolicInt offset(0);
  for (Value input : concat.getInputs()) {
    Shape piece = shapeOf(input);
    ArrayRef<SymbolicInt> inner = ArrayRef<SymbolicInt>(piece).drop_front(outer.size());
    body.forEachIndex(builder, inner, [&](OpBuilder &b, ValueRange indices) {
      SmallVector<Value> source(outer), target;
      llvm::append_range(source, indices);
      target = source;
      target[axis] = b.createOrFold<arith::AddIOp>(body.loc, source[axis], body.extent(b, offset));
      Value scalar = body.emitter.element(b, body.loc, input, source);
      body.emitter.store(b, body.loc, scalar, body.output(), body.emitter.position(b, body.loc, shape, target));
    });
    offset = offset + piece[axis];
  }
}

/// Decides once per run of the last dimension whether it copies or fills, instead of at every element.
static void emitPadding(OpBuilder &builder, KernelBody &body, PadOp pad, ArrayRef<Value> outer) {
  Shape input = shapeOf(pad.getInput()), result = shapeOf(body.root());
  SmallVector<SymbolicInt> low = pad.getLow().values();
  ArrayRef<SymbolicInt> middle = ArrayRef<SymbolicInt>(result).drop_front(outer.size()).drop_back();
  Location loc = body.loc;
  body.forEachIndex(builder, middle, [&](OpBuilder &b, ValueRange indices) {
    SmallVector<Value> prefix(outer), source;
    llvm::append_range(prefix, indices);
    Value inside = b.create<arith::ConstantIntOp>(loc, 1, 1);
    for (auto [dim, position] : llvm::enumerate(prefix)) {
      source.push_back(b.createOrFold<arith::SubIOp>(loc, position, body.extent(b, low[dim])));
      if (low[dim] == SymbolicInt(0) && input[dim] == result[dim])
        continue;
      Value isHere = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, source[dim], body.extent(b, input[dim]));
      inside = b.create<arith::AndIOp>(loc, inside, isHere);
    }
    auto choice = b.create<scf::IfOp>(loc, inside, /*withElseRegion=*/true);
    auto storeRun = [&](OpBuilder run, bool copies) {
      body.forEach(run, body.constant(0), body.extent(run, result.back()), body.constant(1),
                   [&](OpBuilder &at, Value i) {
                     SmallVector<Value> target(prefix), from(source);
                     target.push_back(i);
                     from.push_back(i);
                     Value scalar = copies ? body.emitter.element(at, loc, pad.getInput(), from)
                                           : at.create<arith::ConstantOp>(loc, pad.getValue()).getResult();
                     body.emitter.store(at, loc, scalar, body.output(), body.emitter.position(at, loc, result, target));
                   });
    };
    storeRun(choice.getThenBodyBuilder(), true);
    storeRun(choice.getElseBodyBuilder(), false);
  });
}

/// A pad that leaves the last dimension alone.
static bool padsOnlyOuter(PadOp pad) {
  return pad && pad.getLow().values().back() == SymbolicInt(0) &&
         shapeOf(pad.getInput()).back() == shapeOf(pad.getResult()).back();
}

/// Where loops over the result's dimensions are cut so that each part lies wholly inside or outside of what a pad pads,
/// and the optimiser sees it: a choice at every element keeps loops from being vectorised.
/// Of the innermost two such dimensions, since the code grows threefold with each.
static SmallVector<Cuts> cutsAtPadding(Value root) {
  Shape shape = shapeOf(root);
  SmallVector<Cuts> cuts(shape.size());
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size())); // of the root, by those of `value`
  Value value = root;
  while (auto transpose = value.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> before(dims.size());
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
      before[from] = dims[to];
    dims = before;
    value = transpose.getInput();
  }
  auto pad = value.getDefiningOp<PadOp>();
  if (!pad)
    return cuts;
  Shape input = shapeOf(pad.getInput());
  for (auto [dim, low] : llvm::enumerate(pad.getLow().values())) {
    std::optional<int64_t> from = low.constant(), count = input[dim].constant(), all = shape[dims[dim]].constant();
    if (!from || !count || !all)
      continue;
    for (int64_t cut : {*from, *from + *count})
      if (cut > 0 && cut < *all)
        cuts[dims[dim]].push_back(SymbolicInt(cut));
  }
  int64_t kept = 0;
  for (Cuts &cut : llvm::reverse(cuts))
    if (!cut.empty() && ++kept > 2)
      cut.clear();
  return cuts;
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
  if (body.schedule.flatten)
    return emitFlat(builder, body);
  Shape shape = shapeOf(body.root());
  // A chain of rows that is computed here has the default schedule, and its result perhaps no dimension.
  size_t unitDims = std::min<size_t>(body.schedule.unitDims, shape.size());
  ArrayRef<SymbolicInt> unitShape = ArrayRef<SymbolicInt>(shape).take_front(unitDims);
  ArrayRef<SymbolicInt> innerShape = ArrayRef<SymbolicInt>(shape).drop_front(unitDims);
  auto concat = body.hasOneResult() ? body.root().getDefiningOp<ConcatOp>() : ConcatOp();
  auto pad = body.hasOneResult() ? body.root().getDefiningOp<PadOp>() : PadOp();
  if (pad && (!padsOnlyOuter(pad) || innerShape.empty()))
    pad = {};
  if (concat && static_cast<int64_t>(concat.getAxis()) < body.schedule.unitDims)
    concat = {};
  SmallVector<Cuts> cuts = cutsAtPadding(body.root());
  if (body.schedule.part && innerShape.size() == 1 && !concat && !pad && cuts.back().empty())
    return emitParts(builder, body, unitShape);
  body.forEach(builder, body.begin, body.end, body.constant(1), [&](OpBuilder &unitBuilder, Value unit) {
    SmallVector<Value> outer = body.emitter.delinearize(unitBuilder, body.loc, unitShape, unit);
    if (concat)
      return emitPieces(unitBuilder, body, concat, outer);
    if (pad)
      return emitPadding(unitBuilder, body, pad, outer);
    body.forEachIndex(
        unitBuilder, innerShape,
        [&](OpBuilder &inner, ValueRange indices) {
          SmallVector<Value> index(outer);
          llvm::append_range(index, indices);
          body.storeElement(inner, index);
        },
        ArrayRef(cuts).drop_front(unitShape.size()));
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
