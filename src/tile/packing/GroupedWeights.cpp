//===- GroupedWeights.cpp - products with grouped weights -----------------===//

#include "tile/packing/GroupedWeights.h"

#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/Scalars.h"
#include "graph/SymbolicCode.h"
#include "graph/composites/Formulas.h"
#include "tile/ir/BlockEmitter.h"
#include "tile/ir/KernelIndices.h"
#include "tile/kernel/Buffers.h"
#include "tile/packing/ExactOperands.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::elementTypeOf;
using graph::shapeOf;

//===----------------------------------------------------------------------===//
// What a matrix is computed from
//===----------------------------------------------------------------------===//

namespace {
/// Analyses the code of the element (k, n).
class WeightsReader {
public:
  explicit WeightsReader(Value matrix) : matrix(matrix) {}
  std::optional<GroupedWeights> run();

private:
  using Source = GroupedWeights::Source;

  bool findConstants(Value value);
  void emitElement();
  std::optional<Source> sourceOf(Value value, bool isInteger);
  bool isGroupOf(Value index);
  bool sortGroups();
  bool readElement(Value element);
  bool readProduct(Value element);
  bool readScale(Value value, std::optional<Source> &own, std::optional<Source> &shared);
  bool readZero(Value value);
  int64_t groupsThatShare();
  bool findGroups();
  bool isConstantIn(const std::optional<Source> &source, int64_t size);

  Value matrix;
  llvm::SetVector<Value> constants;
  unsigned operators = 0;
  OwningOpRef<func::FuncOp> function;
  BlockOp block;
  GroupedWeights weights;
  /// The index from which g is read, with its least and greatest value.
  Value groupOfDepth;
  int64_t firstGroup = 0, lastGroup = std::numeric_limits<int64_t>::max();
};
} // namespace

/// Whether the value is computed from constants only, in a few operators.
bool WeightsReader::findConstants(Value value) {
  constexpr unsigned mostOperators = 32;
  Operation *op = value.getDefiningOp();
  if (++operators > mostOperators)
    return false;
  if (matchPattern(value, m_Constant()))
    return constants.insert(value), true;
  auto element = dyn_cast_or_null<graph::ElementInterface>(op);
  return element && element.elementKind() != graph::ElementKind::Reduction && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return findConstants(operand); });
}

void WeightsReader::emitElement() {
  OpBuilder builder(matrix.getContext());
  auto bufferOf = [](Value tensor) -> Type {
    return BufferType::get(tensor.getContext(), shapeOf(tensor), elementTypeOf(tensor), "global");
  };
  SmallVector<Type> buffers = llvm::map_to_vector(constants, bufferOf);
  buffers.push_back(bufferOf(matrix));
  function = builder.create<func::FuncOp>(matrix.getLoc(), "element", builder.getFunctionType(buffers, {}));
  Block *body = function->addEntryBlock();
  builder.setInsertionPointToStart(body);
  BlockEmitter emitter;
  for (auto [constant, buffer] : llvm::zip(constants, body->getArguments()))
    emitter.setBuffer(constant, buffer);
  emitter.setBuffer(matrix, body->getArguments().back());
  emitter.emitBlock(builder, matrix, "element");
  function->walk([&](BlockOp found) { block = found; });
}

/// Without roundings to fewer bits that are widened again. Numbers of few bits have all of theirs there; of one that is
/// scaled, the product takes the exact value, which is at most half a unit of the last place away.
static Value withoutRounding(Value value) {
  while (auto extension = value.getDefiningOp<arith::ExtFOp>()) {
    auto rounding = extension.getIn().getDefiningOp<arith::TruncFOp>();
    if (!rounding || rounding.getIn().getType() != value.getType())
      break;
    value = rounding.getIn();
  }
  return value;
}

