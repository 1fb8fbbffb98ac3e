//===- ExpandMathDoublesTest.cpp - functions of f64 against long double ---===//

#include "ExpandMathCase.h"

using namespace perpend::tile;

namespace {

using ExpandMathDoublesTest = ExpandMathCase;

std::string wideSource(llvm::StringRef name) {
  return llvm::formatv(R"(
    func.func @{0}_f64(%in: memref<?xf64>, %out: memref<?xf64>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = memref.dim %in, %zero : memref<?xf64>
      scf.for %i = %zero to %size step %one {{
        %x = memref.load %in[%i] : memref<?xf64>
        %y = math.{0} %x : f64
        memref.store %y, %out[%i] : memref<?xf64>
      }
      return
    })",
                       name);
}

/// |x - exact| in units of the last place of the exact value; 0 if both are NaN or the same.
double unitsApart(double x, long double exact) {
  auto rounded = static_cast<double>(exact);
  if (x == rounded || (std::isnan(x) && std::isnan(rounded)))
    return std::signbit(x) == std::signbit(rounded) || x != 0 ? 0 : infinity;
  if (!std::isfinite(x) || !std::isfinite(rounded))
    return infinity;
  long double unit = std::ldexp(1.0L, std::max(std::ilogb(rounded), -1022) - 52);
  return static_cast<double>(std::abs(x - exact) / unit);
}

struct WideCase {
  const char *name;
  long double (*reference)(long double);
  double bound; // units in the last place
};

const WideCase wideCases[] = {
    {"exp", std::exp, 1.1},   {"exp2", std::exp2, 1.5}, {"expm1", std::expm1, 2},   {"log", std::log, 1.1},
    {"log2", std::log2, 3},   {"log10", std::log10, 3}, {"log1p", std::log1p, 1.5}, {"tanh", std::tanh, 3},
    {"sin", std::sin, 1.1},   {"cos", std::cos, 1.1},   {"erf", std::erf, 1.3},     {"tan", std::tan, 2.5},
    {"sinh", std::sinh, 2.5}, {"cosh", std::cosh, 1.6}, {"asin", std::asin, 2},     {"acos", std::acos, 2},
    {"atan", std::atan, 2.5}, {"asinh", std::asinh, 3}, {"acosh", std::acosh, 3},   {"atanh", std::atanh, 3}};

/// All exponents, and many numbers of the usual sizes.
std::vector<double> doubles() {
  std::mt19937_64 random(11);
  std::vector<double> values;
  for (uint64_t high = 0; high < 4096; ++high)
    for (uint64_t i = 0; i < 64; ++i)
      values.push_back(llvm::bit_cast<double>(high << 52 | (i == 0 ? 0u : random() >> 12)));
  for (double limit : {0.5, 2.0, 30.0, 800.0, 1e5})
    for (int i = 0; i < 100000; ++i)
      values.push_back(std::uniform_real_distribution<double>(-limit, limit)(random));
  for (int turns = 1; turns < 100000; turns += 7) // next to zeros of sin and cos
    values.push_back(static_cast<double>(turns * (std::numbers::pi_v<long double> / 2)));
  for (float special : specialValues())
    values.push_back(special);
  for (double special : {0x1p-1022, 0x1p-1074, 709.78, 709.79, -745.13, -745.14, 1023.99, 1024.0, -1074.9, -1075.1,
                         0x1.fffffffffffffp1023, 0x1p20, 0x1.fffffffffffffp19})
    values.push_back(special);
  return values;
}

TEST_P(ExpandMathDoublesTest, FunctionsAreWithinTheirBounds) {
  std::string source;
  for (const WideCase &function : wideCases)
    source += wideSource(function.name);
  Jit jit = compile(source);
  std::vector<double> arguments = doubles(), results(arguments.size());
  for (const WideCase &function : wideCases) {
    auto in = bufferOf(arguments), out = bufferOf(results);
    jit.function<void(decltype(in) *, decltype(in) *)>(std::string(function.name) + "_f64")(&in, &out);
    double worst = 0, worstArgument = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      double error = unitsApart(results[i], function.reference(arguments[i]));
      if (error > worst)
        worst = error, worstArgument = arguments[i];
    }
    EXPECT_LE(worst, function.bound * (GetParam() ? 1 : 2)) << function.name << " of " << worstArgument;
    RecordProperty(std::string(function.name) + "_f64", std::to_string(worst));
  }
}

TEST_P(ExpandMathDoublesTest, Vectors) {
  Jit jit = compile(vectorSource("log1p", "f64") + vectorSource("sin", "f64") + vectorSource("erf", "f64"));
  std::vector<double> arguments = {1e-3, -1e-8, 1e-16, 0x1p40, 0x1p-1074, -0.0, 0.5, 3}, results(8);
  for (auto [name, function] : {std::pair("log1p", static_cast<long double (*)(long double)>(std::log1p)),
                                {"sin", std::sin},
                                {"erf", std::erf}}) {
    auto in = bufferOf(arguments), out = bufferOf(results);
    jit.function<void(decltype(in) *, decltype(in) *)>(std::string(name) + "_vector")(&in, &out);
    for (size_t i = 0; i < arguments.size(); ++i)
      EXPECT_LE(unitsApart(results[i], function(arguments[i])), 2) << name << " of " << arguments[i];
  }
}

