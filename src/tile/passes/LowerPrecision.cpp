//===- LowerPrecision.cpp - lowers the precision of products --------------===//
//
// Expresses --precision in the graph, before operands are packed, so that it means the same on every machine. f32
// operands of f32 products are rounded to a floating-point type and extended again:
//
//   contract(x, w) : f32  =>  contract(extend(round(x)), extend(round(w))) : f32
//
// The result of an operator is rounded where it is computed, for all its users, so that it is stored in the lower
// type; inputs and results of main keep their type. PackOperands checks that reading elements of that type loses
// nothing. With int8, both operands become integers in -127..127, scaled by the largest magnitude within each sum:
//
//   contract(x, w) : f32  =>  f32(contract(round(x / sx), round(w / sw)) : i32) sx sw
//     with sx = max|x| / 127 of each row, sw = max|w| / 127 of each column
//
// int8 needs a constant w with at least 16 rows and columns, no batch dimensions, and no convolution with a larger
// window than one position. Weights that are small numbers in groups keep these numbers, so only the rows are
// quantised, in the same groups g:
//
//   contract(x, (q - z) s) : f32  =>  contract(f32(round(x / sx)) sx, (q - z) s)   with sx = max|x| / 127 of each row
//   and g
//
// Integer sums are exact. The scales of a constant w fold; those of x are computed at run time. An attribute of the
// module counts the products that stay in f32, by reason.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/ErrorKind.h"
#include "graph/composites/Formulas.h"
#include "tile/Attributes.h"
#include "tile/ir/Tile.h"
#include "tile/kernel/Buffers.h"
#include "tile/packing/ExactOperands.h"
#include "tile/packing/GroupedWeights.h"
#include "tile/packing/Matrices.h"
#include "tile/packing/PackOperands.h"
#include "tile/passes/Passes.h"

#include "mlir/IR/Matchers.h"

#include <map>

namespace perpend::tile {
#define GEN_PASS_DEF_TILELOWERPRECISION
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::elementTypeOf;
using graph::Scalar;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

/// The constant that `value` is, moved, or extended from floats of fewer bits; or null.
static graph::ConstantOp constantBehind(Value value) {
  Operation *op = value.getDefiningOp();
  while (onlyMoves(op))
    op = op->getOperand(0).getDefiningOp();
  if (extendedFloats(value) && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  return dyn_cast_or_null<graph::ConstantOp>(op);
}

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

/// For example grouped weights times their scales, which a product can read directly.
static bool isComputedOfConstants(Value value, unsigned operators = 16) {
  Operation *op = value.getDefiningOp();
  if (matchPattern(value, m_Constant()))
    return true;
  return op && operators > 0 && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isComputedOfConstants(operand, operators - 1); });
}

/// The largest finite magnitude.
template <typename Bits> static float largestOf(ArrayRef<char> bytes, const llvm::fltSemantics &format) {
  float largest = 0;
  for (size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i, sizeof(bits));
    float number = llvm::bit_cast<float>(uint32_t(bits) << (32 - 8 * sizeof(Bits)));
    if (&format == &llvm::APFloat::IEEEhalf())
      number = llvm::APFloat(format, llvm::APInt(16, bits)).convertToFloat();
    if (std::isfinite(number))
      largest = std::max(largest, std::fabs(number));
  }
  return largest;
}

/// Whether a constant has a finite element that is none in `type`.
static bool overflows(Value operand, FloatType type) {
  graph::ConstantOp constant = constantBehind(operand);
  auto own = constant ? dyn_cast<FloatType>(elementTypeOf(constant)) : FloatType();
  if (!own || own.getWidth() > 32 || own == type)
    return false;
  std::vector<char> storage;
  ArrayRef<char> bytes = constantBytes(constant.getValue(), storage);
  const llvm::fltSemantics &format = own.getFloatSemantics();
  llvm::APFloat value(own.getWidth() == 32 ? largestOf<uint32_t>(bytes, format) : largestOf<uint16_t>(bytes, format));
  bool losesInfo = false;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.isInfinity();
}

namespace {
class Rounding {
public:
  explicit Rounding(FloatType type) : type(type) {}

