//===- LoweringTest.cpp - the same values at the graph and the tile level --===//
//
// Small models are run before and after fusion, scheduling and lowering to
// loops: the interpreter's operators against the code that the tile level
// generates from ElementInterface, and the other way round.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "graph/passes/Passes.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <cmath>

using namespace perpend;
using namespace perpend::interp;

namespace {
struct Lowering {
  const char *name, *text;
  std::vector<std::vector<int64_t>> inputs;
  bool hasMicroKernel = false;
};

class LoweringTest : public ::testing::TestWithParam<Lowering> {
protected:
  static void lower(Module &module) {
    mlir::PassManager passes(&module.context);
    passes.addPass(tile::createTilePackOperands());
    passes.addPass(graph::createGraphFuseKernels());
    passes.addPass(tile::createTileBuildBlocks());
    passes.addPass(tile::createTileScheduleBlocks());
    passes.addPass(tile::createTileFlattenBlocks());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(tile::createTileLowerIntrinsics());
    ASSERT_TRUE(mlir::succeeded(passes.run(*module.module))) << module.messages;
  }
};

std::vector<Lowering> lowerings() {
  return {
      {"softmax", softmaxText, {{5, 7}}},
      {"matmul",
       R"(
#a = #graph.shape<["n", 13]>
#r = #graph.shape<["n", 21]>
func.func @main(%a: tensor<?x13xf32, #a>, %b: tensor<13x21xf32>) -> tensor<?x21xf32, #r> {
  %c = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<?x13xf32, #a>, tensor<13x21xf32>) -> tensor<?x21xf32, #r>
  %d = graph.map (%c) : (tensor<?x21xf32, #r>) -> tensor<?x21xf32, #r> {
  ^bb0(%x: f32):
    %zero = arith.constant 0.0 : f32
    %y = arith.maximumf %x, %zero : f32
    graph.yield %y : f32
  }
  return %d : tensor<?x21xf32, #r>
})",
       {{11, 13}, {13, 21}},
       /*hasMicroKernel=*/true},
      {"views",
       R"(
#s = #graph.shape<[3, "n"]>
#t = #graph.shape<["n", 3]>
#p = #graph.shape<["n + 2", 3]>
#c = #graph.shape<["2*n + 2", 3]>
#f = #graph.shape<["6*n + 6"]>
func.func @main(%a: tensor<3x?xf32, #s>) -> tensor<?xf32, #f> {
  %t = graph.transpose %a [1, 0] : tensor<3x?xf32, #s> -> tensor<?x3xf32, #t>
  %v = graph.slice %t <["n - 1", 0]> [-1, 1] : tensor<?x3xf32, #t> -> tensor<?x3xf32, #t>
  %p = graph.pad %v <[1, 0]> 0.5 : f32 : tensor<?x3xf32, #t> -> tensor<?x3xf32, #p>
  %c = graph.concat %p, %t axis 0 : (tensor<?x3xf32, #p>, tensor<?x3xf32, #t>) -> tensor<?x3xf32, #c>
  %f = graph.reshape %c : tensor<?x3xf32, #c> -> tensor<?xf32, #f>
  return %f : tensor<?xf32, #f>
})",
       {{3, 5}}},
      {"conv",
       R"(
func.func @main(%a: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<2x6x5x8xf32> {
  %r = graph.conv %a, %w strides [2, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 2
    : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x8xf32>
  return %r : tensor<2x6x5x8xf32>
})",
       {{2, 4, 9, 8}, {6, 2, 3, 3}}},
      {"pooling",
       R"(
func.func @main(%a: tensor<2x3x7xf32>) -> tensor<2x3x4xf32> {
  %r = graph.window_reduce max %a window [1, 1, 3] strides [1, 1, 2] pad [0, 0, 1] dilations [1, 1, 1] : tensor<2x3x7xf32> -> tensor<2x3x4xf32>
  return %r : tensor<2x3x4xf32>
})",
       {{2, 3, 7}}},
  };
}

std::vector<Lowering> sorts() {
  return {
      {"sort",
       R"(
func.func @main(%a: tensor<3x37xf32>) -> tensor<3x37xf32> {
  %o = graph.sort  %a dim 1 : tensor<3x37xf32> -> tensor<3x37xi64>
  %r = graph.map (%o) : (tensor<3x37xi64>) -> tensor<3x37xf32> {
  ^bb0(%x: i64):
    %y = arith.sitofp %x : i64 to f32
    graph.yield %y : f32
  }
  return %r : tensor<3x37xf32>
})",
       {{3, 37}}},
      {"sortOfColumns",
       R"(
#s = #graph.shape<["n", 3]>
func.func @main(%a: tensor<?x3xf32, #s>) -> tensor<?x3xf32, #s> {
  %o = graph.sort descending %a dim 0 : tensor<?x3xf32, #s> -> tensor<?x3xi64, #s>
  %r = graph.map (%o) : (tensor<?x3xi64, #s>) -> tensor<?x3xf32, #s> {
  ^bb0(%x: i64):
    %y = arith.sitofp %x : i64 to f32
    graph.yield %y : f32
  }
  return %r : tensor<?x3xf32, #s>
})",
       {{41, 3}}},
      {"sortOfRows",
       R"(
func.func @main(%a: tensor<64x3xf32>) -> tensor<64xf32> {
  %o = graph.sort lexicographic %a dim 0 : tensor<64x3xf32> -> tensor<64xi64>
  %r = graph.map (%o) : (tensor<64xi64>) -> tensor<64xf32> {
  ^bb0(%x: i64):
    %y = arith.sitofp %x : i64 to f32
    graph.yield %y : f32
  }
  return %r : tensor<64xf32>
})",
       {{64, 3}}},
      {"firstOfColumns",
       R"mlir(
#s = #graph.shape<["n", 3]>
#k = #graph.shape<["min(n, 5)", 3]>
func.func @main(%a: tensor<?x3xf32, #s>) -> tensor<?x3xf32, #k> {
  %t = graph.map (%a) : (tensor<?x3xf32, #s>) -> tensor<?x3xf32, #s> {
  ^bb0(%x: f32):
    %y = math.floor %x : f32
    graph.yield %y : f32
  }
  %o = graph.sort descending %t dim 0 : tensor<?x3xf32, #s> -> tensor<?x3xi64, #k>
  %r = graph.map (%o) : (tensor<?x3xi64, #k>) -> tensor<?x3xf32, #k> {
  ^bb0(%x: i64):
    %y = arith.sitofp %x : i64 to f32
    graph.yield %y : f32
  }
  return %r : tensor<?x3xf32, #k>
})mlir",
       {{41, 3}}},
      {"firstOfRows",
       R"(
func.func @main(%a: tensor<64x3xf32>) -> tensor<7xf32> {
  %o = graph.sort lexicographic %a dim 0 : tensor<64x3xf32> -> tensor<7xi64>
  %r = graph.map (%o) : (tensor<7xi64>) -> tensor<7xf32> {
  ^bb0(%x: i64):
    %y = arith.sitofp %x : i64 to f32
    graph.yield %y : f32
  }
  return %r : tensor<7xf32>
})",
       {{64, 3}}},
  };
}