/// All pairs of special values, with sides that overflow together and such as are too small.
TEST_P(ExpandMathDoublesTest, AnglesAreWithinTheirBound) {
  Jit jit = compile(binarySource("atan2", "math", "f64"));
  std::mt19937_64 random(5);
  std::vector<double> heights, widths, special = {0x1.fffffffffffffp1023, 0x1p1023, 1e308, 0x1p-1074, 0x1p-1022};
  for (float value : specialValues())
    special.push_back(value);
  for (double height : special)
    for (double width : special)
      for (double sign : {1, -1})
        heights.push_back(height), widths.push_back(sign * width);
  for (int i = 0; i < 500000; ++i)
    for (std::vector<double> *part : {&heights, &widths})
      part->push_back(std::uniform_real_distribution<double>(-4, 4)(random));
  std::vector<double> results(heights.size());
  auto first = bufferOf(heights), second = bufferOf(widths), out = bufferOf(results);
  using Doubles = decltype(first);
  jit.function<void(Doubles *, Doubles *, Doubles *)>("atan2")(&first, &second, &out);
  double worst = 0;
  for (size_t i = 0; i < heights.size(); ++i) {
    double error = unitsApart(results[i], std::atan2(static_cast<long double>(heights[i]), widths[i]));
    worst = std::max(worst, error);
    ASSERT_LE(error, 3) << "(" << heights[i] << ", " << widths[i] << ") gives " << results[i];
  }
  RecordProperty("worst", std::to_string(worst));
}

/// Fused, or libm's. All pairs of special values; bases of all sizes and next to 1, with exponents up to overflow.
TEST_P(ExpandMathDoublesTest, PowersAreWithinTheirBound) {
  Jit jit = compile(binarySource("powf", "math", "f64"));
  std::mt19937_64 random(5);
  std::vector<double> bases, exponents,
      special = {0x1.fffffffffffffp1023, 0x1p-1074, 0x1p-1022, 3,      -3,     0x1p52, 0x1p53,
                 0x1.fffffffffffffp52,   0x1.8p51,  1e-300,    1023.5, -1074.5};
  for (float value : specialValues())
    special.push_back(value);
  for (double base : special)
    for (double exponent : special)
      for (double sign : {1, -1})
        bases.push_back(sign * base), exponents.push_back(exponent);
  auto uniform = [&](double limit) { return std::uniform_real_distribution<double>(-limit, limit)(random); };
  for (int i = 0; i < 500000; ++i) {
    bases.push_back(i % 3 == 0 ? 1 + uniform(0x1p-20) : i % 3 == 1 ? std::exp2(uniform(1022)) : std::abs(uniform(4)));
    exponents.push_back(i % 8 == 0 ? std::round(uniform(20)) : uniform(1080) / std::abs(std::log2(bases.back())));
  }
  std::vector<double> results(bases.size());
  auto first = bufferOf(bases), second = bufferOf(exponents), out = bufferOf(results);
  using Doubles = decltype(first);
  jit.function<void(Doubles *, Doubles *, Doubles *)>("powf")(&first, &second, &out);
  double worst = 0;
  for (size_t i = 0; i < bases.size(); ++i) {
    long double exact = std::pow(static_cast<long double>(bases[i]), static_cast<long double>(exponents[i]));
    double error = unitsApart(results[i], exact);
    worst = std::max(worst, error);
    ASSERT_LE(error, 1.2) << bases[i] << " ^ " << exponents[i] << " gives " << results[i];
  }
  RecordProperty("worst", std::to_string(worst));
}

/// Fused, or libm's. Quotients of fewer than 2^52 and of more, and next to integers.
TEST_P(ExpandMathDoublesTest, RemaindersAreExact) {
  Jit jit = compile(binarySource("remf", "arith", "f64"));
  std::mt19937_64 random(5);
  std::vector<double> left = {0, -0.0, 1, 5, 1e308, 0x1p-1074, 1, infinity},
                      right = {1, 3, 0, infinity, 0.1, 3, 1e308, 2};
  for (int i = 0; i < 300000; ++i) {
    right.push_back(std::uniform_real_distribution<double>(-4, 4)(random));
    double product = right.back() * static_cast<double>(random() >> (i % 64));
    left.push_back(std::nextafter(product, i % 2 ? 0 : 1e300));
  }
  std::vector<double> results(left.size());
  auto first = bufferOf(left), second = bufferOf(right), out = bufferOf(results);
  using Doubles = decltype(first);
  jit.function<void(Doubles *, Doubles *, Doubles *)>("remf")(&first, &second, &out);
  for (size_t i = 0; i < left.size(); ++i) {
    double exact = std::fmod(left[i], right[i]);
    ASSERT_TRUE(std::isnan(exact) ? std::isnan(results[i])
                                  : llvm::bit_cast<uint64_t>(exact) == llvm::bit_cast<uint64_t>(results[i]))
        << left[i] << " by " << right[i] << " gives " << results[i] << ", not " << exact;
  }
}

INSTANTIATE_TEST_SUITE_P(Fma, ExpandMathDoublesTest, testing::Bool(),
                         [](const auto &info) { return info.param ? "Fused" : "Separate"; });

} // namespace
