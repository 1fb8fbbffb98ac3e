//===- ScalarsTest.cpp - the meaning of scalars ---------------------------===//

#include "Module.h"

#include "interp/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/APFloat.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace perpend::interp;

static constexpr double infinity = std::numeric_limits<double>::infinity();
static constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

//===----------------------------------------------------------------------===//
// 16-bit floats, against APFloat
//===----------------------------------------------------------------------===//

static float apToFloat(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool loses;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToFloat();
}
static uint16_t apFromDouble(const llvm::fltSemantics &semantics, double number) {
  llvm::APFloat value(number);
  bool loses;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return static_cast<uint16_t>(value.bitcastToAPInt().getZExtValue());
}

TEST(ElementFormat, allHalvesRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    float half = halfToFloat(static_cast<uint16_t>(bits)), brain = brainToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(half)) {
      EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(half))));
    } else {
      ASSERT_EQ(floatToHalf(half), bits);
      ASSERT_EQ(half, apToFloat(llvm::APFloat::IEEEhalf(), static_cast<uint16_t>(bits)));
    }
    if (std::isnan(brain))
      EXPECT_TRUE(std::isnan(brainToFloat(floatToBrain(brain))));
    else
      ASSERT_EQ(floatToBrain(brain), bits);
  }
}

TEST(ElementFormat, roundingMatchesApFloat) {
  Random random;
  for (int i = 0; i < 200000; ++i) {
    auto bits = static_cast<uint32_t>(random.engine());
    if (i % 2) // the range of f16, and near ties
      bits = (bits & 0x80000fffu) | static_cast<uint32_t>(random.integer(100, 145)) << 23 |
             static_cast<uint32_t>(random.integer(0, 7)) << 12;
    float value = std::bit_cast<float>(bits);
    if (std::isnan(value))
      continue;
    ASSERT_EQ(floatToHalf(value), apFromDouble(llvm::APFloat::IEEEhalf(), value)) << value;
    ASSERT_EQ(floatToBrain(value), apFromDouble(llvm::APFloat::BFloat(), value)) << value;
    double wide = value * (1.0 + 0x1p-40 * static_cast<double>(random.integer(-3, 3)));
    ASSERT_EQ(floatToHalf(roundToOdd(wide)), apFromDouble(llvm::APFloat::IEEEhalf(), wide)) << wide;
    ASSERT_EQ(floatToBrain(roundToOdd(wide)), apFromDouble(llvm::APFloat::BFloat(), wide)) << wide;
  }
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
/// Applies one operation through a map on tensors of one element. Numbers are given and returned as double, integers as
/// int64_t.
class ScalarsTest : public ::testing::Test {
protected:
  struct Number {
    double floating = 0;
    int64_t integer = 0;
    Number(double value) : floating(value), integer(truncateToInteger(value)) {}
    Number(int64_t value) : floating(static_cast<double>(value)), integer(value) {}
    Number(int value) : Number(int64_t{value}) {}
  };

  Number apply(const std::string &op, std::vector<Number> operands, const std::string &from, std::string to = "",
               const std::string &types = "") {
    to = to.empty() ? from : to;
    std::string arguments, names, tensors, call;
    for (size_t i = 0; i < operands.size(); ++i) {
      std::string comma = i ? ", " : "", name(1, static_cast<char>('a' + i));
      arguments += comma + "%x" + name + ": " + from;
      names += comma + "%" + name;
      call += comma + "%x" + name;
      tensors += comma + "tensor<1x" + from + ">";
    }
    std::vector<std::string> argumentTypes(operands.size(), "tensor<1x" + from + ">");
    Module module(mainOf(argumentTypes,
                         "graph.map (" + names + ") : (" + tensors + ") -> tensor<1x" + to + "> {\n  ^bb0(" +
                             arguments + "):\n  %y = " + op + " " + call + " : " + (types.empty() ? from : types) +
                             "\n  graph.yield %y : " + to + "\n}",
                         "tensor<1x" + to + ">"));
    std::vector<Tensor> inputs;
    for (const Number &operand : operands)
      inputs.push_back(tensorOf(module.type(from), operand));
    std::vector<Tensor> results = module.run(inputs);
    EXPECT_EQ(results.size(), 1u) << module.messages;
    return results.empty() ? Number(0) : numberOf(results[0]);
  }
  int64_t integer(const std::string &op, int64_t a, int64_t b, const std::string &type = "i8") {
    return apply(op, {a, b}, type).integer;
  }
  double floating(const std::string &op, std::vector<Number> operands, const std::string &type = "f32") {
    return apply(op, operands, type).floating;
  }
  int64_t convert(const std::string &op, Number value, const std::string &from, const std::string &to) {
    return apply(op, {value}, from, to, from + " to " + to).integer;
  }
  double convertToFloat(const std::string &op, Number value, const std::string &from, const std::string &to) {
    return apply(op, {value}, from, to, from + " to " + to).floating;
  }

private:
  static Tensor tensorOf(Type type, const Number &number) {
    Tensor tensor = *Tensor::allocate(type, {1});
    float single = static_cast<float>(number.floating);
    ElementFormat format = tensor.format();
    writeElements(format,
                  format.kind == RegisterKind::Integer  ? static_cast<const void *>(&number.integer)
                  : format.kind == RegisterKind::Single ? static_cast<const void *>(&single)
                                                        : &number.floating,
                  1, tensor.mutableData());
    return tensor;
  }
  static Number numberOf(const Tensor &tensor) {
    ElementFormat format = tensor.format();
    alignas(8) std::byte value[8];
    readElements(format, tensor.data(), 1, value);
    if (format.kind == RegisterKind::Integer)
      return Number(std::bit_cast<int64_t>(value));
    if (format.kind == RegisterKind::Double)
      return Number(std::bit_cast<double>(value));
    float single;
    std::memcpy(&single, value, 4);
    return Number(static_cast<double>(single));
  }
};
} // namespace

