//===- Elements.cpp - each primitive as a function of its index -----------===//
//
// The executable meaning that code generation uses: given the index of an
// element of the result, emit the scalar code that computes it, asking the
// emitter for elements of the operands.
//
//===----------------------------------------------------------------------===//

#include "graph/Scalars.h"
#include "graph/Shapes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace perpend::graph;

namespace {
/// Short names for index arithmetic at one place.
struct IndexMath {
  OpBuilder &builder;
  Location loc;
  ElementEmitter &emitter;

  Value constant(int64_t value) { return extent(SymbolicInt(value)); }
  Value extent(const SymbolicInt &value) { return emitter.extent(builder, loc, value); }
  Value add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
  Value sub(Value a, Value b) { return builder.createOrFold<arith::SubIOp>(loc, a, b); }
  Value mul(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }
  Value div(Value a, Value b) { return builder.createOrFold<arith::DivUIOp>(loc, a, b); }
  Value rem(Value a, Value b) { return builder.createOrFold<arith::RemUIOp>(loc, a, b); }
  Value addConstant(Value a, int64_t b) { return b ? add(a, constant(b)) : a; }
  Value mulConstant(Value a, int64_t b) { return b != 1 ? mul(a, constant(b)) : a; }
  /// 0 <= a < bound, in one unsigned comparison.
  Value isInside(Value a, Value bound) {
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, a, bound);
  }
  Value conjunction(Value a, Value b) { return a ? builder.create<arith::AndIOp>(loc, a, b).getResult() : b; }

  /// `condition ? then() : otherwise()`, evaluating only one side.
  Value choose(Value condition, Type type, llvm::function_ref<Value(OpBuilder &)> then,
               llvm::function_ref<Value(OpBuilder &)> otherwise) {
    auto choice = builder.create<scf::IfOp>(loc, TypeRange(type), condition, /*withElseRegion=*/true);
    OpBuilder thenBuilder = choice.getThenBodyBuilder();
    thenBuilder.create<scf::YieldOp>(loc, then(thenBuilder));
    OpBuilder elseBuilder = choice.getElseBodyBuilder();
    elseBuilder.create<scf::YieldOp>(loc, otherwise(elseBuilder));
    return choice.getResult(0);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Value DimsOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Value chosen;
  SmallVector<SymbolicInt> values = getValues().values();
  for (int64_t i = static_cast<int64_t>(values.size()) - 1; i >= 0; --i) {
    Value value =
        builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), emitter.extent(builder, loc, values[i]));
    if (chosen) {
      Value position = builder.create<arith::ConstantIndexOp>(loc, i);
      Value isHere = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, index[0], position);
      value = builder.create<arith::SelectOp>(loc, isHere, value, chosen);
    }
    chosen = value;
  }
  return chosen;
}

Value BroadcastOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  SmallVector<Value> source;
  for (auto [extent, dim] : llvm::zip(shapeOf(getInput()), getDims()))
    source.push_back(extent == SymbolicInt(1) ? emitter.extent(builder, loc, SymbolicInt(0)) : index[dim]);
  return emitter.element(builder, loc, getInput(), source);
}

Value TransposeOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  SmallVector<Value> source(index.size());
  for (auto [dim, inputDim] : llvm::enumerate(getPermutation()))
    source[inputDim] = index[dim];
  return emitter.element(builder, loc, getInput(), source);
}

/// One stretch of dimensions of the result that holds the same elements as one stretch of the input.
struct ReshapeGroup {
  llvm::SmallVector<unsigned> inputDims, resultDims;
};