/// An element of a constant, converted without loss.
std::optional<GroupedWeights::Source> WeightsReader::sourceOf(Value value, bool isInteger) {
  value = withoutRounding(value);
  Operation *conversion = value.getDefiningOp();
  Source source;
  source.isUnsigned = isa_and_nonnull<arith::UIToFPOp>(conversion);
  if (isInteger ? isa_and_nonnull<arith::UIToFPOp, arith::SIToFPOp>(conversion)
                : isa_and_nonnull<arith::ExtFOp>(conversion))
    value = conversion->getOperand(0);
  auto load = value.getDefiningOp<LoadOp>();
  if (!load || isa<FloatType>(load.getType()) == isInteger)
    return std::nullopt;
  source.constant = constants[cast<BlockArgument>(load.getBuffer()).getArgNumber()];
  KernelIndices indices;
  llvm::StringMap<SymbolicInt> places;
  places[indices.names.nameOf(block.iterators()[0])] = SymbolicInt::symbol("k");
  places[indices.names.nameOf(block.iterators()[1])] = SymbolicInt::symbol("n");
  for (const SymbolicInt &index : indices.names.read(load.getIndices(), load.getVariables())) {
    std::set<std::string> used;
    index.symbols(used);
    for (const std::string &name : used)
      if (Value variable = indices.names.value(name); variable && !places.count(name) && isGroupOf(variable))
        places[name] = SymbolicInt::symbol("g");
    source.index.push_back(index.substitute(places));
    if (source.index.back().anySymbol([](StringRef name) { return name != "k" && name != "n" && name != "g"; }))
      return std::nullopt;
  }
  return source;
}

/// Whether an index is an element at k of a constant vector, clamped; all operands must use the same.
bool WeightsReader::isGroupOf(Value index) {
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
  while (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(index.getDefiningOp())) {
    Operation *limit = index.getDefiningOp();
    unsigned constant = getConstantIntValue(limit->getOperand(0)) ? 0 : 1;
    std::optional<int64_t> number = getConstantIntValue(limit->getOperand(constant));
    if (!number)
      return false;
    if (isa<arith::MinSIOp>(limit))
      last = std::min(last, *number);
    else
      first = std::max(first, *number);
    index = limit->getOperand(1 - constant);
  }
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  auto load = cast ? cast.getIn().getDefiningOp<LoadOp>() : LoadOp();
  IndexNames names;
  if (!load || !load.getType().isInteger(64) ||
      names.read(load.getIndices(), load.getVariables()) != Shape{names.symbol(block.iterators()[0])})
    return false;
  Value constant = constants[mlir::cast<BlockArgument>(load.getBuffer()).getArgNumber()];
  if (!groupOfDepth) {
    groupOfDepth = constant;
    firstGroup = first;
    lastGroup = last;
  }
  return groupOfDepth == constant && firstGroup == first && lastGroup == last;
}

/// Sorts the depth by group; groups must be equally long.
bool WeightsReader::sortGroups() {
  std::vector<char> storage;
  ArrayRef<char> bytes = constantBytes(groupOfDepth.getDefiningOp<graph::ConstantOp>().getValue(), storage);
  SmallVector<int64_t> groupOf(weights.depth);
  std::memcpy(groupOf.data(), bytes.data(), groupOf.size() * sizeof(int64_t));
  for (int64_t &group : groupOf)
    group = std::clamp(group, firstGroup, lastGroup);
  weights.order = llvm::to_vector(llvm::seq<int64_t>(0, weights.depth));
  llvm::sort(weights.order, [&](int64_t a, int64_t b) { return std::pair(groupOf[a], a) < std::pair(groupOf[b], b); });
  int64_t first = groupOf[weights.order.front()];
  weights.groupSize = llvm::count(groupOf, first);
  for (int64_t start = 0; start < weights.depth; start += weights.groupSize) {
    int64_t group = groupOf[weights.order[start]];
    int64_t end = std::min(start + weights.groupSize, weights.depth);
    if (llvm::count(groupOf, group) != end - start)
      return false;
    weights.groups.push_back(group);
  }
  if (llvm::is_sorted(weights.order))
    weights.order.clear();
  return true;
}

