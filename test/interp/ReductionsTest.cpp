//===- ReductionsTest.cpp - reduce and contract ---------------------------===//

#include "Module.h"

#include <cmath>
#include <limits>

using namespace perpend::interp;
using Shape = std::vector<int64_t>;

static Tensor runOne(Module &module, std::vector<Tensor> inputs) {
  std::vector<Tensor> results = module.run(inputs);
  EXPECT_EQ(results.size(), 1u) << module.messages;
  return results.empty() ? *Tensor::allocate(module.type("f32"), {0}) : results[0];
}

TEST(Reductions, randomShapes) {
  Random random;
  for (int round = 0; round < 80; ++round) {
    Shape input, dims, kept;
    for (int64_t dim = 0; dim < random.integer(0, 4); ++dim) {
      input.push_back(random.extent());
      if (random.integer(0, 1))
        dims.push_back(dim);
      else
        kept.push_back(input.back());
    }
    for (std::string kind : {"sum", "max", "min"}) {
      std::string from = tensorText(input, "f32"), to = tensorText(kept, "f32");
      Module module(
          mainOf({from}, "graph.reduce " + kind + " %a dims " + listText(dims) + " : " + from + " -> " + to, to));
      Tensor tensor = random.floats(module.type("f32"), input);
      Tensor result = runOne(module, {tensor});
      float initial = kind == "sum" ? 0 : (kind == "max" ? -1 : 1) * std::numeric_limits<float>::infinity();
      std::vector<float> expected(static_cast<size_t>(result.elementCount()), initial);
      for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        std::vector<int64_t> index = indexOf(i, input), target;
        for (size_t dim = 0; dim < index.size(); ++dim)
          if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
            target.push_back(index[dim]);
        float &carried = expected[positionOf(target, kept)], next = tensor.elements<float>()[i];
        carried = kind == "sum" ? carried + next : kind == "max" ? std::max(carried, next) : std::min(carried, next);
      }
      EXPECT_EQ(valuesOf<float>(result), expected) << kind;
    }
  }
}

TEST(Reductions, NaNAndSignsOfZero) {
  for (std::string kind : {"max", "min"}) {
    Module module(mainOf({"tensor<3xf32>"}, "graph.reduce " + kind + " %a dims [0] : tensor<3xf32> -> tensor<f32>",
                         "tensor<f32>"));
    Tensor nan = Tensor::of<float>(module.type("f32"), {3}, {1, std::nanf(""), 2});
    EXPECT_TRUE(std::isnan(runOne(module, {nan}).elements<float>()[0]));
    Tensor zeros = Tensor::of<float>(module.type("f32"), {3}, {-0.0f, 0.0f, -0.0f});
    EXPECT_EQ(std::signbit(runOne(module, {zeros}).elements<float>()[0]), kind == "min");
  }
}

TEST(Reductions, integersWrapAndKnowTheirSign) {
  auto reduce = [](const std::string &kind, const std::string &type, std::vector<uint8_t> values) {
    std::string from = "tensor<" + std::to_string(values.size()) + "x" + type + ">", to = "tensor<" + type + ">";
    Module module(mainOf({from}, "graph.reduce " + kind + " %a dims [0] : " + from + " -> " + to, to));
    Tensor input = Tensor::of<uint8_t>(module.type(type), {static_cast<int64_t>(values.size())}, values);
    return static_cast<int>(runOne(module, {input}).elements<uint8_t>()[0]);
  };
  EXPECT_EQ(reduce("sum", "i8", {200, 100}), 44);
  EXPECT_EQ(reduce("product", "ui8", {16, 17}), 16);
  EXPECT_EQ(reduce("max", "i8", {200, 100}), 100);
  EXPECT_EQ(reduce("max", "ui8", {200, 100}), 200);
  EXPECT_EQ(reduce("min", "i8", {200, 100}), 200);
  EXPECT_EQ(reduce("min", "ui8", {200, 100}), 100);
  EXPECT_EQ(reduce("max", "i1", {0, 1}), 1);
  EXPECT_EQ(reduce("min", "i1", {0, 1}), 0);
  EXPECT_EQ(reduce("max", "i8", {}), 128);
  EXPECT_EQ(reduce("min", "i8", {}), 127);
  EXPECT_EQ(reduce("max", "ui8", {}), 0);
  EXPECT_EQ(reduce("min", "ui8", {}), 255);
  EXPECT_EQ(reduce("product", "i8", {}), 1);
}