/// Splits a reshape into the smallest groups of dimensions with equal element counts, so that the index
/// arithmetic divides only where dimensions are really merged or split.
static SmallVector<ReshapeGroup> reshapeGroups(ArrayRef<SymbolicInt> input, ArrayRef<SymbolicInt> result) {
  SmallVector<ReshapeGroup> groups;
  size_t i = 0, r = 0;
  while (i < input.size() || r < result.size()) {
    ReshapeGroup group;
    SymbolicInt inputCount(1), resultCount(1);
    auto takeInput = [&] {
      inputCount = inputCount * input[i];
      group.inputDims.push_back(i++);
    };
    auto takeResult = [&] {
      resultCount = resultCount * result[r];
      group.resultDims.push_back(r++);
    };
    if (i < input.size())
      takeInput();
    if (r < result.size())
      takeResult();
    while (inputCount != resultCount && (i < input.size() || r < result.size())) {
      // An extent of 0 has no elements to find, so a factor counts as less.
      std::optional<bool> inputIsLess = exactDiv(inputCount, resultCount)   ? false
                                        : exactDiv(resultCount, inputCount) ? true
                                                                            : compareLess(inputCount, resultCount);
      if (r >= result.size() || (i < input.size() && inputIsLess.value_or(true)))
        takeInput();
      else
        takeResult();
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

bool ReshapeOp::mergesDimensions() {
  Shape input = shapeOf(getInput());
  return llvm::any_of(reshapeGroups(input, shapeOf(getResult())), [&](const ReshapeGroup &group) {
    return llvm::count_if(group.inputDims, [&](unsigned dim) { return input[dim] != SymbolicInt(1); }) > 1;
  });
}

Value ReshapeOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  auto position = [&](ArrayRef<unsigned> dims) {
    Value sum = math.constant(0);
    for (unsigned dim : dims)
      if (result[dim] != SymbolicInt(1))
        sum = math.add(math.mul(sum, math.extent(result[dim])), index[dim]);
    return sum;
  };
  Value whole = position(llvm::to_vector(llvm::seq<unsigned>(0, result.size())));
  if (Value loaded = emitter.elementAtPosition(builder, loc, getInput(), whole))
    return loaded;
  SmallVector<Value> source(input.size());
  for (const ReshapeGroup &group : reshapeGroups(input, result)) {
    Value rest = position(group.resultDims);
    SmallVector<unsigned> dims;
    for (unsigned dim : group.inputDims) {
      if (input[dim] == SymbolicInt(1))
        source[dim] = math.constant(0);
      else
        dims.push_back(dim);
    }
    for (unsigned dim : llvm::reverse(dims)) {
      bool isOutermost = dim == dims.front();
      source[dim] = isOutermost ? rest : math.rem(rest, math.extent(asDivisor(input[dim])));
      if (!isOutermost)
        rest = math.div(rest, math.extent(asDivisor(input[dim])));
    }
  }
  return emitter.element(builder, loc, getInput(), source);
}

Value SliceOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  SmallVector<Value> source;
  for (auto [position, start, step] : llvm::zip(index, getStarts().values(), getSteps())) {
    Value scaled = math.mulConstant(position, step);
    source.push_back(start == SymbolicInt(0) ? scaled : math.add(math.extent(start), scaled));
  }
  return emitter.element(builder, loc, getInput(), source);
}

Value PadOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  Value inside;
  SmallVector<Value> source;
  for (auto [dim, low] : llvm::enumerate(getLow().values())) {
    bool isUntouched = low == SymbolicInt(0) && input[dim] == result[dim];
    source.push_back(low == SymbolicInt(0) ? index[dim] : math.sub(index[dim], math.extent(low)));
    if (!isUntouched)
      inside = math.conjunction(inside, math.isInside(source[dim], math.extent(input[dim])));
  }
  auto load = [&](OpBuilder &b) { return emitter.element(b, loc, getInput(), source); };
  if (!inside)
    return load(builder);
  return math.choose(inside, getValue().getType(), load,
                     [&](OpBuilder &b) { return b.create<arith::ConstantOp>(loc, getValue()).getResult(); });
}

Value ConcatOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Type type = scalarTypeOf(getResult());
  // Emits the choice among inputs i, i+1, ... for an index that counts from the start of input i.
  std::function<Value(OpBuilder &, unsigned, Value)> choose = [&](OpBuilder &b, unsigned i, Value position) -> Value {
    IndexMath math{b, loc, emitter};
    SmallVector<Value> source(index);
    source[getAxis()] = position;
    if (i + 1 == getInputs().size())
      return emitter.element(b, loc, getInputs()[i], source);
    Value extent = math.extent(shapeOf(getInputs()[i])[getAxis()]);
    return math.choose(
        math.isInside(position, extent), type,
        [&](OpBuilder &then) { return emitter.element(then, loc, getInputs()[i], source); },
        [&](OpBuilder &otherwise) {
          Value rest = otherwise.createOrFold<arith::SubIOp>(loc, position, extent);
          return choose(otherwise, i + 1, rest);
        });
  };
  return choose(builder, 0, index[getAxis()]);
}

