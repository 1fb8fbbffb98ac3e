//===- LanesTest.cpp - instructions of lanes against what they mean -------===//
//
// Loops with the functions of cpu/Lanes.h as instructions run on numbers where these could differ from what they mean:
// for powers of two the code that ExpandMath writes in their place, for roundings arith.truncf, as MLIR folds it.
//
//===----------------------------------------------------------------------===//

#include "target/cpu/Lanes.h"
#include "Jit.h"
#include "TestModules.h"
#include "target/cpu/passes/Passes.h"
#include "tile/passes/FarFunctions.h"
#include "tile/passes/Passes.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>

using namespace llvm;
using namespace perpend::target;
using perpend::tile::Buffer;
using perpend::tile::bufferOf;

namespace {

std::string loopOf(const std::string &name, const std::string &body) {
  return "func.func @" + name + R"((%in: memref<?xf32>, %out: memref<?xf32>) attributes {llvm.emit_c_interface} {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %size = memref.dim %in, %zero : memref<?xf32>
      scf.for %i = %zero to %size step %one {
        %x = memref.load %in[%i] : memref<?xf32>
        )" +
         body +
         R"(
        memref.store %y, %out[%i] : memref<?xf32>
      }
      return
    }
)";
}

std::string roundingLoop(const std::string &name, const std::string &type, const std::string &attributes = "") {
  return loopOf(name, "%n = arith.truncf %x " + attributes + " : f32 to " + type + "\n%y = arith.extf %n : " + type +
                          " to f32");
}

/// All exponents and both signs with one bit, or all but one, and their neighbours: zeros, infinities, NaN, subnormal
/// numbers, and the halves of every type with fewer bits.
std::vector<float> edges() {
  std::vector<float> numbers;
  for (uint32_t high = 0; high < 512; ++high)
    for (uint32_t bit = 0; bit <= 23; ++bit)
      for (uint32_t low : {1u << bit, 3u << bit})
        for (uint32_t mantissa : {low - 1, low, low + 1})
          numbers.push_back(bit_cast<float>(high << 23 | (mantissa & 0x7fffff)));
  return numbers;
}

/// Where powers of two begin and end, and halves between integers.
std::vector<float> exponents() {
  std::vector<float> numbers = edges();
  for (int n = -151; n <= 129; ++n)
    for (double part : {0.0, 0.25, 0.5, 0.75})
      for (float x : {float(n + part), float((n + part) * std::log(2.0))})
        numbers.insert(numbers.end(), {x, std::nextafter(x, -1000.0f), std::nextafter(x, 1000.0f)});
  return numbers;
}

bool isSame(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) || bit_cast<uint32_t>(x) == bit_cast<uint32_t>(y);
}

float rounded(float x, const fltSemantics &type) {
  APFloat number(x);
  bool isInexact = false;
  number.convert(type, APFloat::rmNearestTiesToEven, &isInexact);
  return number.convertToFloat();
}

class Lanes : public testing::Test {
protected:
  using Loop = void(Buffer *, Buffer *);

  /// With `function` as instructions; empty: as the code that says what they mean.
  perpend::tile::Jit compile(const std::string &source, StringRef function) {
    std::vector<std::unique_ptr<mlir::Pass>> passes;
    passes.push_back(perpend::tile::createTileExpandMath({target, {}}));
    passes.push_back(createCpuExpandFloats({target}));
    return {source, std::move(passes), {}, [&](Module &module) {
              if (Function *scaled = module.getFunction("scaled"))
                scaled->replaceAllUsesWith(module.getFunction(scaleFunction));
              if (!function.empty()) {
                EXPECT_TRUE(module.getFunction(function)) << function.str();
                defineLaneFunctions(module, target);
              }
            }};
  }

  /// All at once, which is vectors, and a few at a time, which is numbers.
  static std::vector<float> run(Loop *loop, std::vector<float> numbers) {
    std::vector<float> results(numbers.size());
    Buffer in = bufferOf(numbers), out = bufferOf(results);
    loop(&in, &out);
    for (size_t first = 0; first < numbers.size(); first += 3) {
      std::vector<float> some(numbers.begin() + first, numbers.begin() + std::min(first + 3, numbers.size()));
      std::vector<float> own(some.size());
      Buffer few = bufferOf(some), result = bufferOf(own);
      loop(&few, &result);
      for (size_t i = 0; i < own.size(); ++i)
        EXPECT_TRUE(isSame(own[i], results[first + i])) << numbers[first + i];
    }
    return results;
  }

  static void expectSame(const std::vector<float> &numbers, const std::vector<float> &results,
                         function_ref<float(size_t)> meant) {
    for (size_t i = 0; i < numbers.size(); ++i)
      ASSERT_TRUE(isSame(results[i], meant(i))) << numbers[i] << " gives " << results[i] << ", not " << meant(i);
  }

  TargetInfo target = expectValue(resolveTarget("host"));
};