TEST_F(ScalarsTest, integersWrap) {
  EXPECT_EQ(integer("arith.addi", 127, 1), -128);
  EXPECT_EQ(integer("arith.subi", -128, 1), 127);
  EXPECT_EQ(integer("arith.muli", 100, 100), 16);
  EXPECT_EQ(integer("arith.addi", INT64_MAX, 1, "i64"), INT64_MIN);
  EXPECT_EQ(integer("arith.addi", 7, 1, "i4"), -8);
  EXPECT_EQ(integer("arith.addi", 1, 1, "i1"), 0);
}

TEST_F(ScalarsTest, divisionsAreDefined) {
  for (const char *op : {"arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
                         "arith.ceildivsi", "arith.ceildivui"}) {
    EXPECT_EQ(integer(op, 17, 0), 0) << op;
    EXPECT_EQ(integer(op, 17, 0, "i64"), 0) << op;
  }
  EXPECT_EQ(integer("arith.divsi", -128, -1), -128);
  EXPECT_EQ(integer("arith.divsi", INT64_MIN, -1, "i64"), INT64_MIN);
  EXPECT_EQ(integer("arith.remsi", INT64_MIN, -1, "i64"), 0);
  EXPECT_EQ(integer("arith.divsi", -7, 2), -3);
  EXPECT_EQ(integer("arith.remsi", -7, 2), -1);
  EXPECT_EQ(integer("arith.floordivsi", -7, 2), -4);
  EXPECT_EQ(integer("arith.floordivsi", -8, 2), -4);
  EXPECT_EQ(integer("arith.floordivsi", 7, 2), 3);
  EXPECT_EQ(integer("arith.ceildivsi", 7, 2), 4);
  EXPECT_EQ(integer("arith.ceildivsi", -7, 2), -3);
  EXPECT_EQ(integer("arith.divui", -1, 2), 127);
  EXPECT_EQ(integer("arith.remui", -1, 16), 15);
  EXPECT_EQ(integer("arith.ceildivui", -1, 2), -128);
}

