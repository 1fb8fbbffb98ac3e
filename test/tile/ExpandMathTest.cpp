//===- ExpandMathTest.cpp - tile-expand-math against libm in double -------===//
//
// Every function is compiled as a loop, which LLVM vectorises, and run on all exponents and both signs with thousands
// of mantissas each.
//
//===----------------------------------------------------------------------===//

#include "Jit.h"
#include "target/cpu/passes/Passes.h"
#include "tile/passes/Passes.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

using namespace perpend::tile;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

double reciprocalSquareRoot(double x) { return 1 / std::sqrt(x); }

struct UnaryCase {
  const char *name;
  double (*reference)(double);
  int64_t bound; // units in the last place
};

const UnaryCase unaryCases[] = {{"exp", std::exp, 1},     {"exp2", std::exp2, 2},   {"expm1", std::expm1, 2},
                                {"log", std::log, 2},     {"log2", std::log2, 2},   {"log10", std::log10, 2},
                                {"log1p", std::log1p, 2}, {"tanh", std::tanh, 1},   {"erf", std::erf, 2},
                                {"atan", std::atan, 2},   {"sin", std::sin, 2},     {"cos", std::cos, 2},
                                {"tan", std::tan, 3},     {"sinh", std::sinh, 2},   {"cosh", std::cosh, 2},
                                {"asin", std::asin, 2},   {"acos", std::acos, 2},   {"asinh", std::asinh, 1},
                                {"acosh", std::acosh, 1}, {"atanh", std::atanh, 1}, {"rsqrt", reciprocalSquareRoot, 1}};

std::string unarySource(llvm::StringRef name, llvm::StringRef type = "f32") {
  std::string body = llvm::formatv("%y = math.{0} %x : f32", name);
  if (type != "f32")
    body = llvm::formatv("%n = arith.truncf %x : f32 to {1}\n %m = math.{0} %n : {1}\n %y = arith.extf %m : {1} to f32",
                         name, type);
  return llvm::formatv(R"(
    func.func @{0}_{1}(%in: memref<?xf32>, %out: memref<?xf32>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = memref.dim %in, %zero : memref<?xf32>
      scf.for %i = %zero to %size step %one {{
        %x = memref.load %in[%i] : memref<?xf32>
        {2}
        memref.store %y, %out[%i] : memref<?xf32>
      }
      return
    })",
                       name, type, body);
}

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

/// Of two arguments.
std::string binarySource(llvm::StringRef name, llvm::StringRef dialect = "math", llvm::StringRef type = "f32") {
  return llvm::formatv(R"(
    func.func @{0}(%base: memref<?x{2}>, %exponent: memref<?x{2}>, %out: memref<?x{2}>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = memref.dim %base, %zero : memref<?x{2}>
      scf.for %i = %zero to %size step %one {{
        %x = memref.load %base[%i] : memref<?x{2}>
        %y = memref.load %exponent[%i] : memref<?x{2}>
        %z = {1}.{0} %x, %y : {2}
        memref.store %z, %out[%i] : memref<?x{2}>
      }
      return
    })",
                       name, dialect, type);
}

std::string vectorSource(llvm::StringRef name, llvm::StringRef type = "f32") {
  return llvm::formatv(R"(
    func.func @{0}_vector(%in: memref<?x{1}>, %out: memref<?x{1}>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %x = vector.load %in[%zero] : memref<?x{1}>, vector<8x{1}>
      %y = math.{0} %x : vector<8x{1}>
      vector.store %y, %out[%zero] : memref<?x{1}>, vector<8x{1}>
      return
    })",
                       name, type);
}

/// A loop over vectors.
std::string vectorLoopSource(llvm::StringRef name) {
  return llvm::formatv(R"(
    func.func @{0}_vectors(%in: memref<?xf32>, %out: memref<?xf32>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %step = arith.constant 16 : index
      %size = memref.dim %in, %zero : memref<?xf32>
      scf.for %i = %zero to %size step %step {{
        %x = vector.load %in[%i] : memref<?xf32>, vector<16xf32>
        %y = math.{0} %x : vector<16xf32>
        vector.store %y, %out[%i] : memref<?xf32>, vector<16xf32>
      }
      return
    })",
                       name);
}

