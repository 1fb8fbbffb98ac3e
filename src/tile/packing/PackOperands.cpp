//===- PackOperands.cpp - packs operands for intrinsics -------------------===//
//
// Rewrites contractions and channels-last convolutions as tile.matmul and tile.conv, whose operands are laid out as an
// intrinsic of the machine requires (intrinsics/PanelLayout.h): the left operand row-major, the right operand in
// panels of columns. PanelChoice.h ranks the intrinsics; the pass takes the first whose element types represent both
// operands exactly (ExactOperands.h), and leaves the operator unchanged if there is none. Packing consists of graph
// pads, reshapes and transposes, so constant folding packs constant weights, and a kernel packs other operands at run
// time. For few rows the pass computes the transposed product or leaves the operands unpacked (FewRows.h).
//
// Contractions with one column and convolutions with padding stay unchanged. Integer depthwise convolutions stay
// graph.conv, but their operands are converted to the element types of an intrinsic's words.
//
//   contract(x : [m, k], w : [k, n])  =>  tile.matmul(x, transpose(reshape(pad(w))) : [n/cols, k/g, cols, g])
//
//===----------------------------------------------------------------------===//

#include "tile/packing/PackOperands.h"
#include "graph/Attributes.h"
#include "graph/BatchInvariance.h"
#include "graph/ElementTypes.h"
#include "graph/Rows.h"
#include "graph/States.h"
#include "graph/composites/Formulas.h"
#include "tile/ir/Tile.h"
#include "tile/kernel/Buffers.h"
#include "tile/packing/FewRows.h"
#include "tile/packing/Packer.h"
#include "tile/passes/Passes.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEPACKOPERANDS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

/// Constants stay in the type that the model has them in, where that is about as fast as what else their numbers and
/// those of the left operand may be; caches in any case, since other types are copies of all rows in each run. Of
/// equally fast choices, one that reads the left operand's bytes as they are comes first.
SmallVector<PanelChoice> Packer::choicesFor(const ProductExtents &extents, Value left, Value right) {
  constexpr double aboutAsFast = 1.4;
  SmallVector<PanelChoice> choices = panelChoices(sum, extents, target, precision), first, others;
  Type bytes = bytesBehind(left);
  auto *asItIs = llvm::find_if(choices, [&](const PanelChoice &choice) { return choice.panels().left == bytes; });
  if (bytes && asItIs != choices.end() && asItIs->cyclesPerPoint == choices.front().cyclesPerPoint)
    std::rotate(choices.begin(), asItIs, asItIs + 1);
  const bool isCache = isOfGrownState(right);
  Type own = precision || !(isCache || folded.contains(right)) ? Type() : extendedFloats(right),
       ownLeft = extendedFloats(left);
  auto fits = [&](const PanelChoice &choice) {
    return holdsAll(choice.panels().right, own) &&
           holdsAll(choice.panels().left, ownLeft ? ownLeft : graph::tensorTypeOf(left).getElementType());
  };
  auto cheapest = own ? llvm::find_if(choices, fits) : choices.end();
  if (cheapest == choices.end())
    return choices;
  double most = aboutAsFast * cheapest->cyclesPerPoint;
  for (const PanelChoice &choice : choices)
    (choice.panels().right == own && (isCache || choice.cyclesPerPoint <= most) ? first : others).push_back(choice);
  llvm::append_range(first, others);
  return first;
}

std::optional<Packer::Operands> Packer::operandsFor(const PanelChoice &choice, Value lhs, Value rhs,
                                                    bool mayHaveRightZero) {
  // The left one first: of large constants, which most right ones are, all elements are read.
  std::optional<CentredNumbers> left = asNumbersOf(builder, lhs, choice.panels().left);
  std::optional<CentredNumbers> right = left ? asNumbersOf(builder, rhs, choice.panels().right) : std::nullopt;
  if (!right || (right->zero && !mayHaveRightZero))
    return std::nullopt;
  return Operands{*left, *right};
}

/// Pads dimensions with zeros to multiples.
Value Packer::wholeMultiples(Value tensor, ArrayRef<std::pair<int64_t, int64_t>> multiples) {
  Shape shape = shapeOf(tensor), low(shape.size(), SymbolicInt(0)), high(low);
  for (auto [dim, multiple] : multiples)
    high[dim] = ceilDiv(shape[dim], SymbolicInt(multiple)) * SymbolicInt(multiple) - shape[dim];
  if (high == low)
    return tensor;
  return builder.pad(tensor, low, high, operations.getZeroAttr(graph::scalarTypeOf(tensor)));
}

