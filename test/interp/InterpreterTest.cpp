//===- InterpreterTest.cpp - functions, symbols, folding ------------------===//

#include "Module.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace perpend::interp;

static constexpr const char *symbolic = R"(
func.func @main(%a: tensor<?x?xf32, #graph.shape<["n", "2*m + 1"]>>, %b: tensor<?xf32, #graph.shape<["n"]>>)
    -> (tensor<2xi64>, tensor<?xf32, #graph.shape<["m*n"]>>) {
  %d = graph.dims <["n", "m"]> : tensor<2xi64>
  %s = graph.slice %a <[0, 1]> [1, 2] : tensor<?x?xf32, #graph.shape<["n", "2*m + 1"]>> -> tensor<?x?xf32, #graph.shape<["n", "m"]>>
  %w = graph.broadcast %b dims [0] : tensor<?xf32, #graph.shape<["n"]>> -> tensor<?x?xf32, #graph.shape<["n", "m"]>>
  %t = graph.map (%s, %w) : (tensor<?x?xf32, #graph.shape<["n", "m"]>>, tensor<?x?xf32, #graph.shape<["n", "m"]>>)
      -> tensor<?x?xf32, #graph.shape<["n", "m"]>> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    graph.yield %z : f32
  }
  %r = graph.reshape %t : tensor<?x?xf32, #graph.shape<["n", "m"]>> -> tensor<?xf32, #graph.shape<["m*n"]>>
  return %d, %r : tensor<2xi64>, tensor<?xf32, #graph.shape<["m*n"]>>
})";

TEST(Interpreter, bindsSymbolsFromExtents) {
  Module module(symbolic);
  Type f32 = module.type("f32");
  std::vector<std::string> seen;
  InterpreterOptions options;
  options.observer = [&](Operation *op, ArrayRef<Tensor> results) {
    EXPECT_EQ(results.size(), 1u);
    seen.push_back(op->getName().stripDialect().str());
  };
  std::vector<Tensor> results = module.run(
      {Tensor::of<float>(f32, {2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), Tensor::of<float>(f32, {2}, {10, 20})},
      options);
  ASSERT_EQ(results.size(), 2u) << module.messages;
  EXPECT_EQ(valuesOf<int64_t>(results[0]), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(valuesOf<float>(results[1]), (std::vector<float>{12, 14, 27, 29}));
  EXPECT_EQ(seen, (std::vector<std::string>{"dims", "slice", "broadcast", "map", "reshape"}));
}

TEST(Interpreter, inputsThatDoNotFitAreErrors) {
  Module module(symbolic);
  Type f32 = module.type("f32");
  auto fails = [&](std::vector<Tensor> inputs, const std::string &expected) {
    module.messages.clear();
    EXPECT_TRUE(module.run(inputs).empty());
    EXPECT_NE(module.messages.find(expected), std::string::npos) << module.messages;
  };
  Tensor good = *Tensor::allocate(f32, {2, 5});
  fails({good}, "expected 2 inputs, got 1");
  fails({good, *Tensor::allocate(f32, {3})}, "input 1 of 'main': expected dimension 0 to be n = 2, got 3");
  fails({*Tensor::allocate(f32, {2, 4}), *Tensor::allocate(f32, {2})},
        "input 0 of 'main': expected dimension 1 to be 2*m + 1, got 4");
  fails({*Tensor::allocate(f32, {0, 5}), *Tensor::allocate(f32, {1})},
        "input 1 of 'main': expected dimension 0 to be n = 0, got 1");
  fails({good, *Tensor::allocate(f32, {2, 1})}, "expected 1 dimensions, got 2");
  fails({good, *Tensor::allocate(module.type("f64"), {2})}, "expected elements of type 'f32', got 'f64'");
}

TEST(Interpreter, memoryLimit) {
  Module module(mainOf({"tensor<1xf32>"},
                       "graph.broadcast %a dims [0] : tensor<1xf32> -> tensor<1000000000000x1000000xf32>",
                       "tensor<1000000000000x1000000xf32>"));
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {1})}).empty());
  EXPECT_NE(module.messages.find("memory limit"), std::string::npos) << module.messages;
}