Value GatherOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IndexMath math{builder, loc, emitter};
  unsigned indexRank = shapeOf(getIndices()).size(), axis = getAxis();
  Value chosen = emitter.element(builder, loc, getIndices(), index.slice(axis, indexRank));
  if (isUnsigned(tensorTypeOf(getIndices()).getElementType()))
    chosen = builder.create<arith::IndexCastUIOp>(loc, builder.getIndexType(), chosen);
  else
    chosen = builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), chosen);
  Value last = math.addConstant(math.extent(shapeOf(getInput())[axis]), -1);
  chosen = builder.create<arith::MaxSIOp>(loc, math.constant(0), chosen);
  chosen = builder.create<arith::MinSIOp>(loc, last, chosen);
  SmallVector<Value> source(index.take_front(axis));
  source.push_back(chosen);
  llvm::append_range(source, index.drop_front(axis + indexRank));
  return emitter.element(builder, loc, getInput(), source);
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

Value MapOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IRMapping mapping;
  Block &body = getBody().front();
  for (auto [argument, input] : llvm::zip(body.getArguments(), getInputs()))
    mapping.map(argument, emitter.element(builder, loc, input, index));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValues()[0]);
}

Value GenerateOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  IRMapping mapping;
  Block &body = getBody().front();
  mapping.map(body.getArguments().take_front(index.size()), index);
  mapping.map(body.getArguments().drop_front(index.size()), getInputs());
  for (Operation &op : body.without_terminator()) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      SmallVector<Value> source =
          llvm::map_to_vector(load.getIndex(), [&](Value value) { return mapping.lookupOrDefault(value); });
      mapping.map(load.getResult(), emitter.element(builder, loc, mapping.lookupOrDefault(load.getTensor()), source));
    } else if (auto extent = dyn_cast<ExtentOp>(op)) {
      auto value = SymbolicInt::parse(extent.getExpression());
      mapping.map(extent.getResult(), emitter.extent(builder, loc, value.value_or(SymbolicInt::poison())));
    } else {
      builder.clone(op, mapping);
    }
  }
  return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValues()[0]);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// A nest of loops with one carried value; `body` gets the indices of all loops.
using NestBody = llvm::function_ref<Value(OpBuilder &, ValueRange, Value)>;
Value emitNest(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> counts, Value initial, ElementEmitter &emitter,
               SmallVectorImpl<Value> &indices, NestBody body) {
  if (counts.empty())
    return body(builder, indices, initial);
  return emitter.loop(builder, loc, counts.front(), initial, [&](OpBuilder &inner, Value index, Value carried) {
    indices.push_back(index);
    Value next = emitNest(inner, loc, counts.drop_front(), carried, emitter, indices, body);
    indices.pop_back();
    return next;
  });
}
Value emitNest(OpBuilder &builder, Location loc, ArrayRef<SymbolicInt> counts, Value initial, ElementEmitter &emitter,
               NestBody body) {
  SmallVector<Value> indices;
  return emitNest(builder, loc, counts, initial, emitter, indices, body);
}
} // namespace

namespace {
/// A sum over several dimensions is a sum of sums: its error grows with the extents, not with their product.
class NestedSum {
public:
  NestedSum(Location loc, Type type, ElementEmitter &emitter,
            llvm::function_ref<Value(OpBuilder &, ValueRange)> element)
      : loc(loc), type(type), emitter(emitter), element(element) {}

  Value emit(OpBuilder &builder, ArrayRef<SymbolicInt> counts) {
    if (counts.empty())
      return element(builder, indices);
    Value zero = initialValue(builder, loc, ReductionKind::Sum, type);
    return emitter.loop(builder, loc, counts.front(), zero, [&](OpBuilder &inner, Value index, Value carried) {
      indices.push_back(index);
      Value part = emit(inner, counts.drop_front());
      indices.pop_back();
      return combine(inner, loc, ReductionKind::Sum, type, carried, part);
    });
  }

private:
  Location loc;
  Type type;
  ElementEmitter &emitter;
  llvm::function_ref<Value(OpBuilder &, ValueRange)> element;
  SmallVector<Value> indices;
};
} // namespace