/// Packs [outer..., inner..., k, n] into [outer..., n / cols, inner..., k / g, n mod cols, k mod g]; the last dimension
/// exists only if words have several elements. k is padded to a multiple of `depth`.
Value Packer::pack(Value matrix, size_t outerRank, const PanelChoice &choice, int64_t depth) {
  int64_t group = choice.panels().group, rank = graph::tensorTypeOf(matrix).getRank();
  matrix = wholeMultiples(matrix, {{rank - 1, choice.columns}, {rank - 2, depth}});
  Shape shape = shapeOf(matrix);
  shape.back() = ceilDiv(shape.back(), SymbolicInt(choice.columns));
  shape.emplace_back(choice.columns);
  if (group > 1) {
    shape[rank - 2] = ceilDiv(shape[rank - 2], SymbolicInt(group));
    shape.insert(shape.begin() + rank - 1, SymbolicInt(group));
  }
  // Moves the panels after the outer dimensions, and the elements of a word to the end.
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  int64_t panels = shape.size() - 2;
  permutation.erase(permutation.begin() + panels);
  if (group > 1)
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  permutation.insert(permutation.begin() + outerRank, panels);
  if (group == 1 && graph::isGrownState(matrix) && !graph::orderOfRows(matrix.getDefiningOp()).empty())
    return packedRows(matrix.getDefiningOp(), permutation, choice.columns);
  return builder.transpose(builder.reshape(matrix, shape), permutation);
}

/// The same with rows of a cache, which become panels where they lie: one transpose comes last, and the product reads
/// through it.
Value Packer::packedRows(Operation *rows, ArrayRef<int64_t> permutation, int64_t columns) {
  Value stored = rows->getOperand(0);
  ArrayRef<int64_t> given = graph::orderOfRows(rows);
  Shape shape = shapeOf(stored);
  size_t last = shape.size() - 1;
  shape.back() = floorDiv(shape.back(), SymbolicInt(columns));
  shape.emplace_back(columns);
  SmallVector<int64_t> order =
      llvm::map_to_vector(permutation, [&](int64_t dim) { return dim < int64_t(last) ? given[dim] : dim; });
  return builder.transpose(builder.reshape(stored, shape), order);
}

