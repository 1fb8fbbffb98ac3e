//===- PlaceProducts.cpp - products of small tensors, enlarged after ------===//
//
// A product over channels, and a weighted sum of elements at other positions, as of a resized image, may be computed in
// either order. If the sum makes the tensor larger, as decoders' heads do before a convolution of single positions, the
// product comes first, on fewer positions. A concat of channels before the product becomes a sum of products, if most
// of the work is on such parts. Only products of f32 and f64, because narrower values would be rounded elsewhere. Runs
// after PlaceTransposes, when no transpose is in between.
//
//   conv1x1(concat(a, resized(x)))  =>  conv1x1(a) + resized'(conv1x1(x))
//
//===----------------------------------------------------------------------===//

#include "graph/PointProducts.h"
#include "graph/Work.h"
#include "graph/builder/Builder.h"
#include "graph/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHPLACEPRODUCTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;
using GraphBuilder = perpend::graph::Builder;

/// How many times more elements an enlarged tensor has, at least.
static constexpr double leastRatio = 2;
/// Channels of an enlarged part: with fewer, a product takes no longer than what it saves.
static constexpr int64_t leastChannels = 32;
/// Channels of the result for each of the part: all of them are resized then.
static constexpr double mostGrowth = 4;
/// Part of the products' work that remains, at most, for a concat to be divided.
static constexpr double mostRemaining = 0.6;

/// The tensor of which `value` is enlarged, in one step or several; `value` if it is not.
static Value sourceOf(Value value) {
  while (std::optional<Enlargement> enlargement = Enlargement::of(value))
    value = enlargement->source();
  return value;
}

/// Elements of the small tensor for each of `value`, if a product should come before it is enlarged; otherwise 1.
static double remainingOf(Value value, const PointProduct &product) {
  Value source = sourceOf(value);
  std::optional<int64_t> channels = shapeOf(value).back().constant(), results = product.resultChannels().constant();
  double part = estimatedElements(source) / std::max(1.0, estimatedElements(value));
  bool isWorthIt = channels && results && *channels >= leastChannels &&
                   double(*results) <= mostGrowth * double(*channels) && part * leastRatio <= 1;
  return isWorthIt ? part : 1;
}

/// The product of `value`, computed on what it is enlarged from.
static Value productBefore(GraphBuilder &builder, const PointProduct &product, Value value, const SymbolicInt &first) {
  std::optional<Enlargement> enlargement = Enlargement::of(value);
  if (!enlargement)
    return product.build(builder, value, first);
  return enlargement->build(builder, productBefore(builder, product, enlargement->source(), first));
}

static Value sumOf(GraphBuilder &builder, Value a, Value b) {
  return builder.map({a, b}, tensorTypeOf(a).getElementType(), [](OpBuilder &inner, Location loc, ValueRange v) {
    return inner.create<arith::AddFOp>(loc, v[0], v[1]).getResult();
  });
}

/// One product for each part of a concat of channels.
static Value productOfParts(GraphBuilder &builder, const PointProduct &product, ValueRange parts) {
  Value sum;
  SymbolicInt first;
  for (Value part : parts) {
    bool isMoved = remainingOf(part, product) < 1;
    Value one = isMoved ? productBefore(builder, product, part, first) : product.build(builder, part, first);
    sum = sum ? sumOf(builder, sum, one) : one;
    first += shapeOf(part).back();
  }
  return sum;
}

static bool isWorthDividing(ValueRange parts, const PointProduct &product) {
  double before = 0, after = 0;
  for (Value part : parts) {
    double work = estimatedElements(part);
    before += work;
    after += work * remainingOf(part, product);
  }
  return after <= mostRemaining * before;
}

namespace {
struct PlaceProducts : perpend::graph::impl::GraphPlaceProductsBase<PlaceProducts> {
  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](ProductInterface op) { products.push_back(op); });
    for (Operation *op : products)
      if (Value result = moved(op)) {
        op->replaceAllUsesWith(ValueRange(result));
        op->erase();
      }
  }

  /// The same value, or null if the product stays where it is.
  static Value moved(Operation *op) {
    std::optional<PointProduct> product = PointProduct::of(op);
    Type type = tensorTypeOf(op->getResult(0)).getElementType();
    if (!product || !(type.isF32() || type.isF64()) || tensorTypeOf(product->input()).getElementType() != type)
      return {};
    OpBuilder operations(op);
    GraphBuilder builder(operations, op->getLoc());
    Value input = product->input();
    ValueRange parts = partsOfChannels(input);
    if (!parts.empty() && isWorthDividing(parts, *product))
      return productOfParts(builder, *product, parts);
    return remainingOf(input, *product) < 1 ? productBefore(builder, *product, input, SymbolicInt(0)) : Value();
  }
};
} // namespace