TEST(Reductions, sumsRoundOnce) {
  Module module(
      mainOf({"tensor<4096xf16>"}, "graph.reduce sum %a dims [0] : tensor<4096xf16> -> tensor<f16>", "tensor<f16>"));
  Tensor ones = Tensor::of<uint16_t>(module.type("f16"), {4096}, std::vector<uint16_t>(4096, floatToHalf(1.0f)));
  EXPECT_EQ(halfToFloat(runOne(module, {ones}).elements<uint16_t>()[0]), 4096.0f);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

TEST(Contract, randomShapes) {
  Random random;
  for (int round = 0; round < 80; ++round) {
    // Dimension names: b(atch), k (contracted, two of them), m, n; each side in a random order.
    Shape extents;
    for (int i = 0; i < 5; ++i)
      extents.push_back(random.extent());
    std::vector<int> left = {0, 1, 2, 3}, right = {0, 1, 2, 4}; // b k0 k1 m; b k0 k1 n
    std::shuffle(left.begin(), left.end(), random.engine);
    std::shuffle(right.begin(), right.end(), random.engine);
    auto shapeOf = [&](const std::vector<int> &names) {
      Shape shape;
      for (int name : names)
        shape.push_back(extents[name]);
      return shape;
    };
    auto where = [](const std::vector<int> &names, std::vector<int> wanted) {
      Shape dims;
      for (int name : wanted)
        dims.push_back(std::find(names.begin(), names.end(), name) - names.begin());
      return listText(dims);
    };
    Shape lhs = shapeOf(left), rhs = shapeOf(right), result = {extents[0], extents[3], extents[4]};
    std::string lhsType = tensorText(lhs, "f32"), rhsType = tensorText(rhs, "f32"), type = tensorText(result, "f32");
    Module module(mainOf({lhsType, rhsType},
                         "graph.contract %a, %b batch " + where(left, {0}) + " x " + where(right, {0}) + " over " +
                             where(left, {1, 2}) + " x " + where(right, {1, 2}) + " : (" + lhsType + ", " + rhsType +
                             ") -> " + type,
                         type));
    Tensor a = random.floats(module.type("f32"), lhs), b = random.floats(module.type("f32"), rhs);
    Tensor got = runOne(module, {a, b});
    for (int64_t i = 0; i < got.elementCount(); ++i) {
      std::vector<int64_t> index = indexOf(i, result);
      float sum = 0;
      for (int64_t k0 = 0; k0 < extents[1]; ++k0)
        for (int64_t k1 = 0; k1 < extents[2]; ++k1) {
          Shape values = {index[0], k0, k1, index[1], index[2]}, l, r;
          for (int name : left)
            l.push_back(values[name]);
          for (int name : right)
            r.push_back(values[name]);
          sum += a.elements<float>()[positionOf(l, lhs)] * b.elements<float>()[positionOf(r, rhs)];
        }
      ASSERT_EQ(got.elements<float>()[i], sum);
    }
  }
}

TEST(Contract, blocksOfLargeMatrices) {
  constexpr int64_t m = 37, k = 601, n = 1031;
  Module module(
      mainOf({"tensor<37x601xf32>", "tensor<601x1031xf32>"},
             "graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<37x601xf32>, tensor<601x1031xf32>) -> "
             "tensor<37x1031xf32>",
             "tensor<37x1031xf32>"));
  Random random;
  Tensor a = random.floats(module.type("f32"), {m, k}), b = random.floats(module.type("f32"), {k, n});
  Tensor got = runOne(module, {a, b});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; j += 13) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += a.elements<float>()[i * k + p] * b.elements<float>()[p * n + j];
      ASSERT_EQ(got.elements<float>()[i * n + j], sum) << i << " " << j;
    }
}

TEST(Contract, integersAreExtendedByTheirSign) {
  Module module(
      mainOf({"tensor<2xui8>", "tensor<2xi8>"},
             "graph.contract %a, %b batch [] x [] over [0] x [0] : (tensor<2xui8>, tensor<2xi8>) -> tensor<i32>",
             "tensor<i32>"));
  Tensor a = Tensor::of<uint8_t>(module.type("ui8"), {2}, {255, 2}),
         b = Tensor::of<int8_t>(module.type("i8"), {2}, {-1, 100});
  EXPECT_EQ(runOne(module, {a, b}).elements<int32_t>()[0], -55);
}

TEST(Contract, sixteenBitOperandsAndWideSums) {
  Module module(
      mainOf({"tensor<3xf16>", "tensor<3xf16>"},
             "graph.contract %a, %b batch [] x [] over [0] x [0] : (tensor<3xf16>, tensor<3xf16>) -> tensor<f32>",
             "tensor<f32>"));
  uint16_t one = floatToHalf(1.0f), large = floatToHalf(2048.0f);
  Tensor a = Tensor::of<uint16_t>(module.type("f16"), {3}, {large, one, one}),
         b = Tensor::of<uint16_t>(module.type("f16"), {3}, {large, one, one});
  EXPECT_EQ(runOne(module, {a, b}).elements<float>()[0], 4194306.0f);
}