static std::optional<double> constantOf(Value value) {
  APFloat number(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToFloat();
}

bool WeightsReader::readZero(Value value) {
  if (std::optional<double> number = constantOf(value)) {
    weights.zero = *number;
    return std::trunc(*number) == *number;
  }
  weights.zeros = sourceOf(value, /*isInteger=*/true);
  if (!weights.zeros)
    weights.zeros = sourceOf(value, /*isInteger=*/false);
  return weights.zeros.has_value();
}

/// Matches an element of a constant of floats, or an integer times one.
bool WeightsReader::readScale(Value value, std::optional<Source> &own, std::optional<Source> &shared) {
  shared.reset();
  own = sourceOf(value, /*isInteger=*/false);
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (own || !product)
    return own.has_value();
  for (unsigned i : {0, 1}) {
    own = sourceOf(product->getOperand(i), /*isInteger=*/true);
    shared = sourceOf(product->getOperand(1 - i), /*isInteger=*/false);
    if (own && shared)
      return true;
  }
  return false;
}

/// Matches a product, or one less an offset.
bool WeightsReader::readElement(Value element) {
  auto difference = withoutRounding(element).getDefiningOp<arith::SubFOp>();
  if (!difference)
    return readProduct(element);
  return readScale(difference.getRhs(), weights.offsets, weights.sharedOffsets) && readProduct(difference.getLhs());
}

/// Matches (number - zero) * scale.
bool WeightsReader::readProduct(Value element) {
  auto product = withoutRounding(element).getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32())
    return false;
  for (unsigned i : {0, 1}) {
    Value factor = product->getOperand(1 - i);
    std::optional<double> scale = constantOf(factor);
    if (!scale && !readScale(factor, weights.scales, weights.sharedScales))
      continue;
    weights.scale = scale.value_or(1);
    Value centred = withoutRounding(product->getOperand(i));
    if (auto difference = centred.getDefiningOp<arith::SubFOp>()) {
      if (!readZero(difference.getRhs()))
        return false;
      centred = difference.getLhs();
    }
    std::optional<Source> numbers = sourceOf(centred, /*isInteger=*/true);
    if (!numbers)
      continue;
    weights.numbers = *numbers;
    return true;
  }
  return false;
}

/// Whether all elements of a group read the same element of this source.
bool WeightsReader::isConstantIn(const std::optional<Source> &source, int64_t size) {
  llvm::StringMap<SymbolicInt> places;
  places["k"] = SymbolicInt::symbol("o") * SymbolicInt(size) + SymbolicInt::symbol("r");
  IndexRanges ranges;
  ranges["r"] = SymbolicInt(size);
  return !source || llvm::none_of(source->index, [&](const SymbolicInt &index) {
    return simplify(index.substitute(places), ranges).uses("r");
  });
}

/// The greatest number of consecutive groups that share a scale and divide all groups.
int64_t WeightsReader::groupsThatShare() {
  int64_t groups = weights.depth / weights.groupSize;
  for (int64_t sharing = weights.sharedScales ? groups : 1; sharing > 1; --sharing)
    if (groups % sharing == 0 && isConstantIn(weights.sharedScales, sharing * weights.groupSize))
      return sharing;
  return 1;
}

/// Finds the longest groups: the whole depth, a divisor of it, or a power of two.
bool WeightsReader::findGroups() {
  constexpr int64_t leastGroup = 8;
  auto uses = [](const std::optional<Source> &source, StringRef name) {
    return source && llvm::any_of(source->index, [&](const SymbolicInt &index) { return index.uses(name); });
  };
  if (groupOfDepth)
    return !weights.sharedScales && !weights.offsets && !uses(weights.scales, "k") && !uses(weights.zeros, "k") &&
           !uses(weights.numbers, "g") && sortGroups() && weights.groupSize >= leastGroup;
  for (int64_t size = weights.depth; size >= leastGroup; --size) {
    bool isCandidate = weights.depth % size == 0 || llvm::isPowerOf2_64(size);
    if (isCandidate && isConstantIn(weights.scales, size) && isConstantIn(weights.zeros, size) &&
        isConstantIn(weights.sharedScales, size) && isConstantIn(weights.offsets, size) &&
        isConstantIn(weights.sharedOffsets, size)) {
      weights.groupSize = size;
      weights.sharing = groupsThatShare();
      return true;
    }
  }
  return false;
}

