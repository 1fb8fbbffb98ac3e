//===- ReadSamples.cpp - functions of one iterator ------------------------===//
//
// Coordinates such as floor((i + 0.5) / 2.6 - 0.5) are no affine index, but what they are for each i is known. As an
// element, such a value is a load from a table; as an index, it is affine in boxes that are small enough.
//
//===----------------------------------------------------------------------===//
#include "target/accelerator/ReadBody.h"

#include "tile/kernel/Buffers.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace perpend::accelerator {

constexpr int64_t mostSamples = 4096;

/// The extent of an iterator.
static int64_t extentOf(const AffineView &view, unsigned iterator) {
  int64_t extent = 1;
  for (const Digit &digit : view.digits)
    extent *= digit.iterator == iterator ? digit.extent : 1;
  return extent;
}

/// The only iterator of an index, whose values go on by `coefficient`. nullopt: it has several.
static std::optional<std::pair<unsigned, int64_t>> iteratorOf(const Affine &index, const AffineView &view) {
  std::optional<std::pair<unsigned, int64_t>> found;
  for (auto [digit, coefficient] : index.terms) {
    const Digit &each = view.digits[digit];
    if (coefficient % each.weight != 0)
      return std::nullopt;
    std::pair<unsigned, int64_t> own{each.iterator, coefficient / each.weight};
    if (found && *found != own)
      return std::nullopt;
    found = own;
  }
  if (found) // all of its digits
    for (unsigned digit = 0; digit < view.digits.size(); ++digit)
      if (view.digits[digit].iterator == found->first && view.digits[digit].extent > 1 && !index.terms.contains(digit))
        return std::nullopt;
  return found;
}

std::optional<std::vector<Attribute>> BodyReader::samplesOf(mlir::Value value, std::optional<unsigned> &iterator) {
  if (Attribute constant; matchPattern(value, m_Constant(&constant)))
    return std::vector<Attribute>{constant};
  auto isOther = [&](unsigned number) { return std::exchange(iterator, number).value_or(number) != number; };
  const Known known = values.lookup(value);
  if (const auto *samples = std::get_if<std::shared_ptr<Samples>>(&known))
    return isOther((*samples)->iterator) ? std::nullopt : std::optional((*samples)->values);
  if (const bool *truth = std::get_if<bool>(&known))
    return std::vector<Attribute>{BoolAttr::get(value.getContext(), *truth)};
  if (!isCounted(value.getType()))
    return std::nullopt;
  std::optional<Affine> index =
      std::holds_alternative<Affine>(known) || isa<BlockArgument>(value) ? indexOf(value) : std::nullopt;
  if (!index)
    return std::nullopt;
  auto numberAt = [&](int64_t number) { return IntegerAttr::get(value.getType(), number); };
  if (index->terms.empty())
    return std::vector<Attribute>{numberAt(index->base)};
  std::optional<std::pair<unsigned, int64_t>> only = iteratorOf(*index, view);
  if (!only || isOther(only->first) || extentOf(view, only->first) > mostSamples)
    return std::nullopt;
  std::vector<Attribute> numbers;
  for (int64_t at = 0, end = extentOf(view, only->first); at < end; ++at)
    numbers.push_back(numberAt(index->base + at * only->second));
  return numbers;
}

std::shared_ptr<Samples> BodyReader::samplesOf(tile::LoadOp load, const ElementAt &element) {
  auto type = dyn_cast<IntegerType>(load.getType());
  const ElementsAttr numbers = element.buffer < contents.size() ? contents[element.buffer] : ElementsAttr();
  if (!type || !numbers || type.getWidth() % 8 != 0 || type.getWidth() > 64 ||
      !llvm::all_of(load->getUsers(), [](Operation *user) { return isa<arith::IndexCastOp>(user); }))
    return {};
  std::optional<std::pair<unsigned, int64_t>> only = iteratorOf(element.offset, view);
  if (!only || extentOf(view, only->first) > mostSamples)
    return {};
  std::vector<char> storage;
  const ArrayRef<char> bytes = tile::constantBytes(numbers, storage);
  const auto size = static_cast<int64_t>(type.getWidth() / 8), count = static_cast<int64_t>(bytes.size()) / size;
  if (auto [least, most] = element.offset.rangeIn(view.box); least < 0 || most >= count)
    return {};
  auto samples = std::make_shared<Samples>(Samples{only->first, {}});
  for (int64_t at = 0, end = extentOf(view, only->first); at < end; ++at) {
    // Iterations that are not in the box may be outside of the constant: they read nothing.
    const int64_t place = std::clamp<int64_t>(element.offset.base + at * only->second, 0, count - 1);
    llvm::APInt number(type.getWidth(), 0);
    llvm::LoadIntFromMemory(number, reinterpret_cast<const uint8_t *>(bytes.data() + place * size),
                            static_cast<unsigned>(size));
    samples->values.push_back(IntegerAttr::get(type, number));
  }
  return samples;
}