Value ReduceOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Shape input = shapeOf(getInput());
  SmallVector<SymbolicInt> counts;
  for (int64_t dim : getDims())
    counts.push_back(input[dim]);
  Type type = tensorTypeOf(getResult()).getElementType();
  auto elementAt = [&](OpBuilder &b, ValueRange reduced) {
    SmallVector<Value> source(input.size());
    for (auto [dim, value] : llvm::zip(getDims(), reduced))
      source[dim] = value;
    unsigned next = 0;
    for (Value &value : source)
      if (!value)
        value = index[next++];
    return emitter.element(b, loc, getInput(), source);
  };
  if (getKind() == ReductionKind::Sum && isa<FloatType>(type))
    return NestedSum(loc, type, emitter, elementAt).emit(builder, counts);
  return emitNest(builder, loc, counts, initialValue(builder, loc, getKind(), type), emitter,
                  [&](OpBuilder &b, ValueRange reduced, Value carried) {
                    return combine(b, loc, getKind(), type, carried, elementAt(b, reduced));
                  });
}

Value ContractOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Shape lhs = shapeOf(getLhs()), rhs = shapeOf(getRhs());
  SmallVector<SymbolicInt> counts;
  for (int64_t dim : getLhsContracted())
    counts.push_back(lhs[dim]);
  Type type = tensorTypeOf(getResult()).getElementType();
  return emitNest(builder, loc, counts, initialValue(builder, loc, ReductionKind::Sum, type), emitter,
                  [&](OpBuilder &b, ValueRange contracted, Value carried) {
                    unsigned nextFree = getLhsBatch().size();
                    auto source = [&](size_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> over) {
                      SmallVector<Value> values(rank);
                      for (auto [i, dim] : llvm::enumerate(batch))
                        values[dim] = index[i];
                      for (auto [i, dim] : llvm::enumerate(over))
                        values[dim] = contracted[i];
                      for (Value &value : values)
                        if (!value)
                          value = index[nextFree++];
                      return values;
                    };
                    SmallVector<Value> left = source(lhs.size(), getLhsBatch(), getLhsContracted());
                    SmallVector<Value> right = source(rhs.size(), getRhsBatch(), getRhsContracted());
                    Value a = extend(b, loc, emitter.element(b, loc, getLhs(), left), getLhs(), type);
                    Value c = extend(b, loc, emitter.element(b, loc, getRhs(), right), getRhs(), type);
                    return multiplyAdd(b, loc, a, c, carried);
                  });
}

namespace {
/// One dimension of a sliding window.
struct WindowDim {
  int64_t stride, dilation, low, inputDilation;
  SymbolicInt windowExtent, inputExtent, resultExtent;

  /// Every window provably lies inside the input.
  bool isAlwaysInside() const {
    SymbolicInt last =
        (resultExtent - SymbolicInt(1)) * SymbolicInt(stride) + (windowExtent - SymbolicInt(1)) * SymbolicInt(dilation);
    return low == 0 && inputDilation == 1 && (inputExtent - SymbolicInt(1) - last).knownNonNegative();
  }
};
} // namespace

/// Position in the input that a window position meets, and (anded into `inside`) whether it exists.
static Value windowPosition(IndexMath math, Value position, Value windowIndex, const WindowDim &dim, Value &inside) {
  Value shifted = math.add(math.mulConstant(position, dim.stride), math.mulConstant(windowIndex, dim.dilation));
  shifted = math.addConstant(shifted, -dim.low);
  if (dim.isAlwaysInside())
    return shifted;
  if (dim.inputDilation == 1) {
    inside = math.conjunction(inside, math.isInside(shifted, math.extent(dim.inputExtent)));
    return shifted;
  }
  Value dilationValue = math.constant(dim.inputDilation);
  Value bound = math.mul(math.extent(dim.inputExtent), dilationValue);
  inside = math.conjunction(inside, math.isInside(shifted, bound));
  Value isElement = math.builder.create<arith::CmpIOp>(math.loc, arith::CmpIPredicate::eq,
                                                       math.rem(shifted, dilationValue), math.constant(0));
  inside = math.conjunction(inside, isElement);
  return math.div(shifted, dilationValue);
}