std::optional<GroupedWeights> WeightsReader::run() {
  Shape shape = shapeOf(matrix);
  if (shape.size() != 2 || !shape[0].constant() || !shape[1].constant() || matchPattern(matrix, m_Constant()))
    return std::nullopt;
  weights.depth = *shape[0].constant();
  weights.columns = *shape[1].constant();
  if (!findConstants(matrix))
    return std::nullopt;
  emitElement();
  auto stores = block.body()->getOps<StoreOp>();
  if (!llvm::hasSingleElement(stores) || !readElement((*stores.begin()).getValue()) || !findGroups())
    return std::nullopt;
  return weights;
}

std::optional<GroupedWeights> GroupedWeights::of(Value matrix) { return WeightsReader(matrix).run(); }

int64_t GroupedWeights::zeroShift(bool storesUnsigned) const {
  return numbers.isUnsigned && !storesUnsigned ? int64_t(1) << (graph::bitWidth(elementTypeOf(numbers.constant)) - 1)
                                               : 0;
}

/// Zero points have the numbers' type or are floats. Scales of two levels may be multiplied in advance.
bool GroupedWeights::fits(const GroupLayout &layout) const {
  unsigned bits = graph::bitWidth(elementTypeOf(numbers.constant));
  double centred = zero - double(zeroShift(layout.isUnsigned)), most = std::exp2(bits - 1);
  if (offsets || (layout.isUnsigned && !numbers.isUnsigned))
    return false;
  if (layout.sharedScale &&
      (!sharedScales || sharing == 1 || !hasWholeGroups() || elementTypeOf(scales->constant) != layout.scale ||
       elementTypeOf(sharedScales->constant) != layout.sharedScale))
    return false;
  bool hasFloats = zeros && isa<FloatType>(elementTypeOf(zeros->constant));
  bool isOfNumbers = zeros ? elementTypeOf(zeros->constant) == elementTypeOf(numbers.constant)
                           : centred == std::nearbyint(centred) && centred >= -most && centred < most;
  bool keepsScales = layout.sharedScale || layout.scale == layout.real ||
                     (scales && !sharedScales && elementTypeOf(scales->constant) == layout.scale);
  bool hasZeros = this->hasZeros(layout.isUnsigned);
  return layout.real.isF32() && keepsScales && bits == layout.number.getIntOrFloatBitWidth() &&
         hasZeros == bool(layout.zero) &&
         (!hasZeros || (hasFloats ? layout.zero.isF32() : isOfNumbers && layout.zero.isInteger(8))) &&
         (groupSize % layout.perWord == 0 || groupSize == depth);
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

namespace perpend::tile {
/// Builds tensors with the dimensions panel, group, word, column, number. Scales of two levels divide the groups into
/// two dimensions, of those that share one and those in between.
class GroupPacker {
public:
  GroupPacker(graph::Builder &builder, const GroupedWeights &weights, const Intrinsic &intrinsic, int64_t cols)
      : builder(builder), weights(weights), layout(*intrinsic.groups), cols(cols),
        panels(llvm::divideCeil(weights.columns, cols)), groups(llvm::divideCeil(weights.depth, weights.groupSize)),
        words(llvm::divideCeil(weights.groupSize, layout.perWord)) {}

  Value multiply(ScaledBytes operand);
  /// [panel, group, column].
  Value packScales();
  /// The same, times those that groups share.
  Value packWholeScales(Type type);
  Value packZeros(Type type);

private:
  friend struct GroupedWeights;
  using Source = GroupedWeights::Source;
  /// Code that computes one element of a packed constant.
  struct Code {
    OpBuilder &builder;
    Location loc;
    Value constant(int64_t value) { return builder.create<arith::ConstantIndexOp>(loc, value); }
    /// a * size + b, clamped below `end`.
    Value position(Value a, int64_t size, Value b, int64_t end) {
      Value scaled = builder.create<arith::MulIOp>(loc, a, constant(size));
      Value sum = builder.create<arith::AddIOp>(loc, scaled, b);
      return end ? builder.create<arith::MinUIOp>(loc, sum, constant(end - 1)) : sum;
    }
    Value load(Value tensor, const Source &source, Value k, Value n, Value g = {});
    /// An element of a vector of i64.
    Value at(Value vector, Value place) {
      return builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), graph::load(builder, loc, vector, place));
    }
  };

  Value column(Code code, ValueRange index) {
    return code.position(index.front(), cols, index.back(), panels * cols > weights.columns ? weights.columns : 0);
  }
  /// The index along the depth; the padding after it is multiplied by zeros.
  Value place(Code code, Value inGroup, Value group) {
    bool isCut = groups * words * layout.perWord > weights.depth;
    return code.position(group, weights.groupSize, inGroup, isCut ? weights.depth : 0);
  }
  Value packWords();
  /// Of the elements that sources have.
  using Conversion = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;
  Value ofGroups(ArrayRef<Source> sources, double otherwise, Type type, Conversion convert);
  Value packScales(ArrayRef<Source> sources, Type type);
  Value packSharedScales();
  /// Divides the dimension of groups.
  Value shared(Value packed, int64_t dim);
  bool sharesScales() const { return bool(layout.sharedScale); }
  Value decoded(ValueRange packed);
  Value floatsOf(Value bytes, Value scales);
  Value clone(Code code, Value factor, ValueRange index, ValueRange tensors);
  Value cloneRow(Code code, Value factor, ValueRange index, ValueRange tensors);

  graph::Builder &builder;
  const GroupedWeights &weights;
  const GroupLayout &layout;
  int64_t cols, panels, groups, words;
};
} // namespace perpend::tile

