//===- ExpandMathTest.cpp - tile-expand-math against libm in double -------===//
//
// Of f32. Every function is compiled as a loop, which LLVM vectorises, and run on all exponents and both signs with
// thousands of mantissas each.
//
//===----------------------------------------------------------------------===//

#include "ExpandMathCase.h"

using namespace perpend::tile;

namespace {

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

class ExpandMathTest : public ExpandMathCase {
protected:
  using Unary = void(Buffer *, Buffer *);
  using Binary = void(Buffer *, Buffer *, Buffer *);

  std::vector<float> run(Unary *function, std::vector<float> &arguments) {
    std::vector<float> results(arguments.size());
    Buffer in = bufferOf(arguments), out = bufferOf(results);
    function(&in, &out);
    return results;
  }

  void checkUnary(Unary *function, const UnaryCase &expected) {
    std::vector<float> arguments = allExponents(2048), specials = specialValues();
    arguments.insert(arguments.end(), specials.begin(), specials.end());
    std::vector<float> results = run(function, arguments);
    int64_t worst = 0;
    float worstArgument = 0;
    for (size_t i = 0; i < arguments.size(); ++i) {
      int64_t error = distance(results[i], expected.reference(arguments[i]));
      if (error > worst)
        worst = error, worstArgument = arguments[i];
    }
    EXPECT_LE(worst, expected.bound) << expected.name << " of " << worstArgument;
    RecordProperty(expected.name, std::to_string(worst));
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
  for (const UnaryCase &function : unaryCases)
    checkUnary(jit.function<Unary>(std::string(function.name) + "_f32"), function);
}

/// What f64 would make more accurate.
TEST_P(ExpandMathTest, UnaryFunctionsWithoutF64AreWithinTheirBounds) {
  const UnaryCase cases[] = {
      {"log1p", std::log1p, 1}, {"asinh", std::asinh, 2}, {"acosh", std::acosh, 2}, {"atanh", std::atanh, 2}};
  std::string source;
  for (const UnaryCase &function : cases)
    source += unarySource(function.name);
  Jit jit = compile(source, /*hasF64=*/false);
  for (const UnaryCase &function : cases)
    checkUnary(jit.function<Unary>(std::string(function.name) + "_f32"), function);
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
  for (bool hasF64 : {true, false}) {
    Jit jit = compile(source, hasF64);
    for (const Expectation &expected : expectations) {
      std::vector<float> arguments = {expected.argument};
      float result = run(jit.function<Unary>(std::string(expected.name) + "_f32"), arguments)[0];
      EXPECT_EQ(distance(result, expected.result), 0)
          << expected.name << " of " << expected.argument << " is " << result;
    }
    for (const UnaryCase &function : unaryCases) {
      std::vector<float> arguments = {notANumber};
      EXPECT_TRUE(std::isnan(run(jit.function<Unary>(std::string(function.name) + "_f32"), arguments)[0]))
          << function.name;
    }
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

INSTANTIATE_TEST_SUITE_P(Fma, ExpandMathTest, testing::Bool(),
                         [](const auto &info) { return info.param ? "Fused" : "Separate"; });

} // namespace
