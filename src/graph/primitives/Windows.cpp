//===- Windows.cpp - convolution and pooling ------------------------------===//
//
// This file has the operators' verifiers, their requirements on the symbols in shapes, and the code that computes one
// element of a result.
//
//===----------------------------------------------------------------------===//

#include "graph/Requirements.h"
#include "graph/Rows.h"
#include "graph/Scalars.h"
#include "graph/primitives/Constraints.h"
#include "graph/primitives/IndexMath.h"
#include "graph/primitives/LoopNest.h"

using namespace mlir;
using namespace perpend::graph;

//===----------------------------------------------------------------------===//
// Shared by both
//===----------------------------------------------------------------------===//

namespace {
/// One dimension of a sliding window.
struct WindowDim {
  int64_t stride, dilation, low, inputDilation;
  SymbolicInt windowExtent, inputExtent, resultExtent;

  /// Whether every window provably lies inside the input.
  bool isAlwaysInside() const {
    SymbolicInt last =
        (resultExtent - SymbolicInt(1)) * SymbolicInt(stride) + (windowExtent - SymbolicInt(1)) * SymbolicInt(dilation);
    return low == 0 && inputDilation == 1 && (inputExtent - SymbolicInt(1) - last).knownNonNegative();
  }
};
} // namespace

/// The input position for a window position; ands into `inside` whether it exists.
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

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

bool ConvOp::isDepthwise() { return getGroups() > 1 && shapeOf(getFilter())[filterInputDim()] == SymbolicInt(1); }

LogicalResult ConvOp::verify() {
  if (failed(verifyNumbers(*this, "C4")))
    return failure();
  Shape input = shapeOf(getInput()), filter = shapeOf(getFilter()), result = shapeOf(getResult());
  size_t windows = getStrides().size();
  if (input.size() != windows + 2 || filter.size() != input.size() || result.size() != input.size() ||
      getPadLow().size() != windows || getDilations().size() != windows || getInputDilation().size() != windows)
    return emitOpError("C1: expected tensors of rank ")
           << windows + 2 << " and " << windows << " entries per attribute";
  if (getGroups() < 1 || provablyDiffer(input[channelDim()], filter[filterInputDim()] * SymbolicInt(getGroups())))
    return emitOpError("C2: ") << input[channelDim()].str() << " input channels, but a filter for " << getGroups()
                               << " groups of " << filter[filterInputDim()].str();
  if (provablyDiffer(result[channelDim()], filter[filterOutputDim()]) || provablyDiffer(result[0], input[0]))
    return emitOpError("C3: a result of shape ")
           << toString(result) << " does not fit input " << toString(input) << " and filter " << toString(filter);
  return success();
}

void ConvOp::addRequirements(Requirements &requirements) {
  requirements.addEqual(shapeOf(getInput())[channelDim()],
                        shapeOf(getFilter())[filterInputDim()] * SymbolicInt(getGroups()));
  Shape result = shapeOf(getResult());
  requirements.addEqual(result[channelDim()], shapeOf(getFilter())[filterOutputDim()]);
  requirements.addEqual(result[0], shapeOf(getInput())[0]);
}

static WindowDim windowOf(ConvOp op, unsigned i) {
  unsigned dim = op.windowDim(i);
  return {op.getStrides()[i],
          op.getDilations()[i],
          op.getPadLow()[i],
          op.getInputDilation()[i],
          shapeOf(op.getFilter())[op.filterWindowDim(i)],
          shapeOf(op.getInput())[dim],
          shapeOf(op.getResult())[dim]};
}