std::vector<Lowering> sequences() {
  return {
      {"scatter",
       R"(
func.func @main(%a: tensor<5x70xf32>, %i: tensor<7x1xf32>, %u: tensor<7x70xf32>) -> tensor<5x70xf32> {
  %j = graph.map (%i) : (tensor<7x1xf32>) -> tensor<7x1xi64> {
  ^bb0(%x: f32):
    %y = arith.fptosi %x : f32 to i64
    graph.yield %y : i64
  }
  %r = graph.scatter %a [%j] to %u : (tensor<5x70xf32>, tensor<7x1xi64>, tensor<7x70xf32>) -> tensor<5x70xf32>
  return %r : tensor<5x70xf32>
})",
       {{5, 70}, {7, 1}, {7, 70}}},
      {"scatterOfSums",
       R"(
func.func @main(%a: tensor<5x3x2xf32>, %i: tensor<2x13x2xf32>, %u: tensor<2x13x2xf32>) -> tensor<5x3x2xf32> {
  %j = graph.map (%i) : (tensor<2x13x2xf32>) -> tensor<2x13x2xi64> {
  ^bb0(%x: f32):
    %y = arith.fptosi %x : f32 to i64
    graph.yield %y : i64
  }
  %r = graph.scatter %a [%j] by sum to %u : (tensor<5x3x2xf32>, tensor<2x13x2xi64>, tensor<2x13x2xf32>) -> tensor<5x3x2xf32>
  return %r : tensor<5x3x2xf32>
})",
       {{5, 3, 2}, {2, 13, 2}, {2, 13, 2}}},
      {"scan",
       R"(
func.func @main(%a: tensor<3x13xf32>) -> tensor<3x13xf32> {
  %r = graph.scan sum %a dim 1 : tensor<3x13xf32> -> tensor<3x13xf32>
  return %r : tensor<3x13xf32>
})",
       {{3, 13}}},
      {"scanOfRows",
       R"(
#s = #graph.shape<[2, "n", 3, 5]>
func.func @main(%a: tensor<2x?x3x5xf32, #s>) -> tensor<2x?x3x5xf32, #s> {
  %r = graph.scan max %a dim 1 : tensor<2x?x3x5xf32, #s> -> tensor<2x?x3x5xf32, #s>
  return %r : tensor<2x?x3x5xf32, #s>
})",
       {{2, 7, 3, 5}}},
  };
}
} // namespace

TEST_P(LoweringTest, keepsTheValues) {
  Module module(GetParam().text);
  Random random;
  std::vector<Tensor> inputs;
  for (const auto &shape : GetParam().inputs)
    inputs.push_back(random.floats(module.type("f32"), shape));
  std::vector<Tensor> before = module.run(inputs);
  ASSERT_EQ(before.size(), 1u) << module.messages;
  lower(module);
  bool hasTensors = false, hasMicroKernel = false;
  module.module->walk([&](mlir::func::FuncOp function) {
    hasMicroKernel |= function.getSymName().starts_with("registers_");
    hasTensors |=
        function.getSymName() != "main" && llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<mlir::TensorType>);
  });
  EXPECT_FALSE(hasTensors) << "a kernel is not lowered";
  EXPECT_EQ(hasMicroKernel, GetParam().hasMicroKernel);
  for (unsigned parts : {1u, 2u}) {
    InterpreterOptions options;
    options.kernelParts = parts;
    std::vector<Tensor> after = module.run(inputs, options);
    ASSERT_EQ(after.size(), 1u) << module.messages;
    ASSERT_EQ(after[0].shape, before[0].shape);
    for (int64_t i = 0; i < after[0].elementCount(); ++i)
      ASSERT_NEAR(after[0].elements<float>()[i], before[0].elements<float>()[i],
                  1e-5 * (1 + std::abs(before[0].elements<float>()[i])));
  }
}

INSTANTIATE_TEST_SUITE_P(Lowering, LoweringTest, ::testing::ValuesIn(lowerings()),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Sequences, LoweringTest, ::testing::ValuesIn(sequences()),
                         [](const auto &info) { return std::string(info.param.name); });
INSTANTIATE_TEST_SUITE_P(Sorts, LoweringTest, ::testing::ValuesIn(sorts()),
                         [](const auto &info) { return std::string(info.param.name); });
