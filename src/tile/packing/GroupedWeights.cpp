//===- GroupedWeights.cpp - products with grouped weights -----------------===//

#include "tile/packing/GroupedWeights.h"

#include "graph/Attributes.h"
#include "graph/ElementTypes.h"
#include "graph/Scalars.h"
#include "graph/SymbolicCode.h"
#include "graph/composites/Formulas.h"
#include "tile/ir/KernelIndices.h"
#include "tile/kernel/Buffers.h"
#include "tile/packing/ExactOperands.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::elementTypeOf;
using graph::shapeOf;

int64_t GroupedWeights::zeroShift(bool storesUnsigned) const {
  return numbers.isUnsigned && !storesUnsigned ? int64_t(1) << (graph::bitWidth(elementTypeOf(numbers.constant)) - 1)
                                               : 0;
}

bool GroupedWeights::areWithin(double least, double most) const {
  if (!range)
    range = rangeOfConstant(numbers.constant, numbers.isUnsigned);
  return range && double(range->first) >= least && double(range->second) <= most;
}

bool GroupedWeights::isNarrowed(const GroupLayout &layout) const {
  return layout.number.getIntOrFloatBitWidth() < graph::bitWidth(elementTypeOf(numbers.constant));
}

/// Zero points have the numbers' type or are floats. Scales of two levels may be multiplied in advance. Bytes whose
/// numbers all have fewer bits fit layouts of these, where sums are exact.
bool GroupedWeights::fits(const GroupLayout &layout) const {
  unsigned bits = graph::bitWidth(elementTypeOf(numbers.constant));
  double centred = zero - double(zeroShift(layout.isUnsigned)), most = std::exp2(bits - 1);
  const bool isNarrowed = this->isNarrowed(layout);
  if (offsets || (layout.isUnsigned && !numbers.isUnsigned && !isNarrowed))
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
  if (!layout.real.isF32() || !keepsScales || (groupSize % layout.perUnit() != 0 && groupSize != depth))
    return false;
  if (isNarrowed) {
    const double range = std::exp2(layout.number.getIntOrFloatBitWidth()), least = layout.isUnsigned ? 0 : -range / 2;
    return bits == 8 && layout.hasBytes() && !zeros && !layout.zero && zero == std::nearbyint(zero) &&
           areWithin(zero + least, zero + least + range - 1);
  }
  bool hasZeros = this->hasZeros(layout.isUnsigned);
  return bits == layout.number.getIntOrFloatBitWidth() && hasZeros == bool(layout.zero) &&
         (!hasZeros || (hasFloats ? layout.zero.isF32() : isOfNumbers && layout.zero.isInteger(8)));
}

//===----------------------------------------------------------------------===//
// Packing
//===----------------------------------------------------------------------===//

namespace perpend::tile {
/// Builds tensors with the dimensions panel, group, unit, word (if units have several), column, number. Scales of two
/// levels divide the groups into two dimensions, of those that share one and those in between.
class GroupPacker {
public:
  GroupPacker(graph::Builder &builder, const GroupedWeights &weights, const Intrinsic &intrinsic, int64_t cols)
      : builder(builder), weights(weights), layout(*intrinsic.groups), iterators(intrinsic.block.iterators()),
        cols(cols), panels(llvm::divideCeil(weights.columns, cols)),
        groups(llvm::divideCeil(weights.depth, weights.groupSize)),
        units(llvm::divideCeil(weights.groupSize, layout.perUnit())) {}

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
    bool isCut = groups * units * layout.perUnit() > weights.depth;
    return code.position(group, weights.groupSize, inGroup, isCut ? weights.depth : 0);
  }
  Value numberOf(Code code, Value inGroup, ValueRange index, ValueRange tensors);
  Value packParts(bool ofUnits, ArrayRef<int64_t> positions, int64_t lowest);
  Value packWords() { return packParts(/*ofUnits=*/false, layout.positions, 0); }
  Value packUpper() { return packParts(/*ofUnits=*/true, layout.upperPositions, layout.lowerBits); }
  /// Of the elements that sources have.
  using Conversion = llvm::function_ref<Value(OpBuilder &, Location, ValueRange)>;
  Value ofGroups(ArrayRef<Source> sources, double otherwise, Type type, Conversion convert, int64_t step = 1);
  Value packScales(ArrayRef<Source> sources, Type type);
  Value packSharedScales();
  /// Divides the dimension of groups.
  Value shared(Value packed, int64_t dim);
  bool sharesScales() const { return bool(layout.sharedScale); }
  int64_t dimsOfUnit() const { return layout.upper ? 2 : 1; }
  Value decoded(ValueRange packed);
  Value floatsOf(Value bytes, Value scales);
  Value clone(Code code, Value factor, ValueRange index, ValueRange tensors);
  Value cloneRow(Code code, Value factor, ValueRange index, ValueRange tensors);