/// A window of one position, which may read a part of the input, or a window over the whole input.
std::optional<MatrixProduct> ConvOp::asMatrixProduct() {
  Shape input = shapeOf(getInput()), read = input;
  SmallVector<int64_t> windows, filterWindows, steps(input.size(), 1);
  SymbolicInt one(1);
  bool isOfOne = getGroups() == 1, isOfAll = isOfOne;
  for (unsigned i = 0; i < getStrides().size(); ++i) {
    windows.push_back(windowDim(i));
    filterWindows.push_back(filterWindowDim(i));
    WindowDim dim = windowOf(*this, i);
    bool isPlain = dim.low == 0 && dim.inputDilation == 1;
    isOfOne &= dim.windowExtent == one && dim.isAlwaysInside();
    isOfAll &= isPlain && dim.windowExtent == dim.inputExtent && dim.resultExtent == one &&
               (dim.dilation == 1 || dim.windowExtent == one);
    if (dim.windowExtent == one && dim.resultExtent != dim.inputExtent) {
      read[windows[i]] = dim.resultExtent;
      steps[windows[i]] = dim.stride;
    }
  }
  if (!isOfOne && !isOfAll)
    return std::nullopt;
  MatrixProduct product{
      read, steps, {{}, {0}, {channelDim()}}, {{}, {filterOutputDim()}, {filterInputDim()}}, channelDim()};
  llvm::append_range(isOfOne ? product.left.free : product.left.summed, windows);
  llvm::append_range(product.right.summed, filterWindows);
  llvm::sort(product.left.summed);
  llvm::sort(product.right.summed);
  product.columnDim = std::min<int64_t>(product.columnDim, product.left.free.size());
  return product;
}

std::optional<unsigned> ConvOp::followingDim(OpOperand &operand, unsigned dim) {
  bool isInput = operand.getOperandNumber() == 0;
  if (dim != (isInput ? 0 : filterOutputDim()))
    return std::nullopt;
  return isInput ? 0 : channelDim();
}

Shape ConvOp::reducedExtents() {
  Shape filter = shapeOf(getFilter()), extents;
  for (unsigned i = 0; i < getStrides().size(); ++i)
    extents.push_back(filter[filterWindowDim(i)]);
  extents.push_back(filter[filterInputDim()]);
  return extents;
}

Value ConvOp::initial(OpBuilder &builder, Location loc) {
  return initialValue(builder, loc, ReductionKind::Sum, tensorTypeOf(getResult()).getElementType());
}

Value ConvOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                         ElementEmitter &emitter) {
  Shape input = shapeOf(getInput()), filter = shapeOf(getFilter()), result = shapeOf(getResult());
  unsigned windows = getStrides().size();
  Type type = tensorTypeOf(getResult()).getElementType();
  IndexMath math{builder, loc, emitter};
  Value output = index[channelDim()], channel = reduced[windows];
  if (getGroups() != 1) {
    SymbolicInt perGroup = floorDiv(filter[filterOutputDim()], SymbolicInt(getGroups()));
    Value group = math.div(output, math.extent(asDivisor(perGroup)));
    channel = math.add(math.mul(group, math.extent(filter[filterInputDim()])), channel);
  }
  SmallVector<Value> source(input.size()), weight(filter.size());
  Value inside;
  source[0] = index[0];
  source[channelDim()] = channel;
  weight[filterOutputDim()] = output;
  weight[filterInputDim()] = reduced[windows];
  for (unsigned i = 0; i < windows; ++i) {
    weight[filterWindowDim(i)] = reduced[i];
    source[windowDim(i)] = windowPosition(math, index[windowDim(i)], reduced[i], windowOf(*this, i), inside);
  }
  auto multiply = [&](OpBuilder &then) {
    Value a = extend(then, loc, emitter.element(then, loc, getInput(), source), getInput(), type);
    Value w = extend(then, loc, emitter.element(then, loc, getFilter(), weight), getFilter(), type);
    return multiplyAdd(then, loc, a, w, carried);
  };
  return inside ? math.choose(inside, carried.getType(), multiply, [&](OpBuilder &) { return carried; })
                : multiply(builder);
}

Value ConvOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return emitReduction(builder, loc, *this, index, emitter);
}

