//===- KernelsTest.cpp - kernels on tensors and on memory -----------------===//

#include "Module.h"

using namespace perpend::interp;

static constexpr const char *pointwiseKernel = R"(
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {graph.symbols = ["n"], tile.extent = #graph.shape<["n"]>} {
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
    %r = graph.call_kernel @k(%a) {graph.symbols = #graph.shape<["n"]>} : (tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>>
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

// %memory holds the row, %last what was written before. Both are scratch memory.
static constexpr const char *scratchKernel = R"(
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %memory: memref<?xf32>,
                       %last: memref<?xi8>, %begin: index, %end: index)
      attributes {graph.symbols = ["n"], tile.extent = #graph.shape<["n"]>, tile.scratch = #graph.shape<[3, 1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    FIRST
    scf.for %i = %begin to %end step %c1 {
      %row = arith.muli %i, %c3 : index
      scf.for %j = %c0 to %c3 step %c1 {
        %p = arith.addi %row, %j : index
        %x = memref.load %in[%p] : memref<?xf32>
        memref.store %x, %memory[%j] : memref<?xf32>
      }
      scf.for %j = %c0 to %c3 step %c1 {
        %p = arith.addi %row, %j : index
        %x = memref.load %memory[%j] : memref<?xf32>
        memref.store %x, %out[%p] : memref<?xf32>
      }
    }
    LAST
    return
  })";

static std::string scratchKernelWith(std::string first, std::string last) {
  std::string text = scratchKernel;
  text.replace(text.find("FIRST"), 5, first);
  text.replace(text.find("LAST"), 4, last);
  return text;
}

TEST(Kernels, haveScratchMemory) {
  Module module(callerOf(scratchKernelWith("", "")));
  for (int64_t n : {0, 1, 7})
    for (unsigned parts : {1u, 3u}) {
      Random random;
      Tensor input = random.floats(module.type("f32"), {n, 3});
      InterpreterOptions options;
      options.kernelParts = parts;
      std::vector<Tensor> results = module.run({input}, options);
      ASSERT_EQ(results.size(), 1u) << module.messages;
      EXPECT_EQ(valuesOf<float>(results[0]), valuesOf<float>(input));
    }
}

/// A part must not rely on what another one left, nor on zeros.
TEST(Kernels, findNothingInScratchMemory) {
  std::string first = "%v = memref.load %memory[%c0] : memref<?xf32>\nmemref.store %v, %out[%begin] : memref<?xf32>\n"
                      "%one = arith.constant 1.0 : f32\nmemref.store %one, %memory[%c0] : memref<?xf32>";
  std::string last = "memref.store %v, %out[%begin] : memref<?xf32>";
  Module module(callerOf(scratchKernelWith(first, last)));
  InterpreterOptions options;
  options.kernelParts = 2;
  std::vector<Tensor> results =
      module.run({Tensor::of<float>(module.type("f32"), {2, 3}, {1, 1, 1, 1, 1, 1})}, options);
  ASSERT_EQ(results.size(), 1u) << module.messages;
  for (int64_t unit : {0, 1}) {
    float found = valuesOf<float>(results[0])[unit];
    EXPECT_TRUE(found != 0 && found != 1) << found;
  }
}

TEST(Kernels, stayInsideScratchMemory) {
  Module module(callerOf(scratchKernelWith("%v = memref.load %last[%c1] : memref<?xi8>", "")));
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {2, 3})}).empty());
  EXPECT_NE(module.messages.find("inside an extent of 1, got 1"), std::string::npos) << module.messages;
}

