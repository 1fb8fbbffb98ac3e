//===- Compare.cpp - compares arrays --------------------------------------===//

#include "arrays/Compare.h"
#include "graph/ElementTypes.h"
#include "support/ReadableText.h"

#include "mlir/IR/MLIRContext.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using llvm::Twine;

namespace perpend::arrays {

namespace {
/// Allowance for rounding and for another order of additions: a fraction of the largest element, plus a fraction of
/// that or of 1, whichever is less. So outputs near 0 are judged by their own size, except subnormal ones.
struct Tolerance {
  double relative, absolute;
  double of(double largest, double leastNormal) const {
    largest = std::fmax(largest, leastNormal);
    return relative * largest + absolute * std::fmin(largest, 1);
  }
};
} // namespace

/// The tolerance for floats of so many digits after some operators, each of which rounds its operands.
static Tolerance toleranceOfDigits(unsigned digits) {
  double unit = std::ldexp(1, -static_cast<int>(digits));
  return {8 * unit, 2.5 * unit};
}

static unsigned digitsOf(Type type) {
  return llvm::APFloat::semanticsPrecision(cast<FloatType>(type).getFloatSemantics());
}

static Tolerance toleranceOf(perpend_type type) {
  switch (type) {
  case PERPEND_F64:
    return {1e-8, 1e-10};
  case PERPEND_F16:
    return toleranceOfDigits(11);
  case PERPEND_BF16:
    return toleranceOfDigits(8);
  case PERPEND_F32:
    return {1e-4, 1e-5};
  default:
    return {0, 0};
  }
}

/// The smallest positive normal number of a type.
static double leastNormalOf(perpend_type type) {
  switch (type) {
  case PERPEND_F64:
    return std::numeric_limits<double>::min();
  case PERPEND_F16:
    return std::ldexp(1, -14);
  default:
    return std::numeric_limits<float>::min(); // and bf16's
  }
}

/// The tolerance for products with operands of this precision. Integers have 8 digits at the largest element of a row;
/// a typical element is about a quarter of that and has 6.
static Tolerance toleranceOf(StringRef precision) {
  constexpr unsigned digitsOfInt8 = 6;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  return toleranceOfDigits(precision == "int8" ? digitsOfInt8 : digitsOf(graph::elementTypeNamed(&context, precision)));
}

/// Infinite if one is NaN or infinite and the other is not the same.
static double difference(double value, double reference) {
  if (value == reference || (std::isnan(value) && std::isnan(reference)))
    return 0;
  double distance = std::fabs(value - reference);
  return std::isfinite(distance) ? distance : INFINITY;
}

static Tolerance toleranceOf(perpend_type type, StringRef precision) {
  Tolerance own = toleranceOf(type);
  if (precision == "f32" || own.relative == 0)
    return own;
  Tolerance computed = toleranceOf(precision);
  return {std::fmax(own.relative, computed.relative), std::fmax(own.absolute, computed.absolute)};
}

static void compareElements(const Array &array, const Array &reference, StringRef precision, Comparison &result) {
  int64_t count = reference.elementCount();
  int64_t size = perpend_type_size_bytes(array.type);
  double largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double value = std::fabs(reference.at(i)); std::isfinite(value))
      largest = std::fmax(largest, value);
  result.tolerance = toleranceOf(array.type, precision).of(largest, leastNormalOf(array.type));
  double squares = 0, wantedSquares = 0;
  for (int64_t i = 0; i < count; ++i) {
    double wanted = reference.at(i), distance = difference(array.at(i), wanted);
    squares += distance * distance;
    wantedSquares += std::isfinite(wanted) ? wanted * wanted : 0;
    if (!array.isFloat() && distance == 0 &&
        std::memcmp(array.bytes.get() + i * size, reference.bytes.get() + i * size, size))
      distance = 1; // 64-bit integers that round to the same double
    result.maxAbsolute = std::fmax(result.maxAbsolute, distance);
    if (distance > 0 && wanted != 0)
      result.maxRelative =
          std::fmax(result.maxRelative, std::isfinite(wanted) ? distance / std::fabs(wanted) : distance);
    if (distance > result.tolerance && result.firstBad < 0)
      result.firstBad = i;
  }
  if (precision != "f32" && count)
    result.means = {std::sqrt(squares / double(count)), std::sqrt(wantedSquares / double(count))};
  result.isGood = result.firstBad < 0;
}

static Comparison differs(const Twine &problem) { return {false, 0, 0, 0, -1, problem.str()}; }

static Comparison compareTexts(const Array &array, const Array &reference) {
  for (int64_t i = 0; i < reference.elementCount(); ++i)
    if (array.text(i) != reference.text(i))
      return differs("element " + Twine(i) + ": expected " + support::quoted(reference.text(i), 200) + ", got " +
                     support::quoted(array.text(i), 200));
  return {};
}

/// Reports the first element that differs, or the largest errors of all.
static Comparison compareLists(const Array &array, const Array &reference, StringRef precision) {
  ArrayRef<perpend_tensor> elements = array.elements(), wanted = reference.elements();
  if (elements.size() != wanted.size())
    return differs("expected " + Twine(wanted.size()) + " elements, got " + Twine(elements.size()));
  Comparison result;
  for (auto [number, element, expected] : llvm::enumerate(elements, wanted)) {
    Array got = Array::copyOf(element), other = Array::copyOf(expected);
    Comparison one = compare(got, other, precision);
    if (!one.isGood)
      return differs(describe("element " + std::to_string(number), one, got, other));
    result.maxAbsolute = std::fmax(result.maxAbsolute, one.maxAbsolute);
    result.maxRelative = std::fmax(result.maxRelative, one.maxRelative);
    result.tolerance = std::fmax(result.tolerance, one.tolerance);
  }
  return result;
}

Comparison compare(const Array &array, const Array &reference, StringRef precision) {
  Comparison result;
  if (array.isList() && reference.isList())
    return compareLists(array, reference, precision);
  if (array.isTexts() && reference.isTexts() && array.shape == reference.shape)
    return compareTexts(array, reference);
  if (array.type == reference.type && array.shape == reference.shape)
    compareElements(array, reference, precision, result);
  else
    result = differs("expected " + typeText(reference) + ", got " + typeText(array));
  return result;
}

std::string describe(StringRef name, const Comparison &comparison, const Array &array, const Array &reference) {
  std::string text = (comparison.isGood ? "ok       " : "DIFFERS  ") + support::readable(name) + ": ";
  if (!comparison.problem.empty())
    return text + comparison.problem;
  text += typeText(array);
  if (array.isTexts())
    return text + "  equal";
  if (array.elementCount() == 0)
    return text + "  is empty: no element was compared";
  text += "  max abs error " + shortText(comparison.maxAbsolute) + ", max rel error " +
          shortText(comparison.maxRelative) + " (tolerance " + shortText(comparison.tolerance) + ")";
  if (comparison.means)
    text += ", root mean square " + shortText(comparison.means->first) + " of " + shortText(comparison.means->second);
  if (int64_t at = comparison.firstBad; at >= 0)
    text += "; first at element " + std::to_string(at) + ": expected " + shortText(reference.at(at)) + ", got " +
            shortText(array.at(at));
  return text;
}
} // namespace perpend::arrays