TEST_F(ScalarsTest, shiftsAndBits) {
  EXPECT_EQ(integer("arith.shli", 1, 7), -128);
  EXPECT_EQ(integer("arith.shli", 1, 8), 0);
  EXPECT_EQ(integer("arith.shrsi", -128, 7), -1);
  EXPECT_EQ(integer("arith.shrsi", -128, 8), 0);
  EXPECT_EQ(integer("arith.shrui", -128, 7), 1);
  EXPECT_EQ(integer("arith.shrui", -1, -1), 0);
  EXPECT_EQ(integer("arith.shrui", -1, 64, "i64"), 0);
  EXPECT_EQ(integer("arith.andi", 12, 10), 8);
  EXPECT_EQ(integer("arith.ori", 12, 10), 14);
  EXPECT_EQ(integer("arith.xori", 12, 10), 6);
  EXPECT_EQ(apply("math.ctlz", {1}, "i8").integer, 7);
  EXPECT_EQ(apply("math.cttz", {0}, "i8").integer, 8);
  EXPECT_EQ(apply("math.ctpop", {-1}, "i8").integer, 8);
  EXPECT_EQ(apply("math.absi", {-128}, "i8").integer, -128);
  EXPECT_EQ(integer("math.ipowi", 3, 4, "i32"), 81);
  EXPECT_EQ(integer("math.ipowi", -1, -3, "i32"), -1);
  EXPECT_EQ(integer("math.ipowi", 2, -1, "i32"), 0);
}

TEST_F(ScalarsTest, extremaAndComparisonsOfIntegers) {
  EXPECT_EQ(integer("arith.maxsi", -1, 1), 1);
  EXPECT_EQ(integer("arith.maxui", -1, 1), -1);
  EXPECT_EQ(integer("arith.minsi", -1, 1), -1);
  EXPECT_EQ(integer("arith.minui", -1, 1), 1);
  for (auto [predicate, expected] : {std::pair{"slt", -1},
                                     {"ult", 0},
                                     {"sge", 0},
                                     {"uge", -1},
                                     {"eq", 0},
                                     {"ne", -1},
                                     {"sle", -1},
                                     {"ule", 0},
                                     {"sgt", 0},
                                     {"ugt", -1}})
    EXPECT_EQ(apply("arith.cmpi " + std::string(predicate) + ",", {-1, 1}, "i8", "i1", "i8").integer, expected)
        << predicate;
}

TEST_F(ScalarsTest, floatsCompareWithNaN) {
  auto compare = [&](const std::string &predicate, double a, double b) {
    return apply("arith.cmpf " + predicate + ",", {a, b}, "f32", "i1", "f32").integer != 0;
  };
  for (const char *ordered : {"oeq", "ogt", "oge", "olt", "ole", "one", "ord", "false"})
    EXPECT_FALSE(compare(ordered, notANumber, 1)) << ordered;
  for (const char *unordered : {"ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true"})
    EXPECT_TRUE(compare(unordered, notANumber, 1)) << unordered;
  EXPECT_TRUE(compare("oeq", 0.0, -0.0));
  EXPECT_TRUE(compare("olt", 1, 2));
  EXPECT_FALSE(compare("ogt", 1, 2));
  EXPECT_TRUE(compare("one", 1, 2));
  EXPECT_FALSE(compare("ueq", 1, 2));
  EXPECT_TRUE(compare("ord", 1, 2));
}