/// The number of floats from x to y; 0 if both are NaN, huge if one is, and 1 between -0 and 0 so that the sign of zero
/// counts.
int64_t distance(float x, float y) {
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y) ? 0 : std::numeric_limits<int64_t>::max();
  auto rank = [](float value) -> int64_t {
    int64_t bits = llvm::bit_cast<uint32_t>(value);
    return bits < 0x80000000 ? bits : 0x7fffffff - bits;
  };
  return std::abs(rank(x) - rank(y));
}

/// Every sign and exponent with `mantissas` mantissas.
std::vector<float> allExponents(uint32_t mantissas) {
  std::mt19937 random(11);
  std::vector<float> values;
  for (uint32_t high = 0; high < 512; ++high)
    for (uint32_t i = 0; i < mantissas; ++i)
      values.push_back(llvm::bit_cast<float>(high << 23 | (i == 0 ? 0u : static_cast<uint32_t>(random()) >> 9)));
  return values;
}

/// Arguments where functions change their method or meet a limit.
std::vector<float> specialValues() {
  std::vector<float> values = {0,
                               1,
                               2,
                               3,
                               4,
                               0.5f,
                               0.25f,
                               0.625f,
                               1.5f,
                               3.92f,
                               9.01f,
                               10,
                               16,
                               17.5f,
                               30,
                               64,
                               88.7228f,
                               88.73f,
                               89,
                               89.5f,
                               103.97f,
                               104,
                               126,
                               127,
                               128,
                               149,
                               150,
                               151,
                               1000,
                               1e5f,
                               1e10f,
                               1e-5f,
                               1e-10f,
                               0x1p23f,
                               0x1p24f,
                               0x1.000002p24f,
                               0x1p-126f,
                               0x1p-149f,
                               0x1.fffffep127f,
                               infinity,
                               notANumber,
                               0.70710678f,
                               1.4142135f,
                               0x1.fffffep-1f,
                               0x1.000002p0f};
  for (size_t i = 0, count = values.size(); i < count; ++i)
    values.push_back(-values[i]);
  return values;
}