Value ConvOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Shape input = shapeOf(getInput()), filter = shapeOf(getFilter()), result = shapeOf(getResult());
  unsigned windows = getStrides().size();
  SmallVector<SymbolicInt> counts;
  for (unsigned i = 0; i < windows; ++i)
    counts.push_back(filter[filterWindowDim(i)]);
  counts.push_back(filter[filterInputDim()]);
  IndexMath outer{builder, loc, emitter};
  Value output = index[channelDim()], firstChannel = outer.constant(0);
  if (getGroups() != 1) {
    SymbolicInt perGroup = floorDiv(filter[filterOutputDim()], SymbolicInt(getGroups()));
    firstChannel =
        outer.mul(outer.div(output, outer.extent(asDivisor(perGroup))), outer.extent(filter[filterInputDim()]));
  }
  Type type = tensorTypeOf(getResult()).getElementType();
  auto body = [&](OpBuilder &b, ValueRange indices, Value carried) {
    IndexMath math{b, loc, emitter};
    SmallVector<Value> source(input.size()), weight(filter.size());
    Value inside;
    source[0] = index[0];
    source[channelDim()] = math.add(firstChannel, indices[windows]);
    weight[filterOutputDim()] = output;
    weight[filterInputDim()] = indices[windows];
    for (unsigned i = 0; i < windows; ++i) {
      weight[filterWindowDim(i)] = indices[i];
      WindowDim dim{getStrides()[i],       getDilations()[i],          getPadLow()[i],
                    getInputDilation()[i], filter[filterWindowDim(i)], input[windowDim(i)],
                    result[windowDim(i)]};
      source[windowDim(i)] = windowPosition(math, index[windowDim(i)], indices[i], dim, inside);
    }
    auto multiply = [&](OpBuilder &then) {
      Value a = extend(then, loc, emitter.element(then, loc, getInput(), source), getInput(), type);
      Value w = extend(then, loc, emitter.element(then, loc, getFilter(), weight), getFilter(), type);
      return multiplyAdd(then, loc, a, w, carried);
    };
    return inside ? math.choose(inside, carried.getType(), multiply, [&](OpBuilder &) { return carried; })
                  : multiply(b);
  };
  return emitNest(builder, loc, counts, initialValue(builder, loc, ReductionKind::Sum, type), emitter, body);
}

Value WindowReduceOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  SmallVector<unsigned> windowDims;
  SmallVector<SymbolicInt> counts;
  for (unsigned dim = 0; dim < input.size(); ++dim)
    if (getWindow()[dim] != 1 || getStrides()[dim] != 1 || getPadLow()[dim] != 0) {
      windowDims.push_back(dim);
      counts.emplace_back(getWindow()[dim]);
    }
  Type type = tensorTypeOf(getResult()).getElementType();
  auto body = [&](OpBuilder &b, ValueRange indices, Value carried) {
    IndexMath math{b, loc, emitter};
    SmallVector<Value> source(index);
    Value inside;
    for (auto [i, dim] : llvm::enumerate(windowDims)) {
      WindowDim window{getStrides()[dim], getDilations()[dim], getPadLow()[dim], 1,
                       getWindow()[dim],  input[dim],          result[dim]};
      source[dim] = windowPosition(math, index[dim], indices[i], window, inside);
    }
    auto take = [&](OpBuilder &then) {
      return combine(then, loc, getKind(), type, carried, emitter.element(then, loc, getInput(), source));
    };
    return inside ? math.choose(inside, carried.getType(), take, [&](OpBuilder &) { return carried; }) : take(b);
  };
  return emitNest(builder, loc, counts, initialValue(builder, loc, getKind(), type), emitter, body);
}

//===----------------------------------------------------------------------===//
// Cost classes
//===----------------------------------------------------------------------===//

ElementKind DimsOp::elementKind() { return ElementKind::View; }
ElementKind BroadcastOp::elementKind() { return ElementKind::View; }
ElementKind TransposeOp::elementKind() { return ElementKind::View; }
ElementKind ReshapeOp::elementKind() { return ElementKind::View; }
ElementKind SliceOp::elementKind() { return ElementKind::View; }
ElementKind PadOp::elementKind() { return ElementKind::View; }
ElementKind ConcatOp::elementKind() { return ElementKind::View; }
ElementKind GatherOp::elementKind() { return ElementKind::View; }
ElementKind MapOp::elementKind() { return ElementKind::Pointwise; }
ElementKind GenerateOp::elementKind() { return ElementKind::Pointwise; }
ElementKind ReduceOp::elementKind() { return ElementKind::Reduction; }
ElementKind ContractOp::elementKind() { return ElementKind::Reduction; }
ElementKind ConvOp::elementKind() { return ElementKind::Reduction; }
ElementKind WindowReduceOp::elementKind() { return ElementKind::Reduction; }