  graph::Builder &builder;
  const GroupedWeights &weights;
  const GroupLayout &layout;
  MutableArrayRef<BlockArgument> iterators; ///< of the description
  int64_t cols, panels, groups, units;
};
} // namespace perpend::tile

Value GroupPacker::Code::load(Value tensor, const Source &source, Value k, Value n, Value g) {
  SmallVector<Value> index;
  for (const SymbolicInt &expression : source.index)
    index.push_back(graph::emitSymbolicInt(builder, loc, expression, [&](StringRef name) {
      return name == "k"   ? k
             : name == "n" ? n
             : name == "g" ? g
                           : graph::extent(builder, loc, SymbolicInt::symbol(name));
    }));
  return graph::load(builder, loc, tensor, index);
}

/// A number as the layout has it, in the lowest bits of a word. Signed ones are unsigned ones minus half of their
/// range, which flips the highest bit.
Value GroupPacker::numberOf(Code code, Value inGroup, ValueRange index, ValueRange tensors) {
  OpBuilder &b = code.builder;
  Location loc = code.loc;
  Type word = layout.word;
  Value k = place(code, inGroup, index[1]), n = column(code, index);
  Value number = code.load(tensors[0], weights.numbers, tensors.size() > 1 ? code.at(tensors[1], k) : k, n);
  if (weights.isNarrowed(layout)) {
    Value wide = weights.numbers.isUnsigned ? b.create<arith::ExtUIOp>(loc, word, number).getResult()
                                            : b.create<arith::ExtSIOp>(loc, word, number).getResult();
    Value zero = b.create<arith::ConstantIntOp>(loc, static_cast<int64_t>(weights.zero), word);
    const int64_t mask = (int64_t(1) << layout.number.getIntOrFloatBitWidth()) - 1;
    wide = b.create<arith::SubIOp>(loc, wide, zero);
    return b.create<arith::AndIOp>(loc, wide, b.create<arith::ConstantIntOp>(loc, mask, word));
  }
  if (weights.numbers.isUnsigned && !layout.isUnsigned) {
    const unsigned bits = layout.number.getIntOrFloatBitWidth();
    Value highest =
        b.create<arith::ConstantOp>(loc, b.getIntegerAttr(number.getType(), llvm::APInt::getSignMask(bits)));
    number = b.create<arith::XOrIOp>(loc, number, highest);
  }
  return number.getType() == word ? number : b.create<arith::ExtUIOp>(loc, word, number).getResult();
}

/// Packs the numbers' bits from `lowest` on: those of a unit in a word, or those below the upper ones of a word.
Value GroupPacker::packParts(bool ofUnits, ArrayRef<int64_t> positions, int64_t lowest) {
  const bool hasWords = layout.upper && !ofUnits;
  SmallVector<Value> inputs{weights.numbers.constant};
  if (!weights.order.empty())
    inputs.push_back(builder.integers(weights.order));
  Shape shape{SymbolicInt(panels), SymbolicInt(groups), SymbolicInt(units), SymbolicInt(cols)};
  if (hasWords)
    shape.insert(shape.begin() + 3, SymbolicInt(layout.wordsOfUnit));
  return builder.generate(
      inputs, shape, layout.word, [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
        Code code{b, loc};
        auto constant = [&](int64_t value) { return b.create<arith::ConstantIntOp>(loc, value, layout.word); };
        Value result, word = hasWords ? code.position(index[2], layout.wordsOfUnit, index[3], 0) : index[2];
        for (auto [e, position] : llvm::enumerate(positions)) {
          Value inGroup =
              code.position(word, static_cast<int64_t>(positions.size()), code.constant(static_cast<int64_t>(e)), 0);
          Value number = numberOf(code, inGroup, index, tensors);
          if (lowest > 0)
            number = b.create<arith::ShRUIOp>(loc, number, constant(lowest));
          else if (layout.upper)
            number = b.create<arith::AndIOp>(loc, number, constant((int64_t(1) << layout.lowerBits) - 1));
          if (e > 0)
            number = b.create<arith::ShLIOp>(loc, number, constant(position));
          result = result ? b.create<arith::OrIOp>(loc, result, number) : number;
        }
        return result;
      });
}

