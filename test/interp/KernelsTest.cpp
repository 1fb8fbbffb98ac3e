//===- KernelsTest.cpp - kernels on tensors and on memory -----------------===//

#include "Module.h"

using namespace perpend::interp;

static constexpr const char *pointwiseKernel = R"(
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {tile.extent = "n"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %n = memref.load %symbols[%c0] : memref<?xi64>
    %scale = arith.sitofp %n : i64 to f32
    %scratch = memref.alloca() : memref<3xf32>
    scf.for %i = %begin to %end step %c1 {
      %row = arith.muli %i, %c3 : index
      %sum = scf.for %j = %c0 to %c3 step %c1 iter_args(%s = %scale) -> f32 {
        %p = arith.addi %row, %j : index
        %x = memref.load %in[%p] : memref<?xf32>
        memref.store %x, %scratch[%j] : memref<3xf32>
        %t = arith.addf %s, %x : f32
        scf.yield %t : f32
      }
      scf.for %j = %c0 to %c3 step %c1 {
        %p = arith.addi %row, %j : index
        %x = memref.load %scratch[%j] : memref<3xf32>
        %isFirst = arith.cmpi eq, %j, %c0 : index
        %y = scf.if %isFirst -> f32 {
          scf.yield %sum : f32
        } else {
          %z = arith.negf %x : f32
          scf.yield %z : f32
        }
        memref.store %y, %out[%p] : memref<?xf32>
      }
    }
    return
  })";

static std::string callerOf(const std::string &kernel) {
  return kernel + R"(
  func.func @main(%a: tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
    %r = graph.call_kernel @k(%a) : (tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>>
    return %r : tensor<?x3xf32, #graph.shape<["n", 3]>>
  })";
}

TEST(Kernels, loopsOnMemory) {
  Module module(callerOf(pointwiseKernel));
  for (int64_t n : {1, 2, 7}) {
    for (unsigned parts : {1u, 3u}) {
      Random random;
      Tensor input = random.floats(module.type("f32"), {n, 3});
      InterpreterOptions options;
      options.kernelParts = parts;
      std::vector<Tensor> results = module.run({input}, options);
      ASSERT_EQ(results.size(), 1u) << module.messages;
      auto x = input.elements<float>(), y = results[0].elements<float>();
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_EQ(y[i * 3], static_cast<float>(n) + x[i * 3] + x[i * 3 + 1] + x[i * 3 + 2]);
        EXPECT_EQ(y[i * 3 + 1], -x[i * 3 + 1]);
        EXPECT_EQ(y[i * 3 + 2], -x[i * 3 + 2]);
      }
    }
  }
}

TEST(Kernels, leavingABufferIsAnError) {
  std::string text = callerOf(pointwiseKernel);
  std::string needle = "%c3 = arith.constant 3";
  text.replace(text.find(needle), needle.size(), "%c3 = arith.constant 4");
  Module module(text);
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {2, 3})}).empty());
  EXPECT_NE(module.messages.find("inside an extent of 3, got 3"), std::string::npos) << module.messages;
}

TEST(Kernels, operatorsOnTensors) {
  Module module(callerOf(R"(
  func.func private @k(%a: tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
    %r = graph.map (%a) : (tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>> {
    ^bb0(%x: f32):
      %y = arith.addf %x, %x : f32
      graph.yield %y : f32
    }
    return %r : tensor<?x3xf32, #graph.shape<["n", 3]>>
  })"));
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {1, 3}, {1, 2, 3})});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<float>(results[0]), (std::vector<float>{2, 4, 6}));
}

TEST(Kernels, microKernel) {
  Module module(R"(
  func.func private @k(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {tile.extent = "1"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    tile.ukernel %a[%c1, %c7], %b[%c0], %c[%c0, %c4] depth %c2 window(%c1, %c2; %c0, %c2; %c0, %c6) block 2 x 3
      : memref<?xf32>, memref<?xf32>, memref<?xf32>
    return
  }
  func.func @main(%a: tensor<15xf32>, %b: tensor<12xf32>) -> tensor<8xf32> {
    %r = graph.call_kernel @k(%a, %b) : (tensor<15xf32>, tensor<12xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  })");
  Random random;
  Tensor a = random.floats(module.type("f32"), {15}), b = random.floats(module.type("f32"), {12});
  std::vector<Tensor> results = module.run({a, b});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  for (int64_t m = 0; m < 2; ++m)
    for (int64_t n = 0; n < 3; ++n) {
      float sum = 0;
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t k = 0; k < 2; ++k)
          sum += a.elements<float>()[1 + i * 2 + m * 7 + k] * b.elements<float>()[i * 6 + k * 3 + n];
      EXPECT_EQ(results[0].elements<float>()[m * 4 + n], sum);
    }
}

TEST(Kernels, vectorsCallsAndOtherLoops) {
  Module module(R"(
  func.func private @twice(%m: memref<?xf32>, %i: index, %limit: index) -> vector<4xf32> {
    %two = arith.constant 2.0 : f32
    %bias = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : vector<4xf32>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %factor = vector.broadcast %two : f32 to vector<4xf32>
    %mask = vector.create_mask %limit : vector<4xi1>
    %x = vector.maskedload %m[%i], %mask, %zero : memref<?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    %y = vector.fma %x, %factor, %bias : vector<4xf32>
    return %y : vector<4xf32>
  }
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {tile.extent = "2"} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %mask = arith.constant dense<[true, true, false, true]> : vector<4xi1>
    scf.parallel (%i) = (%begin) to (%end) step (%c1) {
      %p = arith.muli %i, %c4 : index
      %y = func.call @twice(%in, %p, %c3) : (memref<?xf32>, index, index) -> vector<4xf32>
      vector.maskedstore %out[%p], %mask, %y : memref<?xf32>, vector<4xi1>, vector<4xf32>
      scf.reduce
    }
    %last, %before = scf.while (%a = %c0, %b = %c3) : (index, index) -> (index, index) {
      %go = arith.cmpi slt, %a, %c3 : index
      scf.condition(%go) %a, %b : index, index
    } do {
    ^bb0(%a: index, %b: index):
      %next = arith.addi %a, %c1 : index
      scf.yield %next, %a : index, index
    }
    %sum = arith.addi %last, %before : index
    %v = vector.load %in[%c0] : memref<?xf32>, vector<2xf32>
    %wide = arith.index_cast %sum : index to i32
    %f = arith.sitofp %wide : i32 to f32
    %c2 = arith.constant 2 : index
    memref.store %f, %out[%c2] : memref<?xf32>
    vector.store %v, %out[%c2] : memref<?xf32>, vector<2xf32>
    memref.store %f, %out[%c2] : memref<?xf32>
    return
  }
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %r = graph.call_kernel @k(%a) : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  })");
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {8}, {1, 2, 3, 4, 5, 6, 7, 8})});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  // Lane 3 is masked on loading (0 * 2 + 3), lane 2 on storing; then positions 2 and 3 are 3 + 2 and in[1].
  EXPECT_EQ(valuesOf<float>(results[0]), (std::vector<float>{2, 5, 5, 2, 10, 13, 0, 3}));
}

TEST(Kernels, errorsNameWhatIsMissing) {
  Module module(R"(
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index) { return }
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    %r = graph.call_kernel @k(%a) : (tensor<8xf32>) -> tensor<8xf32>
    return %r : tensor<8xf32>
  })");
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {8})}).empty());
  EXPECT_NE(module.messages.find("tile.extent"), std::string::npos) << module.messages;
}
