//===- BlockErrorsTest.cpp - what loops and blocks promise ----------------===//
//
// Kernels of blocks from text: what they compute, and for each promise that one
// breaks an error that names loop, block and element.
//
//===----------------------------------------------------------------------===//

#include "Module.h"

using namespace perpend::interp;

namespace {
/// A module whose kernel of two buffers has this body.
std::string kernelOf(const std::string &body, const std::string &extent = "4") {
  std::string buffer = "!tile.buffer<[" + extent + "] x f32>";
  return "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
         "  %r = graph.call_kernel @k(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %r : tensor<4xf32>\n}\n"
         "func.func private @k(%x: " +
         buffer + ", %y: " + buffer + ") attributes {tile.kernel} {\n" + body + "\n  return\n}\n";
}

const std::string copy = R"(
  tile.for %i in 4 {
    tile.block "copy" spatial(%a in 4 = %i) {
      %v = tile.load %x[%a] : !tile.buffer<[4] x f32>
      tile.store %v, %y[%a] : !tile.buffer<[4] x f32>
    }
  })";

/// The result of the kernel with this body, or the error's text.
struct Outcome {
  std::vector<float> values;
  std::string error;
};
Outcome outcomeOf(const std::string &body, bool checksInstances = false, const std::string &extent = "4") {
  Module module(kernelOf(body, extent));
  InterpreterOptions options;
  options.checksInstances = checksInstances;
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {4}, {1, 2, 3, 4})}, options);
  return {results.empty() ? std::vector<float>() : valuesOf<float>(results[0]), module.messages};
}
void expectError(const std::string &body, const std::string &text, bool checksInstances = false) {
  Outcome outcome = outcomeOf(body, checksInstances);
  EXPECT_TRUE(outcome.values.empty());
  EXPECT_NE(outcome.error.find(text), std::string::npos) << outcome.error;
}
using Values = std::vector<float>;
} // namespace

/// One kernel, two calls whose extents have other names; a loop that is cut, a condition, an init, an index.
TEST(BlockKernels, haveSymbolsOfTheirOwn) {
  Module module(R"(
  func.func @main(%a: tensor<?xf32, #graph.shape<["m"]>>, %b: tensor<?xf32, #graph.shape<["2*k"]>>) -> (tensor<f32>, tensor<f32>) {
    %r = graph.call_kernel @k(%a) {graph.symbols = #graph.shape<["m"]>} : (tensor<?xf32, #graph.shape<["m"]>>) -> tensor<f32>
    %s = graph.call_kernel @k(%b) {graph.symbols = #graph.shape<["2*k"]>} : (tensor<?xf32, #graph.shape<["2*k"]>>) -> tensor<f32>
    return %r, %s : tensor<f32>, tensor<f32>
  }
  func.func private @k(%x: !tile.buffer<[n] x f32>, %y: !tile.buffer<[] x f32>) attributes {graph.symbols = ["n"], tile.kernel} {
    tile.for %i in ceildiv(n, 4) {
      tile.for %j in 4 unrolled {
        tile.block "sum" reduced(%k in n = %i * 4 + %j) where(%i * 4 + %j < n) {
          tile.init {
            %zero = arith.constant 0.0 : f32
            tile.store %zero, %y[] : !tile.buffer<[] x f32>
          }
          %n = tile.index n - 1 * %k
          %c = arith.index_cast %n : index to i64
          %f = arith.sitofp %c : i64 to f32
          %v = tile.load %x[%k] : !tile.buffer<[n] x f32>
          %w = arith.mulf %v, %f : f32
          %s = tile.load %y[] : !tile.buffer<[] x f32>
          %t = arith.addf %s, %w : f32
          tile.store %t, %y[] : !tile.buffer<[] x f32>
        }
      }
    }
    return
  })");
  InterpreterOptions options;
  options.checksInstances = true;
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {5}, {1, 10, 100, 1000, 10000}),
                                            Tensor::of<float>(module.type("f32"), {2}, {1, 10})},
                                           options);
  ASSERT_EQ(results.size(), 2u) << module.messages;
  EXPECT_EQ(results[0].elements<float>()[0], 12345.0f);
  EXPECT_EQ(results[1].elements<float>()[0], 12.0f);
}