/// [..., m, k] times [..., k, n].
Value Packer::matmul(const Operands &operands, const PanelChoice &choice) {
  Value lhs = operands.lhs.numbers, rhs = operands.rhs.numbers;
  Shape shape = shapeOf(lhs);
  int64_t depth = shape.size() - 1;
  shape.back() = shapeOf(rhs).back();
  Value rows = wholeMultiples(lhs, {{depth, choice.panels().depth}});
  Value packed = pack(rhs, shape.size() - 2, choice, choice.panels().depth);
  packed = fromTable(builder, packed, choiceOf(packed));
  Value product = operations.create<MatmulOp>(builder.location, graph::tensorType(shape, sum), rows, packed);
  return subtractZeros(builder, product, operands.lhs, operands.rhs);
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Panel width for weights in groups: the widest whose sums, group copies and numbers fit the registers, since all rows
/// share the cost of unpacking. `rows`: nothing if not known.
static int64_t groupedPanel(int64_t columns, std::optional<int64_t> rows, const target::Machine &target) {
  int64_t lanes = target.vectorLanes(4), count = rows.value_or(target.gemmRows);
  SmallVector<int64_t> sizes = panelSizes(SymbolicInt(columns), lanes);
  int64_t best = sizes.front();
  for (int64_t size : sizes) {
    int64_t vectors = size / lanes;
    bool isWider = size > best && llvm::alignTo(columns, size) == llvm::alignTo(columns, best);
    if (isWider && vectors * (3 * count + 2) + 2 <= int64_t(target.vectorRegisters))
      best = size;
  }
  return best;
}

/// The intrinsic that reads numbers of this form, and rows of floats or of bytes: the one with the narrowest numbers,
/// and with the narrowest scales of these.
const Intrinsic *Packer::intrinsicFor(const GroupedWeights &weights, const ScaledBytes &left, bool isFloat) {
  auto bitsOf = [](const Intrinsic &intrinsic) {
    return std::pair(intrinsic.groups->number.getIntOrFloatBitWidth(), graph::bitWidth(intrinsic.groups->scale));
  };
  const Intrinsic *best = nullptr;
  for (const auto &intrinsic : IntrinsicLibrary::of(sum.getContext()).list())
    if (intrinsic->groups && intrinsic->groups->hasBytes() != isFloat &&
        bool(intrinsic->groups->rowScale) == bool(left.scales) && (!best || bitsOf(*intrinsic) < bitsOf(*best)) &&
        intrinsic->missingOn(target).empty() && weights.fits(*intrinsic->groups))
      best = intrinsic.get();
  return best;
}

/// The product of rows with a constant matrix of grouped numbers, if an intrinsic reads them; or null. Rows that bytes
/// were converted to are read as these; zero points are then a product of their own where no intrinsic has them.
Value Packer::groupedProduct(Value rows, Value matrix, bool isForAnyRows) {
  std::optional<GroupedWeights> weights =
      sum.isF32() && graph::tensorTypeOf(rows).getElementType() == sum ? GroupedWeights::of(matrix) : std::nullopt;
  if (!weights)
    return {};
  // Entries for one row and for many share the weights of a batch-invariant module.
  std::optional<int64_t> count = isForAnyRows ? std::nullopt : shapeOf(rows).front().constant();
  SmallVector<ScaledBytes> operands;
  if (weights->hasWholeGroups())
    operands.push_back(bytesBehindScales(rows, weights->groupSize));
  operands.push_back({bytesBehindFloats(builder, rows), {}});
  operands.push_back({rows, {}});
  int64_t panel = groupedPanel(weights->columns, count, target);
  auto packFurther = [&](Value product) {
    if (auto op = product.getDefiningOp<graph::ProductInterface>())
      further.push_back(op);
    return product;
  };
  for (const ScaledBytes &left : operands) {
    if (!left.numbers)
      continue;
    bool isFloat = left.numbers == rows;
    if (weights->offsets && weights->hasWholeGroups() && (left.scales || isFloat)) {
      GroupedWeights others = weights->withoutOffsets();
      if (const Intrinsic *intrinsic = intrinsicFor(others, left, isFloat)) {
        Value ofOffsets = packFurther(weights->multiplyOffsets(builder, left));
        return graph::sub(builder, others.multiply(builder, left, *intrinsic, panel), ofOffsets);
      }
      continue;
    }
    if (const Intrinsic *intrinsic = intrinsicFor(*weights, left, isFloat))
      return weights->multiply(builder, left, *intrinsic, panel);
    GroupedWeights numbers = weights->withoutZeros();
    if (const Intrinsic *intrinsic = left.scales ? intrinsicFor(numbers, left, isFloat) : nullptr) {
      Value ofZeros = packFurther(weights->multiplyZeros(builder, left, *intrinsic));
      return graph::sub(builder, numbers.multiply(builder, left, *intrinsic, panel), ofZeros);
    }
  }
  return {};
}

/// Whether an intrinsic reads the operand itself as its left one, rather than a copy padded to whole words or
/// converted.
static bool readsInPlace(const PanelChoice &choice, Value operand, const SymbolicInt &depth) {
  while (onlyMoves(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  int64_t bits = graph::bitWidth(graph::tensorTypeOf(operand).getElementType());
  if (auto map = operand.getDefiningOp<graph::MapOp>(); map && map.getInputs().size() == 1) // it may extend it
    bits = std::min<int64_t>(bits, graph::bitWidth(graph::tensorTypeOf(map.getInputs()[0]).getElementType()));
  return graph::bitWidth(choice.panels().left) <= bits &&
         mod(depth, SymbolicInt(choice.panels().depth)) == SymbolicInt(0);
}

static Value transposeLast(graph::Builder &builder, Value tensor) {
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, graph::tensorTypeOf(tensor).getRank()));
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return builder.transpose(tensor, permutation);
}

/// Packs the product, or the transposed product.
Value Packer::product(Operation *op, const Matrices &matrices, bool isTransposed) {
  ProductExtents extents = matrices.extents;
  if (isTransposed)
    std::swap(extents.rows, extents.columns);
  if (graph::isBatchInvariant(op)) { // an intrinsic for few rows or columns may add up in another order
    extents.rows = SymbolicInt::symbol("any");
    if (isTransposed)
      extents.columns = max(extents.columns, SymbolicInt(target.vectorLanes(elementBytes(sum))));
  }
  Value left = op->getOperand(isTransposed ? 1 : 0), right = op->getOperand(isTransposed ? 0 : 1);
  auto addsUpInOrder = [&](const PanelChoice &choice) { // words of several elements have several sums
    return !graph::isBatchInvariant(op) || !isa<FloatType>(choice.panels().left) || choice.panels().group == 1;
  };
  for (const PanelChoice &choice : choicesFor(extents, left, right)) {
    if (isTransposed && (!readsInPlace(choice, left, extents.depth) || !addsUpInOrder(choice)))
      continue;
    auto operands = operandsFor(choice, left, right, /*mayHaveRightZero=*/true);
    if (!operands)
      continue;
    Value &lhs = operands->lhs.numbers, &rhs = operands->rhs.numbers;
    lhs = isTransposed ? matrices.transposedRight(builder, lhs) : matrices.left(builder, lhs);
    rhs = isTransposed ? matrices.transposedLeft(builder, rhs) : matrices.right(builder, rhs);
    Value product = matmul(*operands, choice);
    return matrices.result(builder, isTransposed ? transposeLast(builder, product) : product);
  }
  return {};
}

Value Packer::product(graph::ProductInterface op, const Matrices &matrices) {
  if (!folded.contains(op->getOperand(1))) {
    if (isTransposed(op, matrices, target))
      if (Value transposed = product(op, matrices, /*isTransposed=*/true))
        return transposed;
    if (isReadAsItIs(op, matrices, target))
      return {};
  }
  if (!matrices.hasBatch())
    if (Value product = groupedProduct(matrices.left(builder, op->getOperand(0)),
                                       matrices.right(builder, op->getOperand(1)), graph::isBatchInvariant(op)))
      return matrices.result(builder, product);
  return product(op, matrices, /*isTransposed=*/false);
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

static StringRef whyUnpacked(graph::ConvOp op) {
  bool isOfWindow = op.getStrides().size() == 1 || op.getStrides().size() == 2;
  if (!llvm::all_of(op.getInputDilation(), [](int64_t dilation) { return dilation == 1; }))
    return "transposed convolution";
  if (op.isDepthwise())
    return "depthwise convolution";
  return isOfWindow ? "" : "convolution over more than two dimensions";
}

/// A product with a single column is better as a sum along each row. In convolutions, rows are many and short.
StringRef perpend::tile::whyUnpacked(graph::ProductInterface op) {
  std::optional<Matrices> matrices = Matrices::of(op);
  if (!matrices || !matrices->readsAll())
    return ::whyUnpacked(cast<graph::ConvOp>(op));
  if (!matrices->hasSum())
    return "product without a sum";
  bool isColumn = matrices->extents.columns == SymbolicInt(1) && !isa<graph::ConvOp>(op);
  return isColumn ? "product with one column" : "";
}

Value Packer::packed(graph::ProductInterface op) {
  if (std::optional<Matrices> matrices = Matrices::of(op); matrices && matrices->readsAll())
    return perpend::tile::whyUnpacked(op).empty() ? product(op, *matrices) : Value();
  auto conv = cast<graph::ConvOp>(op);
  return conv.isDepthwise() || ::whyUnpacked(conv).empty() ? convolution(conv) : Value();
}

namespace {
struct PackOperands : perpend::tile::impl::TilePackOperandsBase<PackOperands> {
  using TilePackOperandsBase::TilePackOperandsBase;

  void runOnOperation() override {
    SmallVector<graph::ProductInterface> operators;
    auto isPacked = [](Value operand) {
      return operand.getDefiningOp() && operand.getDefiningOp()->hasAttr(graph::computedByUsersAttribute);
    };
    getOperation().walk([&](graph::ProductInterface op) {
      if (llvm::none_of(op->getOperands(), isPacked))
        operators.push_back(op);
    });
    DenseSet<Value> folded = foldedValues(getOperation());
    Type preferred = precision == "f32" ? Type() : graph::elementTypeNamed(&getContext(), precision);
    for (size_t next = 0; next < operators.size(); ++next) {
      graph::ProductInterface op = operators[next];
      OpBuilder operations(op);
      Packer packer(operations, op, target, preferred, folded);
      Value packed = packer.packed(op);
      for (graph::ProductInterface further : packer.further) {
        operators.push_back(further);
        folded.insert(further->getOperand(1));
      }
      if (!packed)
        continue;
      op->replaceAllUsesWith(ValueRange(packed));
      folded.erase(op->getResult(0));
      op->erase();
    }
  }
};
} // namespace
