//===- WordProducts.cpp - multiply-add of words ---------------------------===//

#include "target/vector/WordProducts.h"

#include "graph/ElementTypes.h"
#include "tile/intrinsics/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

Value perpend::target::inlinedInLanes(ImplicitLocOpBuilder &builder, const Intrinsic::Step &step,
                                      const Intrinsic::Code &code, int64_t lanes, ValueRange operands) {
  const int64_t count = step.lanes();
  if (count == lanes)
    return code.inlined(builder, operands);
  auto elementsOfLane = [&](Value whole) { return cast<VectorType>(whole.getType()).getNumElements() / lanes; };
  Value result = operands.back();
  for (int64_t first = 0; first < lanes; first += count) {
    SmallVector<Value> parts;
    for (Value whole : operands) {
      const int64_t each = elementsOfLane(whole);
      parts.push_back(builder.create<vector::ExtractStridedSliceOp>(whole, first * each, count * each, int64_t(1)));
    }
    result = builder.create<vector::InsertStridedSliceOp>(code.inlined(builder, parts), result,
                                                          first * elementsOfLane(result), int64_t(1));
  }
  return result;
}

Value perpend::target::wordOfVector(ImplicitLocOpBuilder &builder, Value vector, int64_t elements, int64_t number) {
  SmallVector<int64_t> positions;
  for (int64_t place = 0; place < cast<VectorType>(vector.getType()).getNumElements(); ++place)
    positions.push_back(number * elements + place % elements);
  return builder.create<vector::ShuffleOp>(vector, vector, positions);
}

