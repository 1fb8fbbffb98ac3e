//===- BlocksTest.cpp - loops around blocks on buffers, as they stand -----===//
//
// Kernels before and after their schedule compute what the operators do, and
// what the flat kernel does, bit by bit.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

#include "graph/passes/Passes.h"
#include "tile/ir/Tile.h"
#include "tile/passes/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace perpend;
using namespace perpend::interp;

namespace {
struct Workload {
  const char *name, *text;
  /// Of the inputs; 'n' is replaced by each of `extents`.
  std::vector<std::vector<int64_t>> inputs;
  bool isExact;
};
constexpr int64_t n = -1;

class BlocksTest : public ::testing::TestWithParam<Workload> {
protected:
  enum Step { Operators, Blocks, Scheduled, Flat };

  static std::vector<Tensor> run(Step last, int64_t extent) {
    Module module(GetParam().text);
    mlir::PassManager passes(&module.context);
    if (last >= Blocks) {
      passes.addPass(graph::createGraphFuseKernels());
      passes.addPass(tile::createTileBuildBlocks());
    }
    if (last >= Scheduled)
      passes.addPass(tile::createTileScheduleBlocks());
    if (last >= Flat)
      passes.addPass(tile::createTileFlattenBlocks());
    EXPECT_TRUE(mlir::succeeded(passes.run(*module.module))) << module.messages;
    EXPECT_EQ(hasBuffers(module), last == Blocks || last == Scheduled);
    Random random;
    std::vector<Tensor> inputs;
    for (std::vector<int64_t> shape : GetParam().inputs) {
      std::replace(shape.begin(), shape.end(), n, extent);
      inputs.push_back(random.floats(module.type("f32"), shape));
    }
    InterpreterOptions options;
    options.checksInstances = true;
    std::vector<Tensor> results = module.run(inputs, options);
    EXPECT_FALSE(results.empty()) << module.messages;
    for (Tensor &result : results) // types must not outlive the context
      result.elementType = {};
    return results;
  }

  static bool hasBuffers(Module &module) {
    bool found = false;
    module.module->walk([&](mlir::func::FuncOp function) {
      found |= llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<tile::BufferType>);
    });
    return found;
  }

  static std::vector<float> valuesIn(const Tensor &tensor) {
    auto *first = reinterpret_cast<const float *>(tensor.data());
    return {first, first + tensor.elementCount()};
  }
};

constexpr const char *layerNorm = R"(
#s = #graph.shape<[2, "n", 8]>
#r = #graph.shape<[2, "n"]>
func.func @main(%a: tensor<2x?x8xf32, #s>, %g: tensor<8xf32>) -> tensor<2x?x8xf32, #s> {
  %t = graph.reduce sum %a dims [2] : tensor<2x?x8xf32, #s> -> tensor<2x?xf32, #r>
  %w = graph.broadcast %t dims [0, 1] : tensor<2x?xf32, #r> -> tensor<2x?x8xf32, #s>
  %d = graph.map (%a, %w) : (tensor<2x?x8xf32, #s>, tensor<2x?x8xf32, #s>) -> tensor<2x?x8xf32, #s> {
  ^bb0(%x: f32, %y: f32):
    %eighth = arith.constant 0.125 : f32
    %m = arith.mulf %y, %eighth : f32
    %z = arith.subf %x, %m : f32
    graph.yield %z : f32
  }
  %q = graph.map (%d) : (tensor<2x?x8xf32, #s>) -> tensor<2x?x8xf32, #s> {
  ^bb0(%x: f32):
    %z = arith.mulf %x, %x : f32
    graph.yield %z : f32
  }
  %v = graph.reduce sum %q dims [2] : tensor<2x?x8xf32, #s> -> tensor<2x?xf32, #r>
  %u = graph.broadcast %v dims [0, 1] : tensor<2x?xf32, #r> -> tensor<2x?x8xf32, #s>
  %h = graph.broadcast %g dims [2] : tensor<8xf32> -> tensor<2x?x8xf32, #s>
  %y = graph.map (%d, %u, %h) : (tensor<2x?x8xf32, #s>, tensor<2x?x8xf32, #s>, tensor<2x?x8xf32, #s>) -> tensor<2x?x8xf32, #s> {
  ^bb0(%x: f32, %s: f32, %scale: f32):
    %eighth = arith.constant 0.125 : f32
    %epsilon = arith.constant 1.0e-5 : f32
    %m = arith.mulf %s, %eighth : f32
    %e = arith.addf %m, %epsilon : f32
    %r = math.rsqrt %e : f32
    %k = arith.mulf %x, %r : f32
    %z = arith.mulf %k, %scale : f32
    graph.yield %z : f32
  }
  return %y : tensor<2x?x8xf32, #s>
})";