TEST(Interpreter, valuesAreFreedAfterTheirLastUse) {
  std::string text = "func.func @main(%v0: tensor<65536xf32>) -> tensor<65536xf32> {\n";
  for (int i = 0; i < 20; ++i)
    text += "%v" + std::to_string(i + 1) + " = graph.slice %v" + std::to_string(i) +
            " <[65535]> [-1] : tensor<65536xf32> -> tensor<65536xf32>\n";
  Module module(text + "return %v20 : tensor<65536xf32>\n}");
  InterpreterOptions options;
  options.memoryLimitBytes = 3 * 65536 * 4; // an input, a result and one more
  EXPECT_EQ(module.run({*Tensor::allocate(module.type("f32"), {65536})}, options).size(), 1u) << module.messages;
}

TEST(Interpreter, generate) {
  Module module(R"(func.func @main(%a: tensor<?xf32, #graph.shape<["n"]>>) -> tensor<3x?xf32, #graph.shape<[3, "n"]>> {
    %r = graph.generate (%a) : (tensor<?xf32, #graph.shape<["n"]>>) -> tensor<3x?xf32, #graph.shape<[3, "n"]>> {
    ^bb0(%i: index, %j: index, %t: tensor<?xf32, #graph.shape<["n"]>>):
      %n = graph.extent "n - 1"
      %p = arith.subi %n, %j : index
      %x = graph.load %t[%p] : tensor<?xf32, #graph.shape<["n"]>> -> f32
      %k = arith.index_cast %i : index to i32
      %f = arith.sitofp %k : i32 to f32
      %y = arith.mulf %x, %f : f32
      graph.yield %y : f32
    }
    return %r : tensor<3x?xf32, #graph.shape<[3, "n"]>> })");
  for (int64_t n : {1, 5, 301}) {
    Tensor input = *Tensor::allocate(module.type("f32"), {n});
    std::iota(input.mutableElements<float>().begin(), input.mutableElements<float>().end(), 1.0f);
    std::vector<Tensor> results = module.run({input});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    for (int64_t i = 0; i < 3 * n; ++i)
      ASSERT_EQ(results[0].elements<float>()[i], static_cast<float>((n - i % n) * (i / n)));
  }
}

TEST(Interpreter, generateOutsideIsAnError) {
  Module module(mainOf({"tensor<2xf32>"}, R"(graph.generate (%a) : (tensor<2xf32>) -> tensor<3xf32> {
    ^bb0(%i: index, %t: tensor<2xf32>):
      %x = graph.load %t[%i] : tensor<2xf32> -> f32
      graph.yield %x : f32 })",
                       "tensor<3xf32>"));
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {2})}).empty());
  EXPECT_NE(module.messages.find("inside an extent of 2, got 2"), std::string::npos) << module.messages;
}