TEST_F(ScalarsTest, extremaOfFloats) {
  for (const char *type : {"f32", "f64", "f16", "bf16"}) {
    EXPECT_TRUE(std::isnan(floating("arith.maximumf", {notANumber, 1}, type)));
    EXPECT_TRUE(std::isnan(floating("arith.minimumf", {1, notANumber}, type)));
    EXPECT_EQ(floating("arith.maxnumf", {notANumber, 1}, type), 1);
    EXPECT_EQ(floating("arith.minnumf", {1, notANumber}, type), 1);
    EXPECT_FALSE(std::signbit(floating("arith.maximumf", {-0.0, 0.0}, type)));
    EXPECT_FALSE(std::signbit(floating("arith.maximumf", {0.0, -0.0}, type)));
    EXPECT_TRUE(std::signbit(floating("arith.minimumf", {0.0, -0.0}, type)));
    EXPECT_TRUE(std::signbit(floating("arith.minimumf", {-0.0, 0.0}, type)));
    EXPECT_EQ(floating("arith.maximumf", {2, 3}, type), 3);
    EXPECT_EQ(floating("arith.minimumf", {2, 3}, type), 2);
  }
}

TEST_F(ScalarsTest, sixteenBitsRoundAfterEachOperation) {
  EXPECT_EQ(floating("arith.addf", {2048, 1}, "f16"), 2048);
  EXPECT_EQ(floating("arith.addf", {2048, 3}, "f16"), 2052);
  EXPECT_EQ(floating("arith.addf", {256, 1}, "bf16"), 256);
  EXPECT_EQ(floating("arith.mulf", {60000, 2}, "f16"), infinity);
  EXPECT_EQ(floating("math.exp", {1}, "bf16"), 2.71875);
  EXPECT_EQ(floating("arith.addf", {16777216, 1}, "f32"), 16777216);
  EXPECT_EQ(floating("arith.addf", {16777216, 1}, "f64"), 16777217);
}

TEST_F(ScalarsTest, mathOfFloats) {
  struct Case {
    const char *name;
    double x, expected;
  };
  for (Case c : {Case{"math.exp", 1.5, std::exp(1.5)},
                 {"math.tanh", 0.5, std::tanh(0.5)},
                 {"math.erf", 0.3, std::erf(0.3)},
                 {"math.log", 2, std::log(2)},
                 {"math.log1p", 0.25, std::log1p(0.25)},
                 {"math.sqrt", 2, std::sqrt(2)},
                 {"math.rsqrt", 4, 0.5},
                 {"math.sin", 1, std::sin(1)},
                 {"math.cos", 1, std::cos(1)},
                 {"math.roundeven", 2.5, 2},
                 {"math.round", 2.5, 3},
                 {"math.floor", -1.5, -2},
                 {"math.ceil", -1.5, -1},
                 {"math.trunc", -1.5, -1},
                 {"math.absf", -2, 2},
                 {"arith.negf", 2, -2},
                 {"math.exp2", 3, 8},
                 {"math.expm1", 0.5, std::expm1(0.5)},
                 {"math.log2", 8, 3},
                 {"math.log10", 100, 2},
                 {"math.cbrt", 27, 3},
                 {"math.tan", 1, std::tan(1)},
                 {"math.asin", 0.5, std::asin(0.5)},
                 {"math.acos", 0.5, std::acos(0.5)},
                 {"math.atan", 2, std::atan(2)},
                 {"math.sinh", 1, std::sinh(1)},
                 {"math.cosh", 1, std::cosh(1)},
                 {"math.asinh", 1, std::asinh(1)},
                 {"math.acosh", 2, std::acosh(2)},
                 {"math.atanh", 0.5, std::atanh(0.5)}}) {
    EXPECT_DOUBLE_EQ(floating(c.name, {c.x}, "f64"), c.expected) << c.name;
    EXPECT_FLOAT_EQ(static_cast<float>(floating(c.name, {c.x}, "f32")), static_cast<float>(c.expected)) << c.name;
  }
  EXPECT_EQ(floating("math.powf", {2, 10}), 1024);
  EXPECT_EQ(floating("math.atan2", {1, 1}, "f64"), std::atan2(1, 1));
  EXPECT_EQ(floating("math.copysign", {3, -0.0}), -3);
  EXPECT_EQ(floating("arith.remf", {-7, 3}), -1);
  EXPECT_EQ(floating("arith.subf", {5, 3}), 2);
  EXPECT_EQ(floating("arith.divf", {1, 0}), infinity);
  EXPECT_EQ(floating("math.fma", {1 + 0x1p-23, 1 + 0x1p-23, -1}), std::fma(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -1.0f));
}