WordProducts::WordProducts(ImplicitLocOpBuilder &builder, const Intrinsic &intrinsic, int64_t lanes,
                           const target::Machine &target)
    : group(intrinsic.panels->group), parts(intrinsic.sumsOfColumn()),
      sumType(VectorType::get(lanes * parts, graph::scalarType(intrinsic.panels->sum))), builder(builder),
      intrinsic(intrinsic), step(stepFor(intrinsic, lanes, target)), rowStep(rowStepFor(intrinsic, lanes, target)),
      left(graph::scalarType(intrinsic.panels->left)), right(graph::scalarType(intrinsic.panels->right)), lanes(lanes) {
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value WordProducts::loadWord(Value buffer, Value index) {
  if (group == 1) {
    Value word = builder.create<memref::LoadOp>(buffer, index);
    return builder.create<vector::BroadcastOp>(VectorType::get(lanes, word.getType()), word);
  }
  Value elements = builder.create<vector::LoadOp>(leftWords(1), buffer, index);
  if (parts > 1) {
    SmallVector<int64_t> positions;
    for (int64_t lane = 0; lane < lanes * parts; ++lane)
      positions.push_back(lane % parts);
    return builder.create<vector::ShuffleOp>(elements, elements, positions);
  }
  Type bits = builder.getIntegerType(group * left.getIntOrFloatBitWidth());
  Value word = builder.create<vector::BitCastOp>(VectorType::get(1, bits), elements);
  return builder.create<vector::BitCastOp>(leftWords(lanes),
                                           builder.create<vector::BroadcastOp>(VectorType::get(lanes, bits), word));
}

Value WordProducts::loadRow(Value buffer, Value index) {
  return builder.create<vector::LoadOp>(leftWords(lanes), buffer, index);
}

/// Words of floats are taken as one float each: LLVM knows the instructions of a word of a vector by this form.
Value WordProducts::wordOf(Value row, int64_t number) {
  const bool isOneFloat = isa<FloatType>(left) && group * left.getIntOrFloatBitWidth() == 32;
  const auto type = cast<VectorType>(row.getType());
  if (isOneFloat)
    row = builder.create<vector::BitCastOp>(VectorType::get(lanes, builder.getF32Type()), row);
  Value word = wordOfVector(builder, row, isOneFloat ? 1 : group, number);
  return isOneFloat ? builder.create<vector::BitCastOp>(type, word).getResult() : word;
}

Value WordProducts::loadVector(Value buffer, Value index) {
  return builder.create<vector::LoadOp>(VectorType::get(lanes * group, right), buffer, index);
}

Value WordProducts::loadFirst(Value buffer, Value index, int64_t words) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  VectorType few = VectorType::get(words * group, element), all = VectorType::get(lanes * group, element);
  Value zeros = builder.create<arith::ConstantOp>(builder.getZeroAttr(all));
  Value first = builder.create<vector::LoadOp>(few, buffer, index);
  return builder.create<vector::InsertStridedSliceOp>(first, zeros, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool WordProducts::areNarrow() const {
  return group == 1 && !step && isa<FloatType>(left) && left != sumType.getElementType();
}

Value WordProducts::extend(Value words) { return builder.create<arith::ExtFOp>(sumType, words); }

Value WordProducts::multiplyAdd(Value word, Value vector, Value sums) {
  if (parts > 1)
    return builder.create<vector::FMAOp>(word, vector, sums);
  return step ? inlinedInLanes(builder, *step, *step, lanes, {word, vector, sums}) : described(word, vector, sums);
}

int64_t WordProducts::wordsOfRow() const { return rowStep ? tile::wordsOfRow(intrinsic, *rowStep) : 0; }

Value WordProducts::loadWords(Value buffer, Value index) {
  return builder.create<vector::LoadOp>(leftWords(wordsOfRow()), buffer, index);
}

Value WordProducts::multiplyAddOfRow(Value row, int64_t number, Value vector, Value sums) {
  Value which = builder.create<arith::ConstantOp>(builder.getI32IntegerAttr(int32_t(number)));
  return rowStep->inlined(builder, {row, vector, sums, which});
}

/// Follows the description (PanelLayout.h): extends and multiplies the elements of a word one by one.
Value WordProducts::described(Value word, Value vector, Value sums) {
  for (int64_t element = 0; element < group; ++element) {
    SmallVector<int64_t> positions;
    for (int64_t lane = 0; lane < lanes; ++lane)
      positions.push_back(lane * group + element);
    auto factor = [&](Value words, Type type) -> Value {
      Value elements = group == 1 ? words : builder.create<vector::ShuffleOp>(words, words, positions);
      if (elements.getType() == sumType)
        return elements;
      if (isa<FloatType>(type))
        return builder.create<arith::ExtFOp>(sumType, elements);
      return type.isUnsignedInteger() ? Value(builder.create<arith::ExtUIOp>(sumType, elements))
                                      : builder.create<arith::ExtSIOp>(sumType, elements);
    };
    Value x = factor(word, intrinsic.panels->left), y = factor(vector, intrinsic.panels->right);
    sums = isa<FloatType>(sumType.getElementType()) ? Value(builder.create<vector::FMAOp>(x, y, sums))
                                                    : add(sums, builder.create<arith::MulIOp>(x, y));
  }
  return sums;
}

Value WordProducts::add(Value x, Value y) {
  if (isa<FloatType>(sumType.getElementType()))
    return builder.create<arith::AddFOp>(x, y);
  return builder.create<arith::AddIOp>(x, y);
}

Value WordProducts::sum(Value sums) {
  bool isFloat = isa<FloatType>(sumType.getElementType());
  return builder.create<vector::ReductionOp>(vector::CombiningKind::ADD, sums,
                                             isFloat ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none);
}

Value WordProducts::columns(Value sums) {
  for (int64_t left = parts; left > 1; left /= 2) {
    SmallVector<int64_t> even, odd;
    for (int64_t lane = 0; lane < lanes * left; lane += 2)
      even.push_back(lane), odd.push_back(lane + 1);
    sums = builder.create<arith::AddFOp>(builder.create<vector::ShuffleOp>(sums, sums, even),
                                         builder.create<vector::ShuffleOp>(sums, sums, odd));
  }
  return sums;
}