ElementKind ConvOp::elementKind() { return ElementKind::Reduction; }

//===----------------------------------------------------------------------===//
// window_reduce
//===----------------------------------------------------------------------===//

LogicalResult WindowReduceOp::verify() {
  size_t rank = shapeOf(getInput()).size();
  if (getWindow().size() != rank || getStrides().size() != rank || getPadLow().size() != rank ||
      getDilations().size() != rank || shapeOf(getResult()).size() != rank)
    return emitOpError("C1: expected ") << rank << " entries per attribute and a result of that rank";
  return verifyNumbers(*this, "C2");
}

/// The dimensions along which the window has more than one position, moves, is padded or may leave the input.
static SmallVector<unsigned> windowDims(WindowReduceOp op) {
  Shape input = shapeOf(op.getInput()), result = shapeOf(op.getResult());
  SmallVector<unsigned> dims;
  for (unsigned dim = 0; dim < op.getWindow().size(); ++dim)
    if (op.getWindow()[dim] != 1 || op.getStrides()[dim] != 1 || op.getPadLow()[dim] != 0 ||
        !(input[dim] - result[dim]).knownNonNegative())
      dims.push_back(dim);
  return dims;
}

std::optional<unsigned> WindowReduceOp::followingDim(OpOperand &, unsigned dim) {
  const bool isKept =
      !llvm::is_contained(windowDims(*this), dim) && shapeOf(getInput())[dim] == shapeOf(getResult())[dim];
  return isKept ? std::optional<unsigned>(dim) : std::nullopt;
}

Shape WindowReduceOp::reducedExtents() {
  Shape extents;
  for (unsigned dim : windowDims(*this))
    extents.emplace_back(getWindow()[dim]);
  return extents;
}

Value WindowReduceOp::initial(OpBuilder &builder, Location loc) {
  return initialValue(builder, loc, getKind(), tensorTypeOf(getResult()).getElementType());
}

Value WindowReduceOp::accumulate(OpBuilder &builder, Location loc, ValueRange index, ValueRange reduced, Value carried,
                                 ElementEmitter &emitter) {
  Shape input = shapeOf(getInput()), result = shapeOf(getResult());
  Type type = tensorTypeOf(getResult()).getElementType();
  IndexMath math{builder, loc, emitter};
  SmallVector<Value> source(index);
  Value inside;
  for (auto [i, dim] : llvm::enumerate(windowDims(*this))) {
    WindowDim window{getStrides()[dim], getDilations()[dim], getPadLow()[dim], 1,
                     getWindow()[dim],  input[dim],          result[dim]};
    source[dim] = windowPosition(math, index[dim], reduced[i], window, inside);
  }
  auto take = [&](OpBuilder &then) {
    return combine(then, loc, getKind(), type, carried, emitter.element(then, loc, getInput(), source));
  };
  return inside ? math.choose(inside, carried.getType(), take, [&](OpBuilder &) { return carried; }) : take(builder);
}

Value WindowReduceOp::element(OpBuilder &builder, Location loc, ValueRange index, ElementEmitter &emitter) {
  return emitReduction(builder, loc, *this, index, emitter);
}

ElementKind WindowReduceOp::elementKind() { return ElementKind::Reduction; }

bool perpend::graph::readsWindowsApart(OpOperand &use) {
  auto op = dyn_cast<WindowReduceOp>(use.getOwner());
  if (!op || op.readsAgain(use.getOperandNumber()))
    return false;
  Shape input = shapeOf(op.getInput()), result = shapeOf(op.getResult());
  return llvm::all_of(llvm::seq<size_t>(0, input.size()), [&](size_t dim) {
    return op.getPadLow()[dim] == 0 && op.getDilations()[dim] == 1 &&
           (input[dim] - result[dim] * SymbolicInt(op.getStrides()[dim])).knownNonNegative();
  });
}