TEST_F(ScalarsTest, conversions) {
  EXPECT_EQ(convert("arith.extsi", -1, "i8", "i32"), -1);
  EXPECT_EQ(convert("arith.extui", -1, "i8", "i32"), 255);
  EXPECT_EQ(convert("arith.extui", 1, "i1", "i32"), 1);
  EXPECT_EQ(convert("arith.extsi", 1, "i1", "i32"), -1);
  EXPECT_EQ(convert("arith.trunci", 300, "i32", "i8"), 44);
  EXPECT_EQ(convert("arith.fptosi", -1.9, "f32", "i32"), -1);
  for (double beyond : {notANumber, infinity, -infinity, 0x1p31, 1e30, -1e30}) {
    EXPECT_EQ(convert("arith.fptosi", beyond, "f64", "i32"), INT32_MIN);
    EXPECT_EQ(convert("arith.fptosi", beyond, "f64", "i16"), 0);
  }
  EXPECT_EQ(convert("arith.fptosi", -0x1p31, "f64", "i32"), INT32_MIN);
  EXPECT_EQ(convert("arith.fptosi", 2147483647.5, "f64", "i32"), INT32_MAX);
  EXPECT_EQ(convert("arith.fptosi", notANumber, "f32", "i64"), INT64_MIN);
  EXPECT_EQ(convert("arith.fptosi", 300.0, "f32", "i8"), 44);
  EXPECT_EQ(convert("arith.fptosi", 1e30, "f32", "i64"), INT64_MIN);
  EXPECT_EQ(convert("arith.fptosi", 4294967301.0, "f64", "i64"), 4294967301);
  EXPECT_EQ(convert("arith.fptosi", infinity, "f32", "i8"), 0);
  EXPECT_EQ(convert("arith.fptoui", 200.0, "f32", "i8"), -56);
  EXPECT_EQ(convert("arith.fptoui", -1.0, "f32", "i8"), -1);
  EXPECT_EQ(convert("arith.fptoui", 0x1.8p63, "f64", "i64"), static_cast<int64_t>(0xc000000000000000u));
  EXPECT_EQ(convertToFloat("arith.uitofp", -1, "i8", "f32"), 255);
  EXPECT_EQ(convertToFloat("arith.sitofp", -1, "i8", "f32"), -1);
  EXPECT_EQ(convertToFloat("arith.uitofp", -1, "i64", "f64"), 0x1p64);
  EXPECT_EQ(convertToFloat("arith.uitofp", 1, "i1", "f32"), 1);
  EXPECT_EQ(convertToFloat("arith.sitofp", 2049, "i32", "f16"), 2048);
  EXPECT_EQ(convertToFloat("arith.truncf", 1.0 + 0x1p-8 + 0x1p-40, "f64", "bf16"), 1.0 + 0x1p-7); // rounds once
  EXPECT_EQ(convertToFloat("arith.extf", 0.1, "f16", "f64"), halfToFloat(floatToHalf(0.1f)));
  EXPECT_EQ(convert("arith.bitcast", 1.0, "f32", "i32"), 0x3f800000);
  EXPECT_EQ(convertToFloat("arith.bitcast", 0x3c00, "i16", "f16"), 1.0);
}

TEST_F(ScalarsTest, unknownOperationsAreErrors) {
  Module module(mainOf({"tensor<2xi8>"}, R"(graph.map (%a) : (tensor<2xi8>) -> tensor<2xi8> {
    ^bb0(%x: i8):
      %low, %high = arith.mulsi_extended %x, %x : i8
      graph.yield %low : i8 })",
                       "tensor<2xi8>"));
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("i8"), {2})}).empty());
  EXPECT_NE(module.messages.find("does not know 'arith.mulsi_extended'"), std::string::npos) << module.messages;
}