TEST(BlockKernels, haveSeveralResults) {
  Module module(R"(
  func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi8>) {
    %r:2 = graph.call_kernel @k(%a) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi8>)
    return %r#0, %r#1 : tensor<2xf32>, tensor<2xi8>
  }
  func.func private @k(%x: !tile.buffer<[2] x f32>, %y: !tile.buffer<[2] x f32>, %z: !tile.buffer<[2] x i8>) attributes {tile.kernel} {
    tile.for %i in 2 {
      tile.block "both" spatial(%a in 2 = %i) {
        %v = tile.load %x[1 - 1 * %a] : !tile.buffer<[2] x f32>
        tile.store %v, %y[%a] : !tile.buffer<[2] x f32>
        %w = arith.fptosi %v : f32 to i8
        tile.store %w, %z[%a] : !tile.buffer<[2] x i8>
      }
    }
    return
  })");
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {2}, {3, -4})});
  ASSERT_EQ(results.size(), 2u) << module.messages;
  EXPECT_EQ(valuesOf<float>(results[0]), Values({-4, 3}));
  EXPECT_EQ(valuesOf<int8_t>(results[1]), std::vector<int8_t>({-4, 3}));
}

/// A running sum goes from one iteration to the next: right where the loop has an order.
static std::string runningSum(const std::string &kind) {
  return copy + "tile.for %i in 3 " + kind + R"( {
    tile.block "running" opaque(%a in 3 = %i) {
      %v = tile.load %y[%a] : !tile.buffer<[4] x f32>
      %w = tile.load %y[%a + 1] : !tile.buffer<[4] x f32>
      %s = arith.addf %v, %w : f32
      tile.store %s, %y[%a + 1] : !tile.buffer<[4] x f32>
    }
  })";
}

TEST(BlockKernels, runLoopsInOrder) {
  EXPECT_EQ(outcomeOf(runningSum("")).values, Values({1, 3, 6, 10}));
  EXPECT_EQ(outcomeOf(runningSum("unrolled")).values, Values({1, 3, 6, 10}));
  // Parallel iterations that meet in nothing but what they read, in memory of their own, and after their end.
  Outcome outcome = outcomeOf(R"(
  tile.for %i in 4 parallel {
    %s = tile.alloc "s" : !tile.buffer<[1] x f32, local>
    tile.for %j in 4 {
      tile.block "sum" spatial(%a in 4 = %i) reduced(%k in 4 = %j) {
        tile.init {
          %zero = arith.constant 0.0 : f32
          tile.store %zero, %s[0] : !tile.buffer<[1] x f32, local>
        }
        %v = tile.load %x[%k] : !tile.buffer<[4] x f32>
        %t = tile.load %s[0] : !tile.buffer<[1] x f32, local>
        %u = arith.addf %v, %t : f32
        tile.store %u, %s[0] : !tile.buffer<[1] x f32, local>
      }
    }
    tile.block "out" spatial(%a in 4 = %i) {
      %t = tile.load %s[0] : !tile.buffer<[1] x f32, local>
      tile.store %t, %y[%a] : !tile.buffer<[4] x f32>
    }
  }
  tile.for %i in 4 parallel {
    tile.block "twice" spatial(%a in 4 = 3 - 1 * %i) {
      %v = tile.load %y[%a] : !tile.buffer<[4] x f32>
      %w = arith.addf %v, %v : f32
      tile.store %w, %y[%a] : !tile.buffer<[4] x f32>
    }
  })",
                              true);
  EXPECT_EQ(outcome.values, Values({20, 20, 20, 20})) << outcome.error;
}

//===----------------------------------------------------------------------===//
// Broken promises
//===----------------------------------------------------------------------===//

TEST(BlockErrors, iterationsMeet) {
  for (const std::string &kind : {"parallel", "vectorized"}) {
    std::string loop = kind + " loop 'i'";
    expectError(runningSum(kind), "block 'running': iteration 1 of the " + loop +
                                      " reads what iteration 0 writes (block 'running'): element [1] of the buffer "
                                      "'result 0'");
    // The same from the other side: what is read first is overwritten.
    expectError(copy + "tile.for %i in 3 " + kind + R"( {
      tile.block "shift" opaque(%a in 3 = %i) {
        %v = tile.load %y[%a + 1] : !tile.buffer<[4] x f32>
        tile.store %v, %y[%a] : !tile.buffer<[4] x f32>
      }
    })",
                "block 'shift': iteration 1 of the " + loop +
                    " writes what iteration 0 reads (block 'shift'): element [1] of the buffer 'result 0'");
    expectError("tile.for %i in 4 " + kind + R"( {
      %c = arith.constant 1.0 : f32
      tile.store %c, %y[min(%i, 2)] : !tile.buffer<[4] x f32>
    })",
                "iteration 3 of the " + loop +
                    " writes what iteration 2 writes (outside of blocks): element [2] of the buffer 'result 0'");
  }
}