Value GroupPacker::Code::load(Value tensor, const Source &source, Value k, Value n, Value g) {
  SmallVector<Value> index;
  for (const SymbolicInt &expression : source.index)
    index.push_back(graph::emitSymbolicInt(builder, loc, expression, [&](StringRef name) {
      return name == "k" ? k : name == "n" ? n : g;
    }));
  return graph::load(builder, loc, tensor, index);
}

/// Packs numbers as the layout has them. Signed ones are unsigned ones minus half of their range, which flips the
/// highest bit.
Value GroupPacker::packWords() {
  Type word = layout.word;
  unsigned bits = layout.number.getIntOrFloatBitWidth();
  SmallVector<Value> inputs{weights.numbers.constant};
  if (!weights.order.empty())
    inputs.push_back(builder.integers(weights.order));
  return builder.generate(
      inputs, {SymbolicInt(panels), SymbolicInt(groups), SymbolicInt(words), SymbolicInt(cols)}, word,
      [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
        Code code{b, loc};
        Value result, n = column(code, index);
        for (int64_t e = 0; e < layout.perWord; ++e) {
          Value inGroup = code.position(index[2], layout.perWord, code.constant(e), 0);
          Value k = place(code, inGroup, index[1]);
          Value number = code.load(tensors[0], weights.numbers, tensors.size() > 1 ? code.at(tensors[1], k) : k, n);
          if (weights.numbers.isUnsigned && !layout.isUnsigned) {
            Value highest =
                b.create<arith::ConstantOp>(loc, b.getIntegerAttr(number.getType(), llvm::APInt::getSignMask(bits)));
            number = b.create<arith::XOrIOp>(loc, number, highest);
          }
          if (number.getType() != word)
            number = b.create<arith::ExtUIOp>(loc, word, number);
          if (e > 0) {
            Value shift = b.create<arith::ConstantIntOp>(loc, layout.positions[e], word);
            number = b.create<arith::ShLIOp>(loc, number, shift);
          }
          result = result ? b.create<arith::OrIOp>(loc, result, number) : number;
        }
        return result;
      });
}