TEST_F(Lanes, PowersOfTwo) {
  if (!target.hasFunction(scaleFunction))
    GTEST_SKIP() << "not an instruction of this machine";
  std::string source = loopOf("exp", "%y = math.exp %x : f32") + loopOf("exp2", "%y = math.exp2 %x : f32");
  auto instructions = compile(source, scaleFunction), meaning = compile(source, "");
  std::vector<float> numbers = exponents();
  for (const char *name : {"exp", "exp2"}) {
    std::vector<float> meant = run(meaning.function<Loop>(name), numbers);
    expectSame(numbers, run(instructions.function<Loop>(name), numbers), [&](size_t i) { return meant[i]; });
  }
  std::vector<float> powers;
  for (int n = -151; n <= 129; ++n)
    powers.push_back(static_cast<float>(n));
  expectSame(powers, run(instructions.function<Loop>("exp2"), powers),
             [&](size_t i) { return std::ldexp(1.0f, static_cast<int>(powers[i])); });
}

/// Of numbers that no function scales, subnormal ones above all.
TEST_F(Lanes, PowersOfTwoRoundOnce) {
  if (!target.hasFunction(scaleFunction))
    GTEST_SKIP() << "not an instruction of this machine";
  std::vector<float> numbers = edges();
  for (int n : {-151, -127, -30, -3, 0, 1, 40, 129}) {
    std::string source = "func.func private @scaled(f32, f32) -> f32\n" + loopOf("exp2", "%y = math.exp2 %x : f32") +
                         loopOf("scale", "%n = arith.constant " + std::to_string(n) +
                                             ".0 : f32\n%y = func.call @scaled(%x, %n) : (f32, f32) -> f32");
    for (StringRef function : {StringRef(), StringRef(scaleFunction)}) {
      auto jit = compile(source, function);
      expectSame(numbers, run(jit.function<Loop>("scale"), numbers),
                 [&](size_t i) { return std::ldexp(numbers[i], n); });
    }
  }
}

TEST_F(Lanes, RoundingsToF16) {
  if (!target.hasFunction(roundToF16Function))
    GTEST_SKIP() << "not an instruction of this machine";
  auto jit = compile(roundingLoop("round", "f16"), roundToF16Function);
  std::vector<float> numbers = edges();
  expectSame(numbers, run(jit.function<Loop>("round"), numbers),
             [&](size_t i) { return rounded(numbers[i], APFloat::IEEEhalf()); });
}

/// Subnormal numbers are 0.
TEST_F(Lanes, RoundingsToBF16) {
  if (!target.hasFunction(roundToBF16Function))
    GTEST_SKIP() << "not an instruction of this machine";
  auto jit = compile(roundingLoop("round", "bf16", "{graph.flushes}"), roundToBF16Function);
  std::vector<float> numbers = edges();
  expectSame(numbers, run(jit.function<Loop>("round"), numbers), [&](size_t i) {
    bool isSubnormal = std::fpclassify(numbers[i]) == FP_SUBNORMAL;
    return isSubnormal ? std::copysign(0.0f, numbers[i]) : rounded(numbers[i], APFloat::BFloat());
  });
}

/// One far number among others, everywhere, and none.
TEST_F(Lanes, SinesOfLargeNumbers) {
  auto jit = compile(loopOf("sine", "%y = math.sin %x : f32") + loopOf("cosine", "%y = math.cos %x : f32"),
                     perpend::tile::farSineFunction);
  std::vector<float> numbers = edges();
  for (size_t i = 0; i < 10000; ++i)
    numbers.push_back(i % 13 ? 0.001f * static_cast<float>(i) : std::ldexp(1.2345f, static_cast<int>(i % 128)));
  for (auto [name, function] : {std::pair("sine", static_cast<double (*)(double)>(std::sin)), {"cosine", std::cos}}) {
    std::vector<float> results = run(jit.function<Loop>(name), numbers);
    for (size_t i = 0; i < numbers.size(); ++i) {
      double exact = function(numbers[i]);
      if (std::isnan(exact))
        ASSERT_TRUE(std::isnan(results[i])) << name << " of " << numbers[i];
      else
        ASSERT_NEAR(results[i], exact, std::abs(exact) * 0x1p-22 + 0x1p-149) << name << " of " << numbers[i];
    }
  }
}

/// Remainders are exact: of quotients near integers, of large quotients, alone among others, and everywhere.
TEST_F(Lanes, RemaindersOfLargeQuotients) {
  std::string source;
  const float divisors[] = {0.1f, -7, 3e-38f, 0x1p-149f, 0x1.fffffep127f};
  for (auto [i, divisor] : enumerate(divisors))
    source += loopOf("by" + std::to_string(i), formatv("%d = arith.constant {0} : f32\n%y = arith.remf %x, %d : f32",
                                                       formatv("{0:x8}", bit_cast<uint32_t>(divisor)).str()));
  auto jit = compile(source, perpend::tile::remainderFunction);
  std::vector<float> numbers = edges();
  for (int i = 0; i < 10000; ++i) // products, and their neighbours
    for (float x : {0.1f * static_cast<float>(i), 7.0f * static_cast<float>(i)})
      numbers.insert(numbers.end(), {x, std::nextafter(x, -1e30f), std::nextafter(x, 1e30f)});
  for (auto [i, divisor] : enumerate(divisors)) {
    std::vector<float> results = run(jit.function<Loop>("by" + std::to_string(i)), numbers);
    expectSame(numbers, results, [&, divisor = divisor](size_t i) { return std::fmod(numbers[i], divisor); });
  }
}

} // namespace