/// The newest read of the element is the writer's own; an older one is not.
TEST(BlockErrors, iterationsMeetWithOneOfManyReaders) {
  expectError(
      copy + R"(
  tile.for %i in 4 parallel {
    tile.block "last" opaque(%a in 4 = %i) {
      %v = tile.load %y[3] : !tile.buffer<[4] x f32>
      tile.store %v, %y[%a] : !tile.buffer<[4] x f32>
    }
  })",
      "block 'last': iteration 3 of the parallel loop 'i' writes what iteration 0 reads (block 'last'): element "
      "[3] of the buffer 'result 0'");
}

/// Between the iterations stand loops with an order, memory around the inner loop only, and many readers.
TEST(BlockErrors, iterationsMeetAcrossLoops) {
  std::string body = R"(
  tile.for %i in 2 parallel {
    %s = tile.alloc "s" : !tile.buffer<[2] x f32, local>
    tile.for %j in 2 parallel {
      tile.block "fill" spatial(%a in 2 = %i, %b in 2 = %j) {
        %v = tile.load %x[%a * 2 + %b] : !tile.buffer<[4] x f32>
        tile.store %v, %s[%b] : !tile.buffer<[2] x f32, local>
      }
    }
    tile.for %r in 2 {
      tile.for %j in 2 parallel {
        tile.block "READER" opaque(%a in 2 = %i, %b in 2 = %j, %c in 2 = %r) {
          %v = tile.load %s[1 - 1 * %b] : !tile.buffer<[2] x f32, local>
          tile.store %v, %TARGET[%a * 2 + %b] : !tile.buffer<[4] x f32>
        }
      }
    }
  })";
  auto with = [&](std::string text, const std::string &from, const std::string &to) {
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_EQ(outcomeOf(with(body, "%TARGET", "%y")).values, Values({2, 1, 4, 3}));
  std::string inner = with(body, "tile.store %v, %TARGET[%a * 2 + %b] : !tile.buffer<[4] x f32>",
                           "tile.store %v, %s[%b] : !tile.buffer<[2] x f32, local>");
  expectError(inner, "block 'READER': iteration 1 of the parallel loop 'j' reads what iteration 0 writes");
  std::string outer = with(body, "%TARGET[%a * 2 + %b]", "%y[%b + 2 * mod(%c, 2)]");
  expectError(outer, "block 'READER': iteration 1 of the parallel loop 'i' writes what iteration 0 writes");
}

TEST(BlockErrors, instancesMeet) {
  expectError(
      R"(
  tile.for %i in 4 {
    tile.block "one" spatial(%a in 4 = %i) {
      %v = tile.load %x[%a] : !tile.buffer<[4] x f32>
      tile.store %v, %y[0] : !tile.buffer<[4] x f32>
    }
  })",
      "block 'one': the instance [1] of its spatial iterators writes what [0] writes: element [0] of the buffer "
      "'result 0'");
  std::string spatial = runningSum("");
  spatial.replace(spatial.find("opaque"), 6, "spatial");
  expectError(spatial, "block 'running': the instance [1] of its spatial iterators reads what [0] writes: element [1]");
  expectError(copy + R"(
  tile.for %i in 3 {
    tile.block "shift" spatial(%a in 3 = %i) {
      %v = tile.load %y[%a + 1] : !tile.buffer<[4] x f32>
      tile.store %v, %y[%a] : !tile.buffer<[4] x f32>
    }
  })",
              "block 'shift': the instance [1] of its spatial iterators writes what [0] reads: element [1]");
}

TEST(BlockErrors, instancesAreMissedOrRepeated) {
  auto loops = [](const std::string &domain, const std::string &binding) {
    return copy + "tile.for %i in 4 {\n tile.block \"b\" opaque(%a in " + domain + " = " + binding + ") {\n }\n}\n";
  };
  EXPECT_FALSE(outcomeOf(loops("5", "%i"), false).values.empty()); // not asked for
  expectError(loops("5", "%i"),
              "block 'b': expected the block to run once for each value of its iterators, but for [4] it never runs",
              true);
  expectError(loops("4", "min(%i, 2)"),
              "block 'b': expected the block to run once for each value of its iterators, but for [2] it runs again",
              true);
  EXPECT_EQ(outcomeOf(loops("4", "%i"), true).values, Values({1, 2, 3, 4}));
  // A block that stands in no iteration.
  expectError(copy + "tile.for %i in 0 {\n tile.block \"b\" opaque(%a in 2 = %i) {\n }\n}\n",
              "block 'b': expected the block to run once for each value of its iterators, but for [0] it never runs",
              true);
}