/// One element per group and column: from elements of constants, or `otherwise`.
Value GroupPacker::ofGroups(ArrayRef<Source> sources, double otherwise, Type type, Conversion convert) {
  Shape shape{SymbolicInt(panels), SymbolicInt(groups), SymbolicInt(cols)};
  if (sources.empty())
    return builder.splat(shape, otherwise, type);
  SmallVector<Value> inputs = llvm::map_to_vector(sources, [](const Source &source) { return source.constant; });
  if (!weights.groups.empty())
    inputs.push_back(builder.integers(weights.groups));
  return builder.generate(inputs, shape, type, [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
    Code code{b, loc};
    Value g = tensors.size() > sources.size() ? code.at(tensors.back(), index[1]) : Value();
    Value k = place(code, code.constant(0), index[1]);
    SmallVector<Value> elements;
    for (auto [source, tensor] : llvm::zip(sources, tensors))
      elements.push_back(code.load(tensor, source, k, column(code, index), g));
    return convert(b, loc, elements);
  });
}

static SmallVector<GroupedWeights::Source> factorsOf(const std::optional<GroupedWeights::Source> &own,
                                                     const std::optional<GroupedWeights::Source> &shared) {
  SmallVector<GroupedWeights::Source> sources;
  for (const auto &source : {own, shared})
    if (source)
      sources.push_back(*source);
  return sources;
}

static Value productOf(OpBuilder &b, Location loc, ArrayRef<GroupedWeights::Source> sources, ValueRange elements,
                       Type type) {
  Value product;
  for (auto [source, element] : llvm::zip(sources, elements)) {
    Value factor = graph::convert(b, loc, element, elementTypeOf(source.constant), type);
    product = product ? b.create<arith::MulFOp>(loc, product, factor) : factor;
  }
  return product;
}

Value GroupPacker::packScales() {
  return packScales(factorsOf(weights.scales, sharesScales() ? std::nullopt : weights.sharedScales), layout.scale);
}

Value GroupPacker::packWholeScales(Type type) {
  return packScales(factorsOf(weights.scales, weights.sharedScales), type);
}

Value GroupPacker::packScales(ArrayRef<Source> sources, Type type) {
  return ofGroups(sources, weights.scale, type, [&](OpBuilder &b, Location loc, ValueRange elements) {
    return productOf(b, loc, sources, elements, type);
  });
}

/// Every `sharing`-th element, as groups read them.
Value GroupPacker::packSharedScales() {
  Value ofAll = ofGroups(*weights.sharedScales, 0, layout.sharedScale,
                         [](OpBuilder &, Location, ValueRange elements) { return elements.front(); });
  Shape shape = shapeOf(ofAll);
  shape[1] = SymbolicInt(groups / weights.sharing);
  return builder.slice(ofAll, {SymbolicInt(0), SymbolicInt(0), SymbolicInt(0)}, shape, {1, weights.sharing, 1});
}

Value GroupPacker::packZeros(Type type) {
  double shift = static_cast<double>(weights.zeroShift(layout.isUnsigned));
  SmallVector<Source> sources = factorsOf(weights.zeros, std::nullopt);
  return ofGroups(sources, weights.zero - shift, type, [&](OpBuilder &b, Location loc, ValueRange elements) {
    return (graph::Scalar(b, loc, productOf(b, loc, sources, elements, type)) - shift).value;
  });
}

Value GroupPacker::shared(Value packed, int64_t dim) {
  if (!sharesScales())
    return packed;
  Shape shape = shapeOf(packed);
  shape[dim] = SymbolicInt(groups / weights.sharing);
  shape.insert(shape.begin() + dim + 1, SymbolicInt(weights.sharing));
  return builder.reshape(packed, shape);
}