  StringRef whyNot(Operation *op) const {
    for (Value operand : op->getOperands()) {
      if (overflows(operand, type))
        return "product of weights that are infinite in the type";
      if (!constantBehind(operand) && isComputedOfConstants(operand))
        return "product of weights that are computed of narrower ones";
    }
    return "";
  }
  void apply(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(rounded(operand.get()));
  }

private:
  /// Whether an operator only moves elements, for a single user. Zeros exist in every type.
  static bool isMoved(Operation *producer) {
    auto pad = dyn_cast_or_null<graph::PadOp>(producer);
    bool keepsNumbers = pad ? matchPattern(pad.getValue(), m_PosZeroFloat()) : onlyMoves(producer);
    return keepsNumbers && producer->hasOneUse();
  }

  /// Whether the value can be rounded for all its users: an operator computes it, and it is not a result of main.
  static bool isKept(Value value) {
    Operation *producer = value.getDefiningOp();
    return producer && !producer->hasTrait<OpTrait::ConstantLike>() &&
           llvm::none_of(value.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
  }

  /// Rounds a value once, where it is computed, before it is moved. All users of an operator's result read it rounded,
  /// so it is stored in one type. Inputs and results of main keep their type.
  Value rounded(Value value) {
    if (Operation *producer = value.getDefiningOp(); isMoved(producer)) {
      producer->setOperand(0, rounded(producer->getOperand(0)));
      return value;
    }
    if (Value known = values.lookup(value))
      return known;
    OpBuilder operations(value.getContext());
    operations.setInsertionPointAfterValue(value);
    graph::Builder builder(operations, value.getLoc());
    Value narrow = builder.cast(value, type);
    if (Operation *cast = narrow.getDefiningOp())
      cast->walk([](arith::TruncFOp op) { op->setAttr(graph::flushesAttribute, UnitAttr::get(op.getContext())); });
    Value wide = builder.cast(narrow, builder.f32());
    if (isKept(value))
      value.replaceAllUsesExcept(wide, narrow.getDefiningOp());
    values[value] = values[wide] = wide;
    return wide;
  }

  FloatType type;
  DenseMap<Value, Value> values;
};
} // namespace

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

namespace {
class Quantisation {
public:
  static StringRef whyNot(graph::ProductInterface op);
  static void apply(graph::ProductInterface op);
  /// Replaces a product with grouped weights; false if it is none.
  static bool applyToGroups(graph::ProductInterface op);

private:
  /// With fewer columns, or shorter sums, quantising the rows does not pay.
  static constexpr int64_t least = 16;
  /// The largest magnitude of an integer, and the longest sum of products that fits 32 bits.
  static constexpr int64_t largest = 127, mostDepth = std::numeric_limits<int32_t>::max() / (largest * largest);