/// 1 + f(x / sqrt(2)).
std::string onePlusSource(llvm::StringRef name) {
  return llvm::formatv(R"(
    func.func @{0}(%in: memref<?xf32>, %out: memref<?xf32>) attributes {{llvm.emit_c_interface} {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %root = arith.constant 1.41421354 : f32
      %unit = arith.constant 1.0 : f32
      %size = memref.dim %in, %zero : memref<?xf32>
      scf.for %i = %zero to %size step %one {{
        %x = memref.load %in[%i] : memref<?xf32>
        %scaled = arith.divf %x, %root : f32
        %f = math.{0} %scaled : f32
        %y = arith.addf %f, %unit : f32
        memref.store %y, %out[%i] : memref<?xf32>
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

class ExpandMathTest : public testing::TestWithParam<bool> {
protected:
  using Unary = void(Buffer *, Buffer *);
  using Binary = void(Buffer *, Buffer *, Buffer *);

  Jit compile(const std::string &source) {
    perpend::target::Machine target;
    target.fusesMultiplyAdds = GetParam();
    std::vector<std::unique_ptr<mlir::Pass>> passes;
    passes.push_back(createTileExpandMath({target, {}}));
    passes.push_back(perpend::target::createCpuExpandFloats({target}));
    return Jit(source, std::move(passes));
  }

  std::vector<float> run(Unary *function, std::vector<float> &arguments) {
    std::vector<float> results(arguments.size());
    Buffer in = bufferOf(arguments), out = bufferOf(results);
    function(&in, &out);
    return results;
  }

  void checkBinary(Binary *function, std::vector<float> &left, std::vector<float> &right,
                   double (*reference)(double, double), int64_t bound) {
    std::vector<float> results(left.size());
    Buffer first = bufferOf(left), second = bufferOf(right), out = bufferOf(results);
    function(&first, &second, &out);
    for (size_t i = 0; i < left.size(); ++i)
      ASSERT_LE(distance(results[i], reference(left[i], right[i])), bound)
          << "(" << left[i] << ", " << right[i] << ") gives " << results[i];
  }
};

TEST_P(ExpandMathTest, UnaryFunctionsAreWithinTheirBounds) {
  std::string source;
  for (const UnaryCase &function : unaryCases)
    source += unarySource(function.name);
  Jit jit = compile(source);
  std::vector<float> arguments = allExponents(2048), specials = specialValues();
  arguments.insert(arguments.end(), specials.begin(), specials.end());
  for (const UnaryCase &function : unaryCases) {
    std::vector<float> results = run(jit.function<Unary>(std::string(function.name) + "_f32"), arguments);
    int64_t worst = 0;
    float worstArgument = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      int64_t error = distance(results[i], function.reference(arguments[i]));
      if (error > worst)
        worst = error, worstArgument = arguments[i];
    }
    EXPECT_LE(worst, function.bound) << function.name << " of " << worstArgument;
    RecordProperty(function.name, std::to_string(worst));
  }
}

/// Vectors of usual numbers alone, and with an unusual one among them, have results within the same bounds.
TEST_P(ExpandMathTest, VectorsAreWithinTheBoundsOfNumbers) {
  std::string source;
  for (const UnaryCase &function : unaryCases)
    source += vectorLoopSource(function.name);
  Jit jit = compile(source);
  std::vector<float> arguments = allExponents(1024), specials = specialValues();
  for (uint32_t numerator = 1; numerator < 180000; ++numerator) // next to zeros of sin and cos, and far from them
    arguments.push_back(static_cast<float>(numerator * (std::numbers::pi / 4)));
  for (size_t i = 0; i < specials.size(); ++i)
    for (size_t lane = 0; lane < 16; ++lane)
      arguments.push_back(lane == i % 16 ? specials[i] : 0.3f + static_cast<float>(lane));
  arguments.resize(arguments.size() / 16 * 16);
  for (const UnaryCase &function : unaryCases) {
    std::vector<float> results = run(jit.function<Unary>(std::string(function.name) + "_vectors"), arguments);
    int64_t worst = 0;
    float worstArgument = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      int64_t error = distance(results[i], function.reference(arguments[i]));
      if (error > worst)
        worst = error, worstArgument = arguments[i];
    }
    EXPECT_LE(worst, function.bound) << function.name << " of " << worstArgument;
    RecordProperty(std::string(function.name) + "_vectors", std::to_string(worst));
  }
}

TEST_P(ExpandMathTest, SpecialValues) {
  struct Expectation {
    const char *name;
    float argument, result;
  };
  const Expectation expectations[] = {{"exp", -104, 0},
                                      {"exp", 89, infinity},
                                      {"exp", -infinity, 0},
                                      {"exp", -0.0f, 1},
                                      {"exp2", 10, 1024},
                                      {"exp2", -149, 0x1p-149f},
                                      {"exp2", 128, infinity},
                                      {"expm1", -0.0f, -0.0f},
                                      {"expm1", -infinity, -1},
                                      {"log", 0, -infinity},
                                      {"log", -0.0f, -infinity},
                                      {"log", -1, notANumber},
                                      {"log", infinity, infinity},
                                      {"log", 1, 0},
                                      {"log2", 0x1p-149f, -149},
                                      {"log2", 8, 3},
                                      {"log10", 1000, 3},
                                      {"log1p", -1, -infinity},
                                      {"log1p", -0.0f, -0.0f},
                                      {"log1p", -2, notANumber},
                                      {"tanh", infinity, 1},
                                      {"tanh", -infinity, -1},
                                      {"tanh", -0.0f, -0.0f},
                                      {"erf", infinity, 1},
                                      {"erf", -infinity, -1},
                                      {"erf", -0.0f, -0.0f},
                                      {"sin", -0.0f, -0.0f},
                                      {"sin", infinity, notANumber},
                                      {"cos", -infinity, notANumber},
                                      {"cos", 0, 1},
                                      {"atan", -0.0f, -0.0f},
                                      {"tan", -0.0f, -0.0f},
                                      {"tan", -infinity, notANumber},
                                      {"sinh", -0.0f, -0.0f},
                                      {"sinh", 89.5f, infinity},
                                      {"sinh", -infinity, -infinity},
                                      {"cosh", -0.0f, 1},
                                      {"cosh", -infinity, infinity},
                                      {"asin", -0.0f, -0.0f},
                                      {"asin", -1.5f, notANumber},
                                      {"acos", 1, 0},
                                      {"acos", 0x1.000002p0f, notANumber},
                                      {"acos", -infinity, notANumber},
                                      {"asinh", -0.0f, -0.0f},
                                      {"asinh", -infinity, -infinity},
                                      {"acosh", 1, 0},
                                      {"acosh", -2, notANumber},
                                      {"acosh", infinity, infinity},
                                      {"atanh", -0.0f, -0.0f},
                                      {"atanh", -1, -infinity},
                                      {"atanh", 1.5f, notANumber},
                                      {"atanh", infinity, notANumber},
                                      {"rsqrt", 0, infinity},
                                      {"rsqrt", -1, notANumber},
                                      {"rsqrt", infinity, 0},
                                      {"rsqrt", 0.25f, 2}};
  std::string source;
  for (const UnaryCase &function : unaryCases)
    source += unarySource(function.name);
  Jit jit = compile(source);
  for (const Expectation &expected : expectations) {
    std::vector<float> arguments = {expected.argument};
    float result = run(jit.function<Unary>(std::string(expected.name) + "_f32"), arguments)[0];
    EXPECT_EQ(distance(result, expected.result), 0) << expected.name << " of " << expected.argument << " is " << result;
  }
  for (const UnaryCase &function : unaryCases) {
    std::vector<float> arguments = {notANumber};
    EXPECT_TRUE(std::isnan(run(jit.function<Unary>(std::string(function.name) + "_f32"), arguments)[0]))
        << function.name;
  }
}

/// Below 1 the error is that of 1: of two terms that cancel, one has it.
TEST_P(ExpandMathTest, OnePlusFunctionsAreWithinTheirBounds) {
  Jit jit = compile(onePlusSource("erf") + onePlusSource("tanh"));
  std::vector<float> arguments = allExponents(2048), specials = specialValues();
  arguments.insert(arguments.end(), specials.begin(), specials.end());
  for (auto [name, function] : {std::pair("erf", static_cast<double (*)(double)>(std::erf)), {"tanh", std::tanh}}) {
    std::vector<float> results = run(jit.function<Unary>(name), arguments);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (std::isnan(arguments[i])) {
        ASSERT_TRUE(std::isnan(results[i]));
        continue;
      }
      ASSERT_NEAR(results[i], 1 + function(arguments[i] / double(1.41421354f)), 0x1.ap-23) << arguments[i];
      if (std::abs(arguments[i]) > 14)
        ASSERT_EQ(results[i], arguments[i] > 0 ? 2 : 0) << arguments[i];
    }
  }
}

TEST_P(ExpandMathTest, OnePlusExpIsWithinItsBound) {
  Jit jit = compile(onePlusSource("exp"));
  std::vector<float> arguments = allExponents(2048), specials = specialValues();
  arguments.insert(arguments.end(), specials.begin(), specials.end());
  std::vector<float> results = run(jit.function<Unary>("exp"), arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    float argument = arguments[i] / 1.41421354f;
    ASSERT_LE(distance(results[i], 1 + std::exp(double(argument))), 2) << "exp of " << argument;
  }
}

TEST_P(ExpandMathTest, PowIsWithinItsBound) {
  Jit jit = compile(binarySource("powf"));
  auto *function = jit.function<Binary>("powf");
  std::mt19937 random(5);
  std::vector<float> bases, exponents;
  for (float base : specialValues())
    for (float exponent : specialValues())
      bases.push_back(base), exponents.push_back(exponent);
  std::vector<float> any = allExponents(64);
  for (int i = 0; i < 500000; ++i)
    bases.push_back(any[random() % any.size()]), exponents.push_back(any[random() % any.size()]);
  for (int i = 0; i < 500000; ++i) {
    bases.push_back(std::uniform_real_distribution<float>(0, 4)(random));
    exponents.push_back(std::uniform_real_distribution<float>(-150, 150)(random));
  }
  for (int i = 0; i < 100000; ++i)
    bases.push_back(std::uniform_real_distribution<float>(-4, 4)(random)),
        exponents.push_back(int(random() % 200) - 100);
  checkBinary(function, bases, exponents, std::pow, 4);
}

/// All pairs of special values, whose signs count, and all quadrants.
TEST_P(ExpandMathTest, AnglesAreWithinTheirBound) {
  Jit jit = compile(binarySource("atan2"));
  std::mt19937 random(5);
  std::vector<float> heights, widths, any = allExponents(64);
  for (float height : specialValues())
    for (float width : specialValues())
      heights.push_back(height), widths.push_back(width);
  for (int i = 0; i < 500000; ++i)
    heights.push_back(any[random() % any.size()]), widths.push_back(any[random() % any.size()]);
  for (int i = 0; i < 500000; ++i)
    for (std::vector<float> *part : {&heights, &widths})
      part->push_back(std::uniform_real_distribution<float>(-4, 4)(random));
  checkBinary(jit.function<Binary>("atan2"), heights, widths, std::atan2, 3);
}

/// Of f64: as above, with sides that overflow together and such as are too small.
TEST_P(ExpandMathTest, AnglesOfDoublesAreWithinTheirBound) {
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

/// All pairs of special values; quotients of all sizes, and next to integers.
TEST_P(ExpandMathTest, RemaindersAreExact) {
  Jit jit = compile(binarySource("remf", "arith"));
  std::mt19937 random(5);
  std::vector<float> left, right, any = allExponents(64);
  for (float x : specialValues())
    for (float y : specialValues())
      left.push_back(x), right.push_back(y);
  for (int i = 0; i < 500000; ++i)
    left.push_back(any[random() % any.size()]), right.push_back(any[random() % any.size()]);
  for (int i = 0; i < 500000; ++i) {
    right.push_back(std::uniform_real_distribution<float>(-4, 4)(random));
    left.push_back(std::nextafter(right.back() * static_cast<float>(random() % (1 << (i % 30))), i % 2 ? 0 : 1e30f));
  }
  checkBinary(jit.function<Binary>("remf"), left, right, std::fmod, 0);
}

/// Of f64: fused, or libm's. Quotients of fewer than 2^52 and of more, and next to integers.
TEST_P(ExpandMathTest, RemaindersOfDoublesAreExact) {
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

TEST_P(ExpandMathTest, NarrowTypesComputeInF32) {
  Jit jit = compile(unarySource("exp", "f16") + unarySource("exp", "bf16"));
  std::vector<float> arguments = {0, 1, -1, 5, 12, -20};
  std::vector<float> half = run(jit.function<Unary>("exp_f16"), arguments),
                     brain = run(jit.function<Unary>("exp_bf16"), arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    double exact = std::exp(double(arguments[i]));
    EXPECT_NEAR(brain[i], exact, exact * 0x1p-8) << arguments[i];
    if (exact < 65520)
      EXPECT_NEAR(half[i], exact, exact * 0x1p-11 + 0x1p-25) << arguments[i];
    else
      EXPECT_EQ(half[i], infinity);
  }
}

TEST_P(ExpandMathTest, Vectors) {
  Jit jit = compile(vectorSource("exp") + vectorSource("cos"));
  std::vector<float> arguments = {0, 1, -1, 50, -100, infinity, -infinity, 0.3f};
  std::vector<float> results = run(jit.function<Unary>("exp_vector"), arguments);
  for (size_t i = 0; i < arguments.size(); ++i)
    EXPECT_LE(distance(results[i], std::exp(double(arguments[i]))), 2) << arguments[i];
  for (float far : {0.5f, 0x1p28f, 0x1.234568p70f, -0x1.fffffep127f, infinity}) { // one of them, or none
    arguments[5] = arguments[6] = 3, arguments[2] = far;
    results = run(jit.function<Unary>("cos_vector"), arguments);
    for (size_t i = 0; i < arguments.size(); ++i)
      EXPECT_LE(distance(results[i], std::cos(double(arguments[i]))), 2) << arguments[i];
  }
}

struct WideCase {
  const char *name;
  long double (*reference)(long double);
  double bound; // units in the last place
};

const WideCase wideCases[] = {{"exp", std::exp, 1.1},     {"exp2", std::exp2, 1.5}, {"expm1", std::expm1, 2},
                              {"log", std::log, 1.1},     {"log2", std::log2, 3},   {"log10", std::log10, 3},
                              {"log1p", std::log1p, 1.5}, {"tanh", std::tanh, 3},   {"sin", std::sin, 1.1},
                              {"cos", std::cos, 1.1},     {"erf", std::erf, 1.3},   {"tan", std::tan, 2.5},
                              {"sinh", std::sinh, 2.5},   {"cosh", std::cosh, 1.6}, {"asin", std::asin, 2},
                              {"acos", std::acos, 2},     {"atan", std::atan, 2.5}, {"asinh", std::asinh, 3},
                              {"acosh", std::acosh, 3},   {"atanh", std::atanh, 3}};

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

TEST_P(ExpandMathTest, FunctionsOfDoublesAreWithinTheirBounds) {
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

TEST_P(ExpandMathTest, VectorsOfDoubles) {
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

INSTANTIATE_TEST_SUITE_P(Fma, ExpandMathTest, testing::Bool(),
                         [](const auto &info) { return info.param ? "Fused" : "Separate"; });

} // namespace
