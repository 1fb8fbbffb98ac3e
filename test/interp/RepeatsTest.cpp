//===- RepeatsTest.cpp - inputs that are repeated, and extents that are not --===//

#include "Module.h"

#include "mlir/AsmParser/AsmParser.h"

using namespace perpend::interp;

/// x and y, with what their arguments declare.
static std::string sumOf(const std::string &x, const std::string &y) {
  return "func.func @main(%x: tensor<?xf32, #graph.shape<[\"n\"]>> " + x +
         ", %y: tensor<?xf32, #graph.shape<[\"m\"]>> " + y +
         ") -> tensor<?xf32, #graph.shape<[\"n\"]>> {\n"
         "  %r = graph.broadcast %y dims [0] : tensor<?xf32, #graph.shape<[\"m\"]>> -> tensor<?xf32, "
         "#graph.shape<[\"n\"]>>\n"
         "  %s = graph.map (%x, %r) : (tensor<?xf32, #graph.shape<[\"n\"]>>, tensor<?xf32, #graph.shape<[\"n\"]>>) -> "
         "tensor<?xf32, #graph.shape<[\"n\"]>> {\n"
         "  ^bb0(%a: f32, %b: f32):\n    %c = arith.addf %a, %b : f32\n    graph.yield %c : f32\n  }\n"
         "  return %s : tensor<?xf32, #graph.shape<[\"n\"]>>\n}\n";
}

static Tensor vectorOf(Module &module, std::vector<float> values) {
  return Tensor::of<float>(module.type("f32"), {static_cast<int64_t>(values.size())}, values);
}

TEST(Repeats, DeclaredDimensionsAreRepeated) {
  Module module(sumOf("{graph.repeats = [#graph.shape<[\"m\"]>]}", "{graph.repeats = [#graph.shape<[\"n\"]>]}"));
  auto run = [&](std::vector<float> x, std::vector<float> y) {
    std::vector<Tensor> results = module.run({vectorOf(module, x), vectorOf(module, y)});
    return results.empty() ? std::vector<float>{-1} : valuesOf<float>(results[0]);
  };
  EXPECT_EQ(run({1, 2, 3}, {10}), (std::vector<float>{11, 12, 13}));
  EXPECT_EQ(run({1}, {10, 20}), (std::vector<float>{11, 21}));
  EXPECT_EQ(run({1}, {10}), (std::vector<float>{11}));
  EXPECT_EQ(run({}, {10}), std::vector<float>());
  EXPECT_EQ(run({1, 2, 3}, {10, 20}), std::vector<float>{-1}) << "neither is 1";
}

TEST(Repeats, OthersMustBeEqual) {
  Module module(sumOf("", ""));
  EXPECT_TRUE(module.run({vectorOf(module, {1, 2, 3}), vectorOf(module, {10})}).empty());
  EXPECT_NE(module.messages.find("expected an input that fits a result of shape 3"), std::string::npos)
      << module.messages;
  EXPECT_EQ(module.run({vectorOf(module, {1, 2}), vectorOf(module, {10, 20})}).size(), 1u);
}

TEST(Repeats, RequirementsAreChecked) {
  Module module(sumOf("", ""));
  auto requirement = mlir::parseAttribute("#graph.shape<[\"n - 2\"]>", &module.context);
  module.main()->setAttr("graph.requirements", requirement);
  EXPECT_TRUE(module.run({vectorOf(module, {1}), vectorOf(module, {10})}).empty());
  EXPECT_NE(module.messages.find("the model needs n >= 2, got 1"), std::string::npos) << module.messages;
}