bool BodyReader::sample(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 || op->getNumRegions() ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return false;
  std::optional<unsigned> iterator;
  std::vector<std::vector<Attribute>> operands;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<std::vector<Attribute>> samples = samplesOf(operand, iterator);
    if (!samples)
      return false;
    operands.push_back(std::move(*samples));
  }
  if (!iterator)
    return false; // a constant, which others see
  auto samples = std::make_shared<Samples>(Samples{*iterator, {}});
  for (int64_t at = 0, end = extentOf(view, *iterator); at < end; ++at) {
    SmallVector<Attribute> numbers;
    for (const std::vector<Attribute> &each : operands)
      numbers.push_back(each[each.size() == 1 ? 0 : static_cast<size_t>(at)]);
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(numbers, results)) || results.size() != 1)
      return false;
    auto number = dyn_cast_if_present<Attribute>(results[0]);
    if (mlir::Value same = dyn_cast_if_present<mlir::Value>(results[0])) // an operand
      for (auto [operand, attribute] : llvm::zip_equal(op->getOperands(), numbers))
        number = operand == same ? attribute : number;
    if (!isa_and_present<IntegerAttr, FloatAttr>(number))
      return false;
    samples->values.push_back(number);
  }
  if (APInt divisor; isa<arith::DivUIOp, arith::RemUIOp, arith::DivSIOp, arith::RemSIOp>(op) &&
                     matchPattern(op->getOperand(1), m_ConstantInt(&divisor)))
    if (std::optional<Affine> dividend = indexOf(op->getOperand(0)))
      samples->division = Division{*dividend, divisor.getSExtValue(), isa<arith::RemUIOp, arith::RemSIOp>(op)};
  values[op->getResult(0)] = std::move(samples);
  return true;
}

std::optional<Affine> BodyReader::affineOf(const Samples &samples) {
  constexpr int64_t most = int64_t{1} << 40;
  Affine index;
  SmallVector<unsigned> own; // digits that change in the box
  int64_t first = 0;
  for (unsigned digit = 0; digit < view.digits.size(); ++digit)
    if (view.digits[digit].iterator == samples.iterator) {
      first += view.box[digit].begin * view.digits[digit].weight;
      if (view.box[digit].end - view.box[digit].begin > 1)
        own.push_back(digit);
    }
  auto valueAt = [&](int64_t at) { return cast<IntegerAttr>(samples.values[static_cast<size_t>(at)]).getInt(); };
  for (size_t at = 0; at < samples.values.size(); ++at)
    if (std::abs(valueAt(static_cast<int64_t>(at))) > most)
      return std::nullopt;
  index.base = valueAt(first);
  for (unsigned digit : own)
    index.add(Affine::ofDigit(digit), valueAt(first + view.digits[digit].weight) - valueAt(first))
        .add({view.box[digit].begin, {}}, -(valueAt(first + view.digits[digit].weight) - valueAt(first)));
  for (unsigned digit : own) {
    const int64_t weight = view.digits[digit].weight, length = view.box[digit].end - view.box[digit].begin;
    for (int64_t at = 1; at < length; ++at) {
      if (valueAt(first + at * weight) == valueAt(first) + at * (valueAt(first + weight) - valueAt(first)))
        continue;
      if (std::holds_alternative<std::monostate>(view.refinement))
        view.refinement = BoxCut{digit, view.box[digit].begin + at};
      return std::nullopt;
    }
  }
  if (own.size() > 1) { // their sum may differ
    if (std::holds_alternative<std::monostate>(view.refinement))
      view.refinement = BoxCut{own[0], view.box[own[0]].begin + 1};
    return std::nullopt;
  }
  return index;
}

/// Affine where that is enough, and otherwise evaluated.
bool BodyReader::isSampled(Operation *op) {
  auto isSamples = [&](mlir::Value operand) {
    return std::holds_alternative<std::shared_ptr<Samples>>(values.lookup(operand));
  };
  const bool isAffine = isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::MaxSIOp, arith::MinSIOp,
                            arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp,
                            arith::CmpIOp, arith::SelectOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op);
  return (!isAffine || llvm::any_of(op->getOperands(), isSamples)) && sample(op);
}

std::optional<bool> BodyReader::truthOf(mlir::Value condition) {
  const Known known = values.lookup(condition);
  if (const bool *truth = std::get_if<bool>(&known))
    return *truth;
  const auto *samples = std::get_if<std::shared_ptr<Samples>>(&known);
  std::optional<Affine> number = samples ? affineOf(**samples) : std::nullopt;
  return number && number->terms.empty() ? std::optional(number->base != 0) : std::nullopt;
}

} // namespace perpend::accelerator