/// Clones the description's code for the element at an index.
Value GroupPacker::clone(Code code, Value factor, ValueRange index, ValueRange tensors) {
  if (isa<BlockArgument>(factor))
    return index.back();
  Operation *op = factor.getDefiningOp();
  if (auto load = dyn_cast<LoadOp>(op)) {
    constexpr unsigned words = 1, sharedScales = 3;
    unsigned buffer = cast<BlockArgument>(load.getBuffer()).getArgNumber();
    const size_t ofGroups = sharesScales() ? 2 : 1, column = ofGroups + 2;
    SmallVector<Value> at(index.take_front(sharesScales() && buffer == sharedScales ? ofGroups : ofGroups + 1));
    if (buffer == words)
      at.push_back(index[column - 1]);
    at.push_back(index[column]);
    return graph::load(code.builder, code.loc, tensors[buffer - 1], at);
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, clone(code, operand, index, tensors));
  return code.builder.clone(*op, mapping)->getResult(0);
}

/// The same of bytes and their scales.
Value GroupPacker::cloneRow(Code code, Value factor, ValueRange index, ValueRange tensors) {
  Operation *op = factor.getDefiningOp();
  if (auto load = dyn_cast<LoadOp>(op)) {
    bool isByte = cast<BlockArgument>(load.getBuffer()).getArgNumber() == 0;
    return graph::load(code.builder, code.loc, tensors[isByte ? 0 : 1],
                       isByte ? index : index.take_front(sharesScales() ? 3 : 2));
  }
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, cloneRow(code, operand, index, tensors));
  return code.builder.clone(*op, mapping)->getResult(0);
}

/// packed: the words, and what else the description reads.
Value GroupPacker::decoded(ValueRange packed) {
  Shape shape = shapeOf(packed.front());
  if (layout.perWord > 1)
    shape.emplace_back(layout.perWord);
  Value result = builder.generate(SmallVector<Value>(packed), shape, layout.real,
                                  [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
                                    return clone(Code{b, loc}, layout.factor, index, tensors);
                                  });
  result.getDefiningOp()->setAttr(graph::computedByUsersAttribute, builder.operations.getUnitAttr());
  return result;
}

/// The numbers that bytes stand for, by a copy of the description's code. scales: of the bytes' groups, or null.
Value GroupPacker::floatsOf(Value bytes, Value scales) {
  SmallVector<Value> inputs{bytes};
  if (scales)
    inputs.push_back(scales);
  Value floats = builder.generate(inputs, shapeOf(bytes), layout.real,
                                  [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
                                    return cloneRow(Code{b, loc}, layout.row, index, tensors);
                                  });
  floats.getDefiningOp()->setAttr(graph::computedByUsersAttribute, builder.operations.getUnitAttr());
  return floats;
}

Value GroupPacker::multiply(ScaledBytes operand) {
  Value rows = operand.numbers;
  SymbolicInt count = shapeOf(rows).front();
  int64_t depth = groups * words * layout.perWord;
  if (!weights.order.empty())
    rows = builder.gather(rows, builder.integers(weights.order), 1);
  if (depth > weights.depth)
    rows = builder.pad(rows, {SymbolicInt(0), SymbolicInt(0)}, {SymbolicInt(0), SymbolicInt(depth - weights.depth)},
                       builder.operations.getZeroAttr(elementTypeOf(rows)));
  if (layout.hasBytes())
    rows = unsignedBytes(builder, rows);
  Shape left{count, SymbolicInt(groups), SymbolicInt(words)};
  const int64_t word = sharesScales() ? 3 : 2;
  SmallVector<int64_t> leftDims = llvm::to_vector(llvm::seq<int64_t>(1, word + 1)), rightDims = leftDims;
  if (layout.perWord > 1) {
    left.emplace_back(layout.perWord);
    leftDims.push_back(word + 1);
    rightDims.push_back(word + 2);
  }
  SmallVector<Value> packed{shared(packWords(), 1), shared(packScales(), 1)};
  if (sharesScales())
    packed.push_back(packSharedScales());
  if (layout.zero)
    packed.push_back(shared(packZeros(layout.zero), 1));
  Value right = decoded(packed);
  rows = shared(builder.reshape(rows, left), 1);
  if (layout.hasBytes())
    rows = floatsOf(rows, operand.scales ? shared(operand.scales, 1) : Value());
  Value product = builder.contract(rows, right, {}, {}, leftDims, rightDims, layout.real);
  product = builder.reshape(product, {count, SymbolicInt(panels * cols)});
  if (panels * cols == weights.columns)
    return product;
  return builder.slice(product, {SymbolicInt(0), SymbolicInt(0)}, {count, SymbolicInt(weights.columns)}, {1, 1});
}