/// One element for every `step`-th group and each column: from elements of constants, or `otherwise`.
Value GroupPacker::ofGroups(ArrayRef<Source> sources, double otherwise, Type type, Conversion convert, int64_t step) {
  Shape shape{SymbolicInt(panels), SymbolicInt(groups / step), SymbolicInt(cols)};
  if (sources.empty())
    return builder.splat(shape, otherwise, type);
  SmallVector<Value> inputs = llvm::map_to_vector(sources, [](const Source &source) { return source.constant; });
  if (!weights.groups.empty())
    inputs.push_back(builder.integers(weights.groups));
  return builder.generate(inputs, shape, type, [&](OpBuilder &b, Location loc, ValueRange index, ValueRange tensors) {
    Code code{b, loc};
    Value group = step == 1 ? index[1] : code.position(index[1], step, code.constant(0), 0);
    Value g = tensors.size() > sources.size() ? code.at(tensors.back(), group) : Value();
    Value k = place(code, code.constant(0), group);
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

/// Made at once: the elements of all groups would be many times the constant, which is then not folded.
Value GroupPacker::packSharedScales() {
  return ofGroups(
      *weights.sharedScales, 0, layout.sharedScale,
      [](OpBuilder &, Location, ValueRange elements) { return elements.front(); }, weights.sharing);
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
  const size_t ofGroups = sharesScales() ? 2 : 1, unit = ofGroups + 1, column = unit + dimsOfUnit();
  if (isa<BlockArgument>(factor))
    return factor == iterators.back() ? index.back() : index[unit + 1];
  Operation *op = factor.getDefiningOp();
  if (auto load = dyn_cast<LoadOp>(op)) {
    constexpr unsigned words = 1;
    const unsigned scales = layout.scalesBuffer(), buffer = cast<BlockArgument>(load.getBuffer()).getArgNumber();
    SmallVector<Value> at(index.take_front(sharesScales() && buffer == scales + 1 ? ofGroups : unit));
    if (buffer == words)
      llvm::append_range(at, index.slice(unit, dimsOfUnit()));
    else if (buffer < scales)
      at.push_back(index[unit]);
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
  int64_t depth = groups * units * layout.perUnit();
  if (!weights.order.empty())
    rows = builder.gather(rows, builder.integers(weights.order), 1);
  if (depth > weights.depth)
    rows = builder.pad(rows, {SymbolicInt(0), SymbolicInt(0)}, {SymbolicInt(0), SymbolicInt(depth - weights.depth)},
                       builder.operations.getZeroAttr(elementTypeOf(rows)));
  if (layout.hasBytes())
    rows = unsignedBytes(builder, rows);
  Shape left{count, SymbolicInt(groups), SymbolicInt(units)};
  if (layout.upper)
    left.emplace_back(layout.wordsOfUnit);
  const int64_t word = (sharesScales() ? 2 : 1) + dimsOfUnit();
  SmallVector<int64_t> leftDims = llvm::to_vector(llvm::seq<int64_t>(1, word + 1)), rightDims = leftDims;
  if (layout.perWord > 1) {
    left.emplace_back(layout.perWord);
    leftDims.push_back(word + 1);
    rightDims.push_back(word + 2);
  }
  SmallVector<Value> packed{shared(packWords(), 1)};
  if (layout.upper)
    packed.push_back(shared(packUpper(), 1));
  packed.push_back(shared(packScales(), 1));
  if (sharesScales())
    packed.push_back(packSharedScales());
  if (layout.zero)
    packed.push_back(shared(packZeros(layout.zero), 1));
  for (Value &part : packed)
    part = fromTable(builder, part, weights.choice);
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
  matrix = fromTable(builder, matrix, choice);
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
  zeroPoints = fromTable(builder, zeroPoints, choice);
  return builder.contract(sumsOfGroups(builder, rows, groupSize), zeroPoints, {}, {}, {1}, {0}, real);
}
