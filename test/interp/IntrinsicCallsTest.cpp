//===- IntrinsicCallsTest.cpp - calls of intrinsics by what they describe --===//

#include "Module.h"

#include "tile/intrinsics/Intrinsic.h"

using namespace perpend::interp;
using perpend::tile::IntrinsicLibrary;
using perpend::tile::IntrinsicScope;

namespace {
/// The sums of columns: from nothing on, or added to what is there.
std::string columns(bool hasInit) {
  return R"(
  func.func private @columns(%a: !tile.buffer<[depth, 3] x f32>, %c: !tile.buffer<[3] x f32>) attributes {
    tile.intrinsic = {strides = [["_", "_"], ["_"]]}} {
    tile.for %j in 3 { tile.for %k in depth {
      tile.block "sum" spatial(%vj in 3 = %j) reduced(%vk in depth = %k) {)" +
         std::string(hasInit ? R"(
        tile.init {
          %zero = arith.constant 0.0 : f32
          tile.store %zero, %c[%vj] : !tile.buffer<[3] x f32>
        })"
                             : "") +
         R"(
        %sum = tile.load %c[%vj] : !tile.buffer<[3] x f32>
        %x = tile.load %a[%vk, %vj] : !tile.buffer<[depth, 3] x f32>
        %next = arith.addf %sum, %x : f32
        tile.store %next, %c[%vj] : !tile.buffer<[3] x f32>
      }
    } }
    return
  })";
}

/// Columns of `depth` rows of a 4 x 5 tensor, from the element 1 on, into every second element of six ones.
std::string caller(int64_t depth) {
  return R"(
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {tile.extent = #graph.shape<[1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %one = arith.constant 1.0 : f32
    %depth = arith.constant )" +
         std::to_string(depth) + R"( : index
    scf.for %i = %c0 to %c6 step %c1 {
      memref.store %one, %out[%i] : memref<?xf32>
    }
    tile.call_intrinsic "columns" %in, %out at(%c1, %c0) strides(%c5, %c1, %c2) extents(%depth) : memref<?xf32>, memref<?xf32>
    return
  }
  func.func @main(%a: tensor<4x5xf32>) -> tensor<6xf32> {
    %r = graph.call_kernel @k(%a) : (tensor<4x5xf32>) -> tensor<6xf32>
    return %r : tensor<6xf32>
  })";
}

class IntrinsicCalls : public ::testing::TestWithParam<bool> {};
} // namespace

TEST_P(IntrinsicCalls, computeWhatIsDescribed) {
  bool hasInit = GetParam();
  for (int64_t depth : {0, 1, 3, 4, 5}) {
    Module module(caller(depth));
    auto library = std::make_shared<IntrinsicLibrary>();
    perpend::target::Machine target;
    ASSERT_TRUE(
        mlir::succeeded(library->add(&module.context, "columns.mlir", columns(hasInit), &target, /*needsCode=*/false)))
        << module.messages;
    IntrinsicScope scope(&module.context, library);
    Random random;
    Tensor a = random.floats(module.type("f32"), {4, 5});
    std::vector<Tensor> results = module.run({a});
    if (depth == 5) {
      EXPECT_NE(module.messages.find("'columns' leaves its buffer 0 of 20 elements"), std::string::npos);
      continue;
    }
    ASSERT_EQ(results.size(), 1u) << module.messages;
    std::vector<float> expected(6, 1.0f);
    for (int64_t j = 0; j < 3; ++j) {
      expected[2 * j] = hasInit ? 0.0f : 1.0f;
      for (int64_t k = 0; k < depth; ++k)
        expected[2 * j] += a.elements<float>()[1 + 5 * k + j];
    }
    EXPECT_EQ(valuesOf<float>(results[0]), expected) << depth;
  }
}

INSTANTIATE_TEST_SUITE_P(Sums, IntrinsicCalls, ::testing::Values(true, false),
                         [](const auto &info) { return info.param ? "fromInit" : "goesOn"; });

TEST(IntrinsicCalls, knowTheirNames) {
  Module module(caller(1));
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {4, 5})}).empty());
  EXPECT_NE(module.messages.find("'columns' is no known intrinsic"), std::string::npos) << module.messages;
}