Value GroupedWeights::multiply(graph::Builder &builder, const ScaledBytes &rows, const Intrinsic &intrinsic,
                               int64_t panelColumns) const {
  return GroupPacker(builder, *this, intrinsic, panelColumns).multiply(rows);
}

GroupedWeights GroupedWeights::withoutOffsets() const {
  GroupedWeights others = *this;
  others.offsets.reset();
  others.sharedOffsets.reset();
  return others;
}

GroupedWeights GroupedWeights::withoutZeros() const {
  GroupedWeights numbersAlone = *this;
  numbersAlone.zeros.reset();
  numbersAlone.zero = double(zeroShift());
  return numbersAlone;
}

/// The sums of the groups of rows, which are exact if the rows are bytes: [m, groups].
static Value sumsOfGroups(graph::Builder &builder, const ScaledBytes &rows, int64_t groupSize) {
  Type real = builder.f32();
  Value numbers = rows.numbers;
  if (!rows.scales) {
    Shape shape = shapeOf(numbers);
    shape.back() = floorDiv(shape.back(), SymbolicInt(groupSize));
    shape.emplace_back(groupSize);
    return builder.reduce(graph::ReductionKind::Sum, builder.reshape(numbers, shape), {2}, /*keepDims=*/false);
  }
  Value wide = builder.cast(numbers, builder.operations.getI32Type());
  Value sums = builder.cast(builder.reduce(graph::ReductionKind::Sum, wide, {2}, /*keepDims=*/false), real);
  return graph::mul(builder, sums, rows.scales);
}

/// The offsets are left as a product of two constants, so that they are packed as numbers in groups in turn.
Value GroupedWeights::multiplyOffsets(graph::Builder &builder, const ScaledBytes &rows) const {
  if (!offsets)
    return {};
  SmallVector<Source> sources = factorsOf(offsets, sharedOffsets);
  SmallVector<Value> inputs = llvm::map_to_vector(sources, [](const Source &source) { return source.constant; });
  Type real = builder.f32();
  Value matrix = builder.generate(inputs, {SymbolicInt(depth / groupSize), SymbolicInt(columns)}, real,
                                  [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
                                    GroupPacker::Code code{b, loc};
                                    Value k = code.position(index[0], groupSize, code.constant(0), 0);
                                    SmallVector<Value> elements;
                                    for (auto [source, tensor] : llvm::zip(sources, tensors))
                                      elements.push_back(code.load(tensor, source, k, index[1]));
                                    return productOf(b, loc, sources, elements, real);
                                  });
  return builder.contract(sumsOfGroups(builder, rows, groupSize), matrix, {}, {}, {1}, {0}, real);
}

Value GroupedWeights::multiplyZeros(graph::Builder &builder, const ScaledBytes &rows,
                                    const Intrinsic &intrinsic) const {
  if (!hasZeros())
    return {};
  Type real = builder.f32();
  GroupPacker packer(builder, *this, intrinsic, columns);
  Value zeroPoints = graph::mul(builder, packer.packZeros(real), packer.packWholeScales(real));
  zeroPoints = builder.reshape(zeroPoints, {SymbolicInt(depth / groupSize), SymbolicInt(columns)});
  return builder.contract(sumsOfGroups(builder, rows, groupSize), zeroPoints, {}, {}, {1}, {0}, real);
}
