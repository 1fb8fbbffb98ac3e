//===- IntegerProductsTest.cpp - packed integers mean what they meant -----===//
//
// Contractions and convolutions of integers are run as they are, packed into
// words of pairs or quadruples, and lowered to loops with and without
// micro-kernels. All sums must be the same, modulo 2^32.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "graph/passes/Passes.h"
#include "target/TargetInfo.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace perpend;
using namespace perpend::interp;

namespace {
struct Product {
  const char *name, *text, *left, *right;
  std::vector<int64_t> leftShape, rightShape;
};

std::vector<Product> products() {
  return {
      {"centredBytes",
       R"(
#x = #graph.shape<["n", 7]>
#y = #graph.shape<["n", 5]>
func.func @main(%a: tensor<?x7xui8, #x>, %b: tensor<7x5xi8>) -> tensor<?x5xi32, #y> {
  %c = graph.map (%a) : (tensor<?x7xui8, #x>) -> tensor<?x7xi16, #x> {
  ^bb0(%e: i8):
    %zero = arith.constant 117 : i16
    %wide = arith.extui %e : i8 to i16
    %d = arith.subi %wide, %zero : i16
    graph.yield %d : i16
  }
  %r = graph.contract %c, %b batch [] x [] over [1] x [0] : (tensor<?x7xi16, #x>, tensor<7x5xi8>) -> tensor<?x5xi32, #y>
  return %r : tensor<?x5xi32, #y>
})",
       "ui8",
       "i8",
       {9, 7},
       {7, 5}},
      {"signsExchanged",
       R"(
func.func @main(%a: tensor<3x2x6xi8>, %b: tensor<3x6x9xui8>) -> tensor<3x2x9xi32> {
  %r = graph.contract %a, %b batch [0] x [0] over [2] x [1] : (tensor<3x2x6xi8>, tensor<3x6x9xui8>) -> tensor<3x2x9xi32>
  return %r : tensor<3x2x9xi32>
})",
       "i8",
       "ui8",
       {3, 2, 6},
       {3, 6, 9}},
      {"pairs",
       R"(
func.func @main(%a: tensor<11x3xi16>, %b: tensor<3x6xi16>) -> tensor<11x6xi32> {
  %r = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<11x3xi16>, tensor<3x6xi16>) -> tensor<11x6xi32>
  return %r : tensor<11x6xi32>
})",
       "i16",
       "i16",
       {11, 3},
       {3, 6}},
      {"convolution",
       R"(
func.func @main(%x: tensor<2x6x9x3xui8>, %w: tensor<3x2x3x7xi8>) -> tensor<2x4x4x7xi32> {
  %r = graph.conv %x, %w strides [1, 2] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 1 channels_last
    : (tensor<2x6x9x3xui8>, tensor<3x2x3x7xi8>) -> tensor<2x4x4x7xi32>
  return %r : tensor<2x4x4x7xi32>
})",
       "ui8",
       "i8",
       {2, 6, 9, 3},
       {3, 2, 3, 7}},
      {"groups",
       R"(
func.func @main(%x: tensor<1x6x6x8xi8>, %w: tensor<3x3x4x10xi8>) -> tensor<1x4x4x10xi32> {
  %r = graph.conv %x, %w strides [1, 1] pad [0, 0] dilations [1, 1] input_dilation [1, 1] groups 2 channels_last
    : (tensor<1x6x6x8xi8>, tensor<3x3x4x10xi8>) -> tensor<1x4x4x10xi32>
  return %r : tensor<1x4x4x10xi32>
})",
       "i8",
       "i8",
       {1, 6, 6, 8},
       {3, 3, 4, 10}},
  };
}

class IntegerProductsTest : public ::testing::TestWithParam<Product> {
protected:
  template <typename T> static Tensor numbers(Random &random, mlir::Type type, llvm::ArrayRef<int64_t> shape) {
    Tensor tensor = *Tensor::allocate(type, shape);
    for (T &value : tensor.mutableElements<T>()) // many of them at the ends
      value =
          static_cast<T>(random.integer(0, 1) ? random.integer(INT16_MIN, INT16_MAX)
                                              : (random.integer(0, 1) ? INT16_MIN : INT16_MAX) >> (16 - 8 * sizeof(T)));
    return tensor;
  }

  static std::vector<int32_t> sums(Module &module) {
    Random random;
    auto operand = [&](llvm::StringRef type, llvm::ArrayRef<int64_t> shape) {
      return type == "i16"   ? numbers<int16_t>(random, module.type(type), shape)
             : type == "ui8" ? numbers<uint8_t>(random, module.type(type), shape)
                             : numbers<int8_t>(random, module.type(type), shape);
    };
    const Product &product = GetParam();
    Tensor left = operand(product.left, product.leftShape), right = operand(product.right, product.rightShape);
    std::vector<Tensor> results = module.run({left, right});
    EXPECT_EQ(results.size(), 1u) << module.messages;
    return results.empty() ? std::vector<int32_t>() : valuesOf<int32_t>(results[0]);
  }

  template <typename... Passes> static void apply(Module &module, Passes... added) {
    mlir::PassManager passes(&module.context);
    (passes.addPass(std::move(added)), ...);
    ASSERT_TRUE(mlir::succeeded(passes.run(*module.module))) << module.messages;
  }
};

TEST_P(IntegerProductsTest, AreTheSameAtEveryLevel) {
  Module original(GetParam().text);
  std::vector<int32_t> expected = sums(original);
  for (const char *name : {"x86-64-v3", "x86-64-v3,+avxvnni"})
    for (bool hasMicroKernels : {true, false}) {
      Module module(GetParam().text);
      mlir::PassManager passes(&module.context);
      target::TargetInfo target = llvm::cantFail(target::resolveTarget(name));
      target.vectorBytes = 16;
      passes.addPass(tile::createTilePackOperands({target}));
      ASSERT_TRUE(mlir::succeeded(passes.run(*module.module))) << module.messages;
      EXPECT_EQ(sums(module), expected) << "packed for " << name;
      apply(module, graph::createGraphFuseKernels(), tile::createTileBuildBlocks());
      if (hasMicroKernels)
        apply(module, tile::createTileScheduleBlocks({target}));
      apply(module, tile::createTileFlattenBlocks(), mlir::createCanonicalizerPass());
      EXPECT_EQ(sums(module), expected) << "loops, for " << name << ", micro-kernels " << hasMicroKernels;
    }
}

INSTANTIATE_TEST_SUITE_P(Products, IntegerProductsTest, ::testing::ValuesIn(products()),
                         [](const auto &info) { return info.param.name; });
} // namespace