  struct Quantised {
    Value numbers, scale;
  };
  static Quantised quantised(graph::Builder &b, Value x, int64_t dim);
};
} // namespace

StringRef Quantisation::whyNot(graph::ProductInterface op) {
  std::optional<Matrices> matrices = Matrices::of(op);
  if (!matrices)
    return "convolution of several positions";
  Value weights = op->getOperand(1);
  if (matrices->hasBatch() || !constantBehind(weights))
    return "product without constant weights";
  int64_t columns = *matrices->extents.columns.constant();
  int64_t depth = columns == 0 ? 0 : graph::tensorTypeOf(weights).getNumElements() / columns;
  if (depth < least || columns < least)
    return "product with few columns or a short sum";
  return depth > mostDepth ? "product with a sum too long" : "";
}

/// 127 x / max|x|, rounded, for each row or column along `dim`; 0 if no element exceeds 2^-120.
Quantisation::Quantised Quantisation::quantised(graph::Builder &b, Value x, int64_t dim) {
  Value magnitude = graph::pointwise(b, {x}, [](ArrayRef<Scalar> v) { return graph::abs(v[0]); });
  Value most = b.reduce(graph::ReductionKind::Max, magnitude, {dim}, /*keepDims=*/true);
  Type type = b.operations.getI8Type();
  Value numbers = b.mapBroadcast({x, most}, type, [&](OpBuilder &builder, Location loc, ValueRange v) {
    Scalar number(builder, loc, v[0]), whole(builder, loc, v[1]);
    Scalar inverse = graph::select(whole > std::ldexp(1.0, -120), double(largest) / whole, whole.constant(0));
    Scalar inRange = graph::min(graph::max(graph::roundEven(number * inverse), -double(largest)), double(largest));
    return inRange.to(builder.getI32Type()).to(type).value;
  });
  return {numbers, graph::pointwise(b, {most}, [](ArrayRef<Scalar> v) { return v[0] * (1 / double(largest)); })};
}

/// As a product of matrices, so that scaling follows the sums in the same kernel.
void Quantisation::apply(graph::ProductInterface op) {
  OpBuilder operations(op);
  graph::Builder b(operations, op->getLoc());
  Matrices matrices = *Matrices::of(op);
  Quantised x = quantised(b, matrices.left(b, op->getOperand(0)), 1);
  Quantised w = quantised(b, matrices.right(b, op->getOperand(1)), 0);
  Value product = b.cast(b.contract(x.numbers, w.numbers, {}, {}, {1}, {0}, operations.getI32Type()), b.f32());
  product = graph::mul(b, graph::mul(b, product, x.scale), w.scale);
  op->replaceAllUsesWith(ValueRange(matrices.result(b, product)));
  op->erase();
}

bool Quantisation::applyToGroups(graph::ProductInterface op) {
  std::optional<Matrices> matrices = Matrices::of(op);
  Value right = op->getOperand(1);
  if (!matrices || matrices->hasBatch() || constantBehind(right) || !isComputedOfConstants(right))
    return false;
  OpBuilder operations(op);
  graph::Builder b(operations, op->getLoc());
  Value weights = matrices->right(b, right);
  std::optional<GroupedWeights> groups = GroupedWeights::of(weights);
  if (!groups || groups->depth < least || groups->columns < least || groups->groupSize > mostDepth)
    return false;
  Value rows = matrices->left(b, op->getOperand(0)), product;
  if (groups->hasWholeGroups()) {
    Shape shape{shapeOf(rows).front(), SymbolicInt(groups->depth / groups->groupSize), SymbolicInt(groups->groupSize)};
    Quantised x = quantised(b, b.reshape(rows, shape), 2);
    rows = scaleBytes(b, x.numbers, b.reshape(x.scale, ArrayRef(shape).drop_back()));
    product = b.contract(rows, weights, {}, {}, {1}, {0}, b.f32());
  } else {
    Quantised x = quantised(b, rows, 1);
    product = b.contract(b.cast(x.numbers, b.f32()), weights, {}, {}, {1}, {0}, b.f32());
    product = graph::mul(b, product, x.scale);
  }
  op->replaceAllUsesWith(ValueRange(matrices->result(b, product)));
  op->erase();
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LowerPrecision : perpend::tile::impl::TileLowerPrecisionBase<LowerPrecision> {
  using TileLowerPrecisionBase::TileLowerPrecisionBase;

  void runOnOperation() override {
    auto type = dyn_cast_or_null<FloatType>(graph::elementTypeNamed(&getContext(), precision));
    std::optional<Rounding> rounding;
    if (type)
      rounding.emplace(type);
    else if (precision != "int8") {
      getOperation()->emitError("unknown precision '" + precision + "'")
          << graph::Hint("it is a floating-point type, or int8");
      return signalPassFailure();
    }
    SmallVector<graph::ProductInterface> operators;
    getOperation().walk([&](graph::ProductInterface op) {
      if (isa<FloatType>(elementTypeOf(op->getResult(0))))
        operators.push_back(op);
    });
    std::map<StringRef, int64_t> kept;
    int64_t taken = 0;
    for (graph::ProductInterface op : operators) {
      StringRef why = whyKept(op);
      if (why.empty() && !rounding && Quantisation::applyToGroups(op)) {
        ++taken;
        continue;
      }
      if (why.empty())
        why = rounding ? rounding->whyNot(op) : Quantisation::whyNot(op);
      if (!why.empty()) {
        ++kept[why];
        continue;
      }
      ++taken;
      if (rounding)
        rounding->apply(op);
      else
        Quantisation::apply(op);
    }
    report(taken, kept);
  }

private:
  static StringRef whyKept(graph::ProductInterface op) {
    bool isSingle = elementTypeOf(op->getResult(0)).isF32() &&
                    llvm::all_of(op->getOperands(), [](Value operand) { return elementTypeOf(operand).isF32(); });
    return isSingle ? whyUnpacked(op) : "product of another type";
  }

  void report(int64_t taken, const std::map<StringRef, int64_t> &kept) {
    OpBuilder b(&getContext());
    SmallVector<NamedAttribute> reasons;
    for (auto [why, count] : kept)
      reasons.push_back(b.getNamedAttr(why, b.getI64IntegerAttr(count)));
    getOperation()->setAttr(precisionAttribute,
                            b.getDictionaryAttr({b.getNamedAttr("type", b.getStringAttr(precision)),
                                                 b.getNamedAttr("products", b.getI64IntegerAttr(taken)),
                                                 b.getNamedAttr("kept", b.getDictionaryAttr(reasons))}));
  }
};
} // namespace
