//===- ReadGroupedWeights.cpp - recognises matrices of grouped weights ----===//
//
// Finds out whether the elements of a matrix are numbers in groups (GroupedWeights.h): emits the code of the element
// (k, n), and reads which elements of constants it multiplies and subtracts.
//
//===----------------------------------------------------------------------===//

#include "tile/packing/GroupedWeights.h"

#include "graph/ElementTypes.h"
#include "graph/composites/Formulas.h"
#include "tile/ir/BlockEmitter.h"
#include "tile/ir/KernelIndices.h"
#include "tile/kernel/Buffers.h"
#include "tile/packing/ExactOperands.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::elementTypeOf;
using graph::shapeOf;

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
  bool isChoice(StringRef name);
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
    for (const std::string &name : used) {
      if (Value variable = indices.names.value(name); variable && !places.count(name) && isGroupOf(variable))
        places[name] = SymbolicInt::symbol("g");
      if (!places.count(name) && !isChoice(name))
        return std::nullopt;
    }
    source.index.push_back(index.substitute(places));
  }
  return source;
}

/// Whether a symbol chooses the matrix. It must differ from those of expressions.
bool WeightsReader::isChoice(StringRef name) {
  if (!weights.choice)
    weights.choice = choiceOf(matrix);
  return weights.choice && weights.choice->symbol == name && name != "k" && name != "n" && name != "g";
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
  ElementsAttr constant;
  matchPattern(groupOfDepth, m_Constant(&constant));
  ArrayRef<char> bytes = constantBytes(constant, storage);
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