constexpr const char *product = R"(
#a = #graph.shape<["n", 5]>
#r = #graph.shape<["n", 3]>
func.func @main(%a: tensor<?x5xf32, #a>, %b: tensor<5x3xf32>) -> tensor<?x3xf32, #r> {
  %c = graph.contract %a, %b batch [] x [] over [1] x [0] : (tensor<?x5xf32, #a>, tensor<5x3xf32>) -> tensor<?x3xf32, #r>
  %d = graph.map (%c) : (tensor<?x3xf32, #r>) -> tensor<?x3xf32, #r> {
  ^bb0(%x: f32):
    %zero = arith.constant 0.0 : f32
    %y = arith.maximumf %x, %zero : f32
    graph.yield %y : f32
  }
  return %d : tensor<?x3xf32, #r>
})";

constexpr const char *convolution = R"(
#a = #graph.shape<["n", 4, 5, 4]>
#r = #graph.shape<["n", 6, 3, 4]>
func.func @main(%a: tensor<?x4x5x4xf32, #a>, %w: tensor<6x2x3x3xf32>) -> tensor<?x6x3x4xf32, #r> {
  %r = graph.conv %a, %w strides [2, 1] pad [1, 1] dilations [1, 1] input_dilation [1, 1] groups 2
    : (tensor<?x4x5x4xf32, #a>, tensor<6x2x3x3xf32>) -> tensor<?x6x3x4xf32, #r>
  return %r : tensor<?x6x3x4xf32, #r>
})";

constexpr const char *pooling = R"(
#a = #graph.shape<["n", 3, 7]>
#r = #graph.shape<["n", 3, 4]>
func.func @main(%a: tensor<?x3x7xf32, #a>) -> tensor<?x3x4xf32, #r> {
  %r = graph.window_reduce max %a window [1, 1, 3] strides [1, 1, 2] pad [0, 0, 1] dilations [1, 1, 1] : tensor<?x3x7xf32, #a> -> tensor<?x3x4xf32, #r>
  return %r : tensor<?x3x4xf32, #r>
})";

// The element comes through an scf.if in the block.
constexpr const char *views = R"(
#s = #graph.shape<[3, "n"]>
#t = #graph.shape<["n", 3]>
#p = #graph.shape<["n + 2", 3]>
#f = #graph.shape<["3*n + 6"]>
func.func @main(%a: tensor<3x?xf32, #s>) -> tensor<?xf32, #f> {
  %t = graph.transpose %a [1, 0] : tensor<3x?xf32, #s> -> tensor<?x3xf32, #t>
  %p = graph.pad %t <[1, 0]> 0.5 : f32 : tensor<?x3xf32, #t> -> tensor<?x3xf32, #p>
  %f = graph.reshape %p : tensor<?x3xf32, #p> -> tensor<?xf32, #f>
  return %f : tensor<?xf32, #f>
})";
} // namespace

TEST_P(BlocksTest, computeWhatTheOperatorsDo) {
  for (int64_t extent : {0, 1, 2, 5}) {
    std::vector<Tensor> operators = run(Operators, extent), blocks = run(Blocks, extent);
    std::vector<Tensor> scheduled = run(Scheduled, extent), flat = run(Flat, extent);
    ASSERT_FALSE(operators.empty() || blocks.empty() || scheduled.empty() || flat.empty()) << extent;
    EXPECT_EQ(blocks[0].shape, operators[0].shape);
    std::vector<float> expected = valuesIn(operators[0]), got = valuesIn(blocks[0]);
    EXPECT_EQ(got, valuesIn(scheduled[0])) << extent;
    EXPECT_EQ(got, valuesIn(flat[0])) << extent;
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], GetParam().isExact ? 0 : 1e-6 * (1 + std::abs(expected[i])));
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, BlocksTest,
                         ::testing::Values(Workload{"softmax", softmaxText, {{n, 7}}, false},
                                           Workload{"layerNorm", layerNorm, {{2, n, 8}, {8}}, false},
                                           Workload{"product", product, {{n, 5}, {5, 3}}, true},
                                           Workload{"convolution", convolution, {{n, 4, 5, 4}, {6, 2, 3, 3}}, true},
                                           Workload{"pooling", pooling, {{n, 3, 7}}, true},
                                           Workload{"views", views, {{3, n}}, true}),
                         [](const auto &info) { return std::string(info.param.name); });