TEST(BlockErrors, indicesLeaveTheirExtents) {
  expectError(R"(
  tile.for %i in 4 {
    tile.block "next" spatial(%a in 4 = %i) {
      %v = tile.load %x[%a + 1] : !tile.buffer<[4] x f32>
      tile.store %v, %y[%a] : !tile.buffer<[4] x f32>
    }
  })",
              "block 'next': expected the index of dimension 0 of the buffer 'input 0' inside an extent of 4, got 4");
  expectError(
      R"(
  tile.for %i in 4 {
    tile.block "before" spatial(%a in 4 = %i) {
      %v = tile.load %x[%a] : !tile.buffer<[4] x f32>
      tile.store %v, %y[%a - 1] : !tile.buffer<[4] x f32>
    }
  })",
      "block 'before': expected the index of dimension 0 of the buffer 'result 0' inside an extent of 4, got -1");
  expectError(R"(
  tile.for %i in 8 {
    tile.block "b" spatial(%a in 4 = %i) {
    }
  })",
              "block 'b': expected the iterator 'a' inside its extent of 4, got 4\nhint: a condition (where)");
  expectError(R"(
  tile.block "b" {
    %c = arith.constant -1 : index
    %i = tile.index %c + 2
  })",
              "block 'b': expected index values of at least 0 in expressions, got -1");
}

TEST(BlockErrors, memoryIsUndefinedAtFirst) {
  std::string later = R"(
      tile.block "write" opaque(%a in 4 = %i) where(%i < 1) {
        %v = tile.load %x[%a] : !tile.buffer<[4] x f32>
        tile.store %v, %s[0] : !tile.buffer<[1] x f32, local>
      }
      tile.block "read" spatial(%a in 4 = %i) {
        %v = tile.load %s[0] : !tile.buffer<[1] x f32, local>
        tile.store %v, %y[%a] : !tile.buffer<[4] x f32>
      }
    })";
  std::string loop = "tile.for %i in 4 {\n", alloc = "%s = tile.alloc \"s\" : !tile.buffer<[1] x f32, local>\n";
  EXPECT_EQ(outcomeOf(alloc + loop + later).values, Values({1, 1, 1, 1}));
  expectError(loop + alloc + later, "block 'read': reads the element [0] of the buffer 's', which was not written");
  expectError("tile.for %i in 3 {\n" + copy.substr(copy.find("tile.block")),
              "kernel 'k': nothing writes the element [3] of the buffer 'result 0'");
}

/// A sum that starts in another instance than the one in which the reduced iterators are 0.
TEST(BlockErrors, sumsStartWithTheirInit) {
  expectError(R"(
  tile.for %i in 4 {
    tile.for %j in 4 {
      tile.block "sum" spatial(%a in 4 = %i) reduced(%k in 4 = 3 - 1 * %j) {
        tile.init {
          %zero = arith.constant 0.0 : f32
          tile.store %zero, %y[%a] : !tile.buffer<[4] x f32>
        }
        %v = tile.load %x[%k] : !tile.buffer<[4] x f32>
        %t = tile.load %y[%a] : !tile.buffer<[4] x f32>
        %u = arith.addf %v, %t : f32
        tile.store %u, %y[%a] : !tile.buffer<[4] x f32>
      }
    }
  })",
              "block 'sum': reads the element [0] of the buffer 'result 0', which was not written");
}

/// What the text says of an init: without an instance of the block there is none.
TEST(BlockErrors, emptySumsHaveNoInit) {
  expectError(R"(
  tile.for %i in 4 {
    tile.for %j in 0 {
      tile.block "terms" spatial(%a in 4 = %i) reduced(%k in 0 = %j) {
        tile.init {
          %zero = arith.constant 0.0 : f32
          tile.store %zero, %y[%a] : !tile.buffer<[4] x f32>
        }
      }
    }
  })",
              "kernel 'k': nothing writes the element [0] of the buffer 'result 0'", true);
}

TEST(BlockErrors, inputsAreNotWritten) {
  expectError(R"(
  tile.block "b" {
    %c = arith.constant 1.0 : f32
    tile.store %c, %x[2] : !tile.buffer<[4] x f32>
  })",
              "block 'b': writes the element [2] of the buffer 'input 0', expected a result or memory of the kernel");
}

TEST(BlockErrors, callsFitTheKernel) {
  Outcome outcome = outcomeOf("", false, "5");
  EXPECT_NE(outcome.error.find("kernel 'k': expected input 0 to have the shape 5, got 4"), std::string::npos)
      << outcome.error;
}