TEST(Interpreter, constantsOfEveryStorage) {
  Module module(R"(func.func @main() -> (tensor<9xi1>, tensor<2xi4>, tensor<2xbf16>, tensor<3xui8>, tensor<2xf64>) {
    %a = graph.constant dense<[true, false, true, true, false, false, false, false, true]> : tensor<9xi1> : tensor<9xi1>
    %b = graph.constant dense<[-1, 7]> : tensor<2xi4> : tensor<2xi4>
    %c = graph.constant dense<[1.0, -2.0]> : tensor<2xbf16> : tensor<2xbf16>
    %d = graph.constant dense<200> : tensor<3xui8> : tensor<3xui8>
    %e = graph.constant dense<[0.5, 0.25]> : tensor<2xf64> : tensor<2xf64>
    return %a, %b, %c, %d, %e : tensor<9xi1>, tensor<2xi4>, tensor<2xbf16>, tensor<3xui8>, tensor<2xf64> })");
  std::vector<Tensor> results = module.run({});
  ASSERT_EQ(results.size(), 5u) << module.messages;
  EXPECT_EQ(valuesOf<uint8_t>(results[0]), (std::vector<uint8_t>{1, 0, 1, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(valuesOf<uint8_t>(results[1]), (std::vector<uint8_t>{15, 7}));
  EXPECT_EQ(valuesOf<uint16_t>(results[2]), (std::vector<uint16_t>{0x3f80, 0xc000}));
  EXPECT_EQ(valuesOf<uint8_t>(results[3]), (std::vector<uint8_t>{200, 200, 200}));
  EXPECT_EQ(valuesOf<double>(results[4]), (std::vector<double>{0.5, 0.25}));
  for (const Tensor &result : results) {
    std::optional<Tensor> again = Tensor::fromAttribute(result.toAttribute());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->shape, result.shape);
    EXPECT_EQ(memcmp(again->data(), result.data(), result.sizeBytes()), 0);
  }
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

static Operation *firstOp(Module &module) { return &module.main().getBody().front().front(); }

TEST(Evaluate, smallResultsAreDenseAndLargeOnesResources) {
  Module small(
      mainOf({"tensor<2x2xf32>"}, "graph.transpose %a [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>", "tensor<2x2xf32>"));
  auto type = RankedTensorType::get({2, 2}, small.type("f32"));
  SmallVector<Attribute> results;
  ASSERT_TRUE(succeeded(evaluate(firstOp(small), {DenseElementsAttr::get<float>(type, {1, 2, 3, 4})}, results)));
  EXPECT_EQ(results[0], DenseElementsAttr::get<float>(type, {1, 3, 2, 4}));

  Module large(mainOf({"tensor<100x200xf32>"}, "graph.transpose %a [1, 0] : tensor<100x200xf32> -> tensor<200x100xf32>",
                      "tensor<200x100xf32>"));
  Random random;
  Tensor input = random.floats(large.type("f32"), {100, 200});
  Attribute constant = input.toAttribute();
  ASSERT_TRUE(isa<DenseResourceElementsAttr>(constant));
  results.clear();
  ASSERT_TRUE(succeeded(evaluate(firstOp(large), {constant}, results))) << large.messages;
  ASSERT_TRUE(isa<DenseResourceElementsAttr>(results[0]));
  std::optional<Tensor> output = Tensor::fromAttribute(cast<ElementsAttr>(results[0]));
  ASSERT_TRUE(output);
  for (int64_t i = 0; i < 100; ++i)
    for (int64_t j = 0; j < 200; ++j)
      ASSERT_EQ(output->elements<float>()[j * 100 + i], input.elements<float>()[i * 200 + j]);
}

TEST(Evaluate, splatsStaySmall) {
  Module module(mainOf({"tensor<f32>"}, "graph.broadcast %a dims [] : tensor<f32> -> tensor<1000x1000xf32>",
                       "tensor<1000x1000xf32>"));
  SmallVector<Attribute> results;
  auto one = DenseElementsAttr::get<float>(RankedTensorType::get({}, module.type("f32")), 1.5f);
  ASSERT_TRUE(succeeded(evaluate(firstOp(module), {one}, results)));
  EXPECT_EQ(results[0], DenseElementsAttr::get<float>(RankedTensorType::get({1000, 1000}, module.type("f32")), 1.5f));
}

TEST(Evaluate, whatIsNotConstantIsAnError) {
  Module module(mainOf({"tensor<2xf32>"}, "graph.reshape %a : tensor<2xf32> -> tensor<1x2xf32>", "tensor<1x2xf32>"));
  SmallVector<Attribute> results;
  EXPECT_TRUE(failed(evaluate(firstOp(module), {Attribute()}, results)));
  EXPECT_NE(module.messages.find("operand 0: expected dense elements"), std::string::npos) << module.messages;
}