TEST(Kernels, haveSymbolsOfTheirOwn) {
  std::string kernel = pointwiseKernel;
  Module module(kernel + R"(
  func.func @main(%a: tensor<?x3xf32, #graph.shape<["m", 3]>>, %b: tensor<?x3xf32, #graph.shape<["2*n", 3]>>,
                  %c: tensor<?xf32, #graph.shape<["n"]>>)
      -> (tensor<?x3xf32, #graph.shape<["m", 3]>>, tensor<?x3xf32, #graph.shape<["2*n", 3]>>) {
    %r = graph.call_kernel @k(%a) {graph.symbols = #graph.shape<["m"]>} : (tensor<?x3xf32, #graph.shape<["m", 3]>>) -> tensor<?x3xf32, #graph.shape<["m", 3]>>
    %s = graph.call_kernel @k(%b) {graph.symbols = #graph.shape<["2*n"]>} : (tensor<?x3xf32, #graph.shape<["2*n", 3]>>) -> tensor<?x3xf32, #graph.shape<["2*n", 3]>>
    return %r, %s : tensor<?x3xf32, #graph.shape<["m", 3]>>, tensor<?x3xf32, #graph.shape<["2*n", 3]>>
  })");
  Tensor ones = Tensor::of<float>(module.type("f32"), {1, 3}, {1, 1, 1});
  Tensor twos = Tensor::of<float>(module.type("f32"), {4, 3}, std::vector<float>(12, 2));
  std::vector<Tensor> results = module.run({ones, twos, Tensor::of<float>(module.type("f32"), {2}, {0, 0})});
  ASSERT_EQ(results.size(), 2u) << module.messages;
  EXPECT_EQ(results[0].elements<float>()[0], 1 + 3);
  EXPECT_EQ(results[1].elements<float>()[9], 4 + 6);
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
  func.func private @k(%a: tensor<?x3xf32, #graph.shape<["n", 3]>>) -> tensor<?x3xf32, #graph.shape<["n", 3]>>
      attributes {graph.symbols = ["n"]} {
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
      attributes {tile.extent = #graph.shape<[1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    tile.call_intrinsic "f32.block" %a, %b, %c at(%c1, %c0, %c0) strides(%c0, %c2, %c7, %c1, %c0, %c6, %c3, %c1, %c4, %c1)
      extents(%c3, %c2, %c2, %c1, %c2) : memref<?xf32>, memref<?xf32>, memref<?xf32>
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
      attributes {tile.extent = #graph.shape<[2]>} {
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

static std::string gatherOf(int last) {
  return R"(
  func.func private @k(%in: memref<?xf32>, %out: memref<?xf32>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {tile.extent = #graph.shape<[1]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %begin to %end step %c1 {
      %at = arith.constant dense<[3, 0, 9, )" +
         std::to_string(last) + R"(]> : vector<4xindex>
      %mask = arith.constant dense<[true, true, false, true]> : vector<4xi1>
      %other = arith.constant dense<-1.0> : vector<4xf32>
      %v = vector.gather %in[%c1] [%at], %mask, %other : memref<?xf32>, vector<4xindex>, vector<4xi1>, vector<4xf32> into vector<4xf32>
      vector.store %v, %out[%c0] : memref<?xf32>, vector<4xf32>
    }
    return
  }
  func.func @main(%a: tensor<5xf32>) -> tensor<4xf32> {
    %r = graph.call_kernel @k(%a) : (tensor<5xf32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  })";
}

TEST(Kernels, gathers) {
  Module module(gatherOf(2));
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {5}, {1, 2, 3, 4, 5})});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<float>(results[0]), (std::vector<float>{5, 2, -1, 4}));
  Module outside(gatherOf(4));
  EXPECT_TRUE(outside.run({Tensor::of<float>(outside.type("f32"), {5}, {1, 2, 3, 4, 5})}).empty());
  EXPECT_NE(outside.messages.find("expected index 0 inside an extent of 5, got 5"), std::string::npos)
      << outside.messages;
}

TEST(Kernels, narrowElementsInBytes) {
  Module module(R"(
  func.func private @k(%in: memref<?xi8>, %out: memref<?xi8>, %symbols: memref<?xi64>, %begin: index, %end: index)
      attributes {tile.extent = #graph.shape<[4]>} {
    %c1 = arith.constant 1 : index
    scf.for %i = %begin to %end step %c1 {
      %x = memref.load %in[%i] : memref<?xi8>
      %b = arith.trunci %x : i8 to i1
      %y = arith.extsi %b : i1 to i8
      memref.store %y, %out[%i] : memref<?xi8>
    }
    return
  }
  func.func @main(%a: tensor<4xi1>) -> tensor<4xi1> {
    %r = graph.call_kernel @k(%a) : (tensor<4xi1>) -> tensor<4xi1>
    return %r : tensor<4xi1>
  })");
  std::vector<Tensor> results = module.run({Tensor::of<uint8_t>(module.type("i1"), {4}, {1, 0, 1, 1})});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<uint8_t>(results[0]), (std::vector<uint8_t>{1, 0, 1, 1}));
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

//===----------------------------------------------------------------------===//
// Tensor intrinsics on packed operands
//===----------------------------------------------------------------------===//

TEST(Packed, matmul) {
  Random random;
  for (int round = 0; round < 30; ++round) {
    int64_t batch = random.extent(), m = random.extent(), k = random.extent(), n = random.extent(),
            cols = random.integer(1, 4);
    int64_t panels = (n + cols - 1) / cols;
    std::string lhs = tensorText({batch, m, k}, "f32"), rhs = tensorText({batch, panels, k, cols}, "f32"),
                type = tensorText({batch, m, n}, "f32");
    Module module(mainOf({lhs, rhs}, "tile.matmul %a, %b : (" + lhs + ", " + rhs + ") -> " + type, type));
    Tensor a = random.floats(module.type("f32"), {batch, m, k}),
           b = random.floats(module.type("f32"), {batch, panels, k, cols});
    std::vector<Tensor> results = module.run({a, b});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    for (int64_t i = 0; i < results[0].elementCount(); ++i) {
      std::vector<int64_t> at = indexOf(i, results[0].shape);
      float sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += a.elements<float>()[positionOf({at[0], at[1], p}, a.shape)] *
               b.elements<float>()[positionOf({at[0], at[2] / cols, p, at[2] % cols}, b.shape)];
      ASSERT_EQ(results[0].elements<float>()[i], sum);
    }
  }
}

TEST(Packed, conv) {
  Random random;
  for (int round = 0; round < 30; ++round) {
    int64_t groups = random.integer(1, 2), channels = random.integer(1, 3), outputs = random.integer(1, 5),
            cols = random.integer(1, 4);
    int64_t kh = random.integer(1, 3), kw = random.integer(1, 3), sh = random.integer(1, 2), sw = random.integer(1, 2);
    int64_t dh = random.integer(1, 2), dw = random.integer(1, 2), y = random.integer(1, 3), x = random.integer(0, 3);
    llvm::SmallVector<int64_t> input = {2, (y - 1) * sh + (kh - 1) * dh + 1, 5 * sw + (kw - 1) * dw, groups * channels},
                               filter = {groups, (outputs + cols - 1) / cols, kh, kw, channels, cols},
                               result = {2, y, x, outputs};
    if (groups > 1)
      result.insert(result.begin() + 3, groups);
    std::string from = tensorText(input, "f32"), weights = tensorText(filter, "f32"), to = tensorText(result, "f32");
    Module module(mainOf({from, weights},
                         "tile.conv %a, %b strides " + listText({sh, sw}) + " dilations " + listText({dh, dw}) +
                             " : (" + from + ", " + weights + ") -> " + to,
                         to));
    Tensor a = random.floats(module.type("f32"), input), w = random.floats(module.type("f32"), filter);
    std::vector<Tensor> results = module.run({a, w});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    for (int64_t i = 0; i < results[0].elementCount(); ++i) {
      std::vector<int64_t> at = indexOf(i, result);
      int64_t group = groups > 1 ? at[3] : 0, column = at.back();
      float sum = 0;
      for (int64_t t = 0; t < kh * kw * channels; ++t) {
        std::vector<int64_t> k = indexOf(t, {kh, kw, channels});
        sum += a.elements<float>()[positionOf(
                   {at[0], at[1] * sh + k[0] * dh, at[2] * sw + k[1] * dw, group * channels + k[2]}, input)] *
               w.elements<float>()[positionOf({group, column / cols, k[0], k[1], k[2], column % cols}, filter)];
      }
      ASSERT_EQ(results[0].elements<float>()[i], sum);
    }
  }
}
