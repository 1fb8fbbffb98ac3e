//===- GradientsTest.cpp - derivatives against finite differences -----------===//
//
// Each primitive that has a derivative, in f64, with the symbol n at 0, 1 and primes:
// main(x...) = op(x...)^2, so that gradients of the op's result differ between
// elements. The pass adds the gradients to main, and the interpreter runs it.
//
//===----------------------------------------------------------------------===//

#include "../interp/Module.h"

#include "graph/passes/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace perpend;
using interp::Module;
using interp::Tensor;
using Shape = std::vector<int64_t>;

namespace {
/// The extent of the symbol n.
constexpr int64_t n = -1;

struct Argument {
  Shape shape;
  /// Integers instead of random f64.
  std::vector<int64_t> integers = {};
};

struct GradientCase {
  std::string name;
  std::vector<Argument> arguments;
  /// The operator without its types, and the shape of its result.
  std::string op;
  Shape result;
  bool hasFunctionalType = true;
};

void PrintTo(const GradientCase &gradientCase, std::ostream *out) { *out << gradientCase.name; }

std::string typeOf(const Shape &shape, const std::string &element) {
  std::string dims, names;
  bool isDynamic = false;
  for (int64_t extent : shape) {
    isDynamic |= extent < 0;
    dims += (extent < 0 ? "?" : std::to_string(extent)) + "x";
    names += (names.empty() ? "" : ", ") + (extent < 0 ? std::string("\"n\"") : std::to_string(extent));
  }
  return "tensor<" + dims + element + (isDynamic ? ", #graph.shape<[" + names + "]>>" : ">");
}

std::string squareOf(const std::string &type) {
  return "  %square = graph.map (%r) : (" + type + ") -> " + type +
         " {\n  ^bb0(%v: f64):\n    %s = arith.mulf %v, %v : f64\n    graph.yield %s : f64\n  }\n";
}

std::string textOf(const GradientCase &gradientCase) {
  std::string arguments, types, result = typeOf(gradientCase.result, "f64");
  for (auto [index, argument] : llvm::enumerate(gradientCase.arguments)) {
    std::string type = typeOf(argument.shape, argument.integers.empty() ? "f64" : "i64");
    arguments += (index ? ", %" : "%") + std::string(1, static_cast<char>('a' + index)) + ": " + type;
    types += (index ? ", " : "") + type;
  }
  std::string signature = gradientCase.hasFunctionalType ? "(" + types + ") -> " + result : types + " -> " + result;
  std::string op = gradientCase.op;
  if (size_t place = op.find("TYPES"); place != std::string::npos)
    op.replace(place, 5, signature);
  else
    op += " : " + signature;
  return "func.func @main(" + arguments + ") -> " + result + " {\n  %r = " + op + "\n" + squareOf(result) +
         "  return %square : " + result + "\n}\n";
}

/// A module with gradients as further results.
struct DerivedModule : Module {
  explicit DerivedModule(const std::string &text) : Module(text) {
    mlir::PassManager passes(&context);
    passes.addPass(graph::createGraphEmitGradients());
    isDerived = module && mlir::succeeded(passes.run(*module));
  }
  bool isDerived = false;
};

std::vector<Tensor> inputsOf(Module &module, const GradientCase &gradientCase, int64_t extent) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  std::vector<Tensor> inputs;
  for (const Argument &argument : gradientCase.arguments) {
    Shape shape = argument.shape;
    std::replace(shape.begin(), shape.end(), n, extent);
    if (!argument.integers.empty()) {
      inputs.push_back(Tensor::of<int64_t>(module.type("i64"), shape, argument.integers));
      continue;
    }
    Tensor tensor = *Tensor::allocate(module.type("f64"), shape);
    for (double &value : tensor.mutableElements<double>())
      value = normal(engine);
    inputs.push_back(tensor);
  }
  return inputs;
}

double sumOfFirst(Module &module, const std::vector<Tensor> &inputs) {
  std::vector<Tensor> results = module.run(inputs);
  EXPECT_FALSE(results.empty()) << module.messages;
  double total = 0;
  for (double value : results.empty() ? llvm::ArrayRef<double>() : results[0].elements<double>())
    total += value;
  return total;
}

/// The slope of main's first result in one element of an input.
double differenceQuotient(Module &module, std::vector<Tensor> inputs, size_t argument, int64_t element) {
  constexpr double step = 1e-5;
  auto moved = [&](double by) {
    std::vector<Tensor> changed = inputs;
    changed[argument] =
        Tensor::of<double>(module.type("f64"), inputs[argument].shape, inputs[argument].elements<double>());
    changed[argument].mutableElements<double>()[element] += by;
    return sumOfFirst(module, changed);
  };
  return (moved(step) - moved(-step)) / (2 * step);
}

void expectGradients(DerivedModule &module, const std::vector<Tensor> &inputs) {
  std::vector<Tensor> results = module.run(inputs);
  size_t next = 1;
  for (size_t argument = 0; argument < inputs.size(); ++argument) {
    if (!inputs[argument].elementType.isF64())
      continue;
    ASSERT_LT(next, results.size()) << module.messages;
    const Tensor &gradient = results[next++];
    ASSERT_EQ(gradient.shape, inputs[argument].shape);
    for (int64_t i = 0; i < gradient.elementCount(); ++i) {
      double expected = differenceQuotient(module, inputs, argument, i);
      ASSERT_NEAR(gradient.elements<double>()[i], expected, 1e-6 * (1 + std::abs(expected)))
          << "argument " << argument << " element " << i;
    }
  }
  EXPECT_EQ(next, results.size());
}

std::string mapOf(const std::string &arguments, const std::string &body) {
  return "graph.map " + arguments + " : TYPES {\n" + body + "  }";
}

std::string fourierCall(const std::string &parameters, const std::string &transposed) {
  return "graph.call_library \"fourier.transform\"(%a, %b) {" + parameters + "} symbols [] {graph.transposed = {" +
         transposed + "}}";
}

const std::vector<GradientCase> cases = {
    {"map",
     {{{2, n}}, {{2, n}}},
     mapOf("(%a, %b)", R"(
  ^bb0(%x: f64, %y: f64):
    %p = arith.mulf %x, %y : f64
    %q = arith.addf %p, %x : f64
    graph.yield %q : f64
)"),
     {2, n}},
    {"map_of_one_value_twice",
     {{{n}}},
     "graph.map (%a, %a) : (tensor<?xf64, #graph.shape<[\"n\"]>>, tensor<?xf64, "
     "#graph.shape<[\"n\"]>>) -> tensor<?xf64, #graph.shape<[\"n\"]>> {\n^bb0(%x: f64, %y: f64):\n  %p = arith.divf "
     "%x, %y : f64\n  %q = arith.addf %p, %x : f64\n  graph.yield %q : f64\n} //",
     {n}},
    {"generate",
     {{{3, n}}},
     R"(graph.generate (%a) : TYPES {
  ^bb0(%i: index, %j: index, %x: tensor<3x?xf64, #graph.shape<[3, "n"]>>):
    %zero = arith.constant 0 : index
    %1 = graph.load %x[%j, %i] : tensor<3x?xf64, #graph.shape<[3, "n"]>> -> f64
    %2 = graph.load %x[%zero, %i] : tensor<3x?xf64, #graph.shape<[3, "n"]>> -> f64
    %3 = arith.mulf %1, %2 : f64
    graph.yield %3 : f64
  })",
     {n, 3}},
    {"generate_in_place",
     {{{n, 2}}},
     R"(graph.generate (%a) : TYPES {
  ^bb0(%i: index, %j: index, %x: tensor<?x2xf64, #graph.shape<["n", 2]>>):
    %1 = graph.load %x[%i, %j] : tensor<?x2xf64, #graph.shape<["n", 2]>> -> f64
    %2 = math.sin %1 : f64
    graph.yield %2 : f64
  })",
     {n, 2}},
    {"broadcast", {{{1, n}}}, "graph.broadcast %a dims [1, 3]", {2, 3, 5, n}, false},
    {"broadcast_of_a_scalar", {{{}}}, "graph.broadcast %a dims []", {2, 3}, false},
    {"transpose", {{{2, 3, n}}}, "graph.transpose %a [2, 0, 1]", {n, 2, 3}, false},
    {"reshape", {{{6, n}}}, "graph.reshape %a", {2, 3, n}, false},
    {"slice", {{{7, n}}}, "graph.slice %a <[2, 0]> [1, 1]", {3, n}, false},
    {"slice_with_steps", {{{7, 5}}}, "graph.slice %a <[1, 4]> [2, -3]", {3, 2}, false},
    {"slice_with_a_long_step", {{{7, n}}}, "graph.slice %a <[1, 0]> [5, 1]", {1, n}, false},
    {"slice_reversed", {{{n}}}, "graph.slice %a <[\"n - 1\"]> [-1]", {n}, false},
    {"pad", {{{3, n}}}, "graph.pad %a <[2, 0]> 1.5 : f64", {7, n}, false},
    {"pad_as_crop", {{{5, 4}}}, "graph.pad %a <[-1, 1]> 1.5 : f64", {3, 4}, false},
    {"concat", {{{n, 2}}, {{n, 3}}, {{n, 1}}}, "graph.concat %a, %b, %c axis 1", {n, 6}},
    {"gather", {{{n, 4, 2}}, {{3}, {3, 1, 3}}}, "graph.gather %a [%b] axis 1", {n, 3, 2}},
    {"gather_clamps", {{{4}}, {{2, 2}, {9, 0, -5, 3}}}, "graph.gather %a [%b] axis 0", {2, 2}},
    {"gather_one", {{{4, n}}, {{}, {2}}}, "graph.gather %a [%b] axis 0", {n}},
    {"sum", {{{2, n, 3}}}, "graph.reduce sum %a dims [0, 2]", {n}, false},
    {"product", {{{2, 3, 4}}}, "graph.reduce product %a dims [0, 2]", {3}, false},
    {"product_of_n", {{{n, 2}}}, "graph.reduce product %a dims [0]", {2}, false},
    {"max", {{{3, n, 4}}}, "graph.reduce max %a dims [0, 2]", {n}, false},
    {"min", {{{3, n}}}, "graph.reduce min %a dims [0]", {n}, false},
    {"contract", {{{3, n, 4}}, {{5, 4, n, 2}}}, "graph.contract %a, %b batch [1] x [2] over [2] x [1]", {n, 3, 5, 2}},
    {"contract_of_two", {{{3, 2, 4}}, {{4, 5, 2}}}, "graph.contract %a, %b batch [] x [] over [1, 2] x [2, 0]", {3, 5}},
    {"contract_in_order",
     {{{2, 4, n}}, {{2, 4, 3}}},
     "graph.contract %a, %b batch [] x [] over [0, 1] x [0, 1]",
     {n, 3}},
    {"outer_product", {{{n}}, {{3}}}, "graph.contract %a, %b batch [] x [] over [] x []", {n, 3}},
    {"conv",
     {{{n, 2, 5, 6}}, {{3, 2, 3, 2}}},
     "graph.conv %a, %b strides [1, 1] pad [0, 0] dilations [1, 1] "
     "input_dilation [1, 1] groups 1",
     {n, 3, 3, 5}},
    {"conv_with_all",
     {{{2, 4, 7, 8}}, {{6, 2, 3, 2}}},
     "graph.conv %a, %b strides [2, 3] pad [2, 1] dilations [2, 1] "
     "input_dilation [1, 1] groups 2",
     {2, 6, 4, 3}},
    {"conv_dilated_input",
     {{{n, 4, 4}}, {{3, 4, 3}}},
     "graph.conv %a, %b strides [2] pad [1] dilations [1] "
     "input_dilation [3] groups 1",
     {n, 3, 5}},
    {"conv_depthwise",
     {{{n, 3, 5}}, {{3, 1, 2}}},
     "graph.conv %a, %b strides [1] pad [4] dilations [1] "
     "input_dilation [1] groups 3",
     {n, 3, 8}},
    {"conv_channels_last",
     {{{n, 5, 4, 2}}, {{3, 2, 2, 3}}},
     "graph.conv %a, %b strides [1, 2] pad [1, 0] dilations "
     "[1, 1] input_dilation [1, 1] groups 1 channels_last",
     {n, 4, 2, 3}},
    {"window_sum",
     {{{n, 2, 7}}},
     "graph.window_reduce sum %a window [1, 1, 3] strides [1, 1, 2] pad [0, 0, 1] "
     "dilations [1, 1, 2]",
     {n, 2, 3},
     false},
    {"window_sum_of_rows",
     {{{5, 4}}},
     "graph.window_reduce sum %a window [2, 3] strides [3, 1] pad [0, 2] "
     "dilations [1, 1]",
     {2, 6},
     false},
    {"window_max",
     {{{n, 2, 5, 5}}},
     "graph.window_reduce max %a window [1, 1, 3, 2] strides [1, 1, 2, 1] pad [0, 0, 1, 0] "
     "dilations [1, 1, 1, 2]",
     {n, 2, 3, 3},
     false},
    {"window_min",
     {{{2, 6}}},
     "graph.window_reduce min %a window [1, 4] strides [1, 1] pad [0, 0] dilations [1, 1]",
     {2, 3},
     false},
    {"scatter", {{{4, n}}, {{3, 1}, {2, 0, 2}}, {{3, n}}}, "graph.scatter %a [%b] to %c", {4, n}},
    {"scatter_outside", {{{2, 3}}, {{3, 2}, {1, 2, 5, 0, 0, -1}}, {{3}}}, "graph.scatter %a [%b] to %c", {2, 3}},
    {"scatter_sum", {{{4, n}}, {{3, 1}, {2, 0, 2}}, {{3, n}}}, "graph.scatter %a [%b] by sum to %c", {4, n}},
    {"scatter_sum_outside",
     {{{2, 3}}, {{4, 2}, {1, 2, 5, 0, 0, -1, 1, 2}}, {{4}}},
     "graph.scatter %a [%b] by sum to %c",
     {2, 3}},
    {"scatter_max", {{{4, n}}, {{3, 1}, {2, 9, 2}}, {{3, n}}}, "graph.scatter %a [%b] by max to %c", {4, n}},
    {"scatter_min", {{{4, n}}, {{3, 1}, {2, 0, 2}}, {{3, n}}}, "graph.scatter %a [%b] by min to %c", {4, n}},
    {"scan_sum", {{{3, n, 2}}}, "graph.scan sum %a dim 1", {3, n, 2}, false},
    {"scan_product", {{{2, n, 3}}}, "graph.scan product %a dim 1", {2, n, 3}, false},
    {"scan_max", {{{n, 7}}}, "graph.scan max %a dim 1", {n, 7}, false},
    {"scan_min", {{{7, n}}}, "graph.scan min %a dim 0", {7, n}, false},
    {"half_a_spectrum",
     {{{2, 4, n, 1}}, {{1}, {6}}},
     fourierCall("inverse = 0, scaled = 0", "inverse = 1, scaled = 0"),
     {2, 4, n, 2}},
    {"part_of_an_inverse_spectrum",
     {{{n, 7, 2, 2}}, {{1}, {5}}},
     fourierCall("inverse = 1, scaled = 1", "inverse = 0, scaled = 1"),
     {n, 6, 2, 1}}};

class GradientsTest : public ::testing::TestWithParam<GradientCase> {};
} // namespace

TEST_P(GradientsTest, finiteDifferences) {
  DerivedModule module(textOf(GetParam()));
  ASSERT_TRUE(module.isDerived) << module.messages << textOf(GetParam());
  for (int64_t extent : {0, 1, 2, 5})
    ASSERT_NO_FATAL_FAILURE(expectGradients(module, inputsOf(module, GetParam(), extent))) << "n = " << extent;
}

INSTANTIATE_TEST_SUITE_P(Primitives, GradientsTest, ::testing::ValuesIn(cases),
                         [](const auto &info) { return info.param.name; });

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// A map of one f64 to one, with constants %c (0.75) and %inf.
static std::string scalarModule(const std::string &body) {
  return R"(func.func @main(%a: tensor<?xf64, #graph.shape<["n"]>>) -> tensor<?xf64, #graph.shape<["n"]>> {
  %r = graph.map (%a) : (tensor<?xf64, #graph.shape<["n"]>>) -> tensor<?xf64, #graph.shape<["n"]>> {
  ^bb0(%x: f64):
    %c = arith.constant 0.75 : f64
    %one = arith.constant 1.0 : f64
    %zero = arith.constant 0.0 : f64
    )" + body +
         R"(
    graph.yield %y : f64
  }
  return %r : tensor<?xf64, #graph.shape<["n"]>>
})";
}

static std::vector<double> slopesOf(const std::string &body, const std::vector<double> &points) {
  DerivedModule module(scalarModule(body));
  EXPECT_TRUE(module.isDerived) << module.messages;
  int64_t count = static_cast<int64_t>(points.size());
  std::vector<Tensor> results = module.run({Tensor::of<double>(module.type("f64"), {count}, points)});
  return results.size() == 2 ? interp::valuesOf<double>(results[1]) : std::vector<double>();
}

TEST(ScalarDerivatives, finiteDifferences) {
  struct {
    const char *body;
    std::vector<double> points;
  } functions[] = {{"%y = arith.negf %x : f64", {-1.5, 0, 2}},
                   {"%y = arith.subf %c, %x : f64", {-1.5, 0, 2}},
                   {"%y = arith.divf %x, %c : f64", {-1.5, 0, 2}},
                   {"%y = arith.divf %c, %x : f64", {-1.5, 2}},
                   {"%y = arith.remf %x, %c : f64", {-1.6, 0.3, 2}},
                   {"%y = arith.remf %c, %x : f64", {0.4, 0.2, -0.3, 2}},
                   {"%y = arith.maximumf %x, %c : f64", {-1.5, 0.7, 2}},
                   {"%y = arith.minimumf %c, %x : f64", {-1.5, 0.7, 2}},
                   {"%y = math.absf %x : f64", {-1.5, 2}},
                   {"%y = math.floor %x : f64", {-1.5, 2.2}},
                   {"%y = math.trunc %x : f64", {-1.5, 2.2}},
                   {"%y = math.exp %x : f64", {-1.5, 0, 2}},
                   {"%y = math.exp2 %x : f64", {-1.5, 0, 2}},
                   {"%y = math.expm1 %x : f64", {-1.5, 0, 2}},
                   {"%y = math.log %x : f64", {0.2, 2}},
                   {"%y = math.log2 %x : f64", {0.2, 2}},
                   {"%y = math.log10 %x : f64", {0.2, 2}},
                   {"%y = math.log1p %x : f64", {-0.5, 0, 2}},
                   {"%y = math.sqrt %x : f64", {0.2, 2}},
                   {"%y = math.erf %x : f64", {-1.5, 0, 2}},
                   {"%y = math.sin %x : f64", {-1.5, 0, 2}},
                   {"%y = math.cos %x : f64", {-1.5, 0, 2}},
                   {"%y = math.tan %x : f64", {-1.2, 0, 2}},
                   {"%y = math.asin %x : f64", {-0.9, 0, 0.5}},
                   {"%y = math.acos %x : f64", {-0.9, 0, 0.5}},
                   {"%y = math.atan %x : f64", {-1.5, 0, 2}},
                   {"%y = math.sinh %x : f64", {-1.5, 0, 2}},
                   {"%y = math.cosh %x : f64", {-1.5, 0, 2}},
                   {"%y = math.tanh %x : f64", {-1.5, 0, 2}},
                   {"%y = math.asinh %x : f64", {-1.5, 0, 2}},
                   {"%y = math.acosh %x : f64", {1.2, 3}},
                   {"%y = math.atanh %x : f64", {-0.9, 0, 0.5}},
                   {"%y = math.powf %x, %c : f64", {0.2, 2}},
                   {"%y = math.powf %c, %x : f64", {-1.5, 0, 2}},
                   {"%y = math.powf %x, %x : f64", {0.2, 2}},
                   {"%y = math.atan2 %x, %c : f64", {-1.5, 0, 2}},
                   {"%y = math.atan2 %c, %x : f64", {-1.5, 0, 2}},
                   {"%s = math.sin %x : f64\n%y = math.atan2 %s, %x : f64", {-1.5, 2}},
                   {"%y = math.copysign %x, %c : f64", {-1.5, 2}},
                   {"%m = arith.negf %x : f64\n%y = math.copysign %c, %m : f64", {-1.5, 2}},
                   {"%t = arith.cmpf olt, %x, %c : f64\n%e = math.exp %x : f64\n%y = arith.select %t, %e, %c : f64",
                    {-1.5, 0.7, 2}}};
  for (const auto &function : functions) {
    std::vector<double> slopes = slopesOf(function.body, function.points);
    ASSERT_EQ(slopes.size(), function.points.size()) << function.body;
    Module module(scalarModule(function.body));
    int64_t count = static_cast<int64_t>(function.points.size());
    std::vector<Tensor> inputs{Tensor::of<double>(module.type("f64"), {count}, function.points)};
    for (int64_t i = 0; i < count; ++i)
      EXPECT_NEAR(slopes[i], differenceQuotient(module, inputs, 0, i), 1e-6 * (1 + std::abs(slopes[i])))
          << function.body << " at " << function.points[i];
  }
}

TEST(ScalarDerivatives, whereTheyJump) {
  using Slopes = std::vector<double>;
  EXPECT_EQ(slopesOf("%y = arith.maximumf %x, %zero : f64", {0.0}), Slopes{0});
  EXPECT_EQ(slopesOf("%y = arith.minimumf %x, %zero : f64", {0.0}), Slopes{0});
  EXPECT_EQ(slopesOf("%d = arith.addf %x, %x : f64\n%y = arith.maximumf %x, %d : f64", {0.0}), Slopes{1.5});
  EXPECT_EQ(slopesOf("%y = math.absf %x : f64", {0.0}), Slopes{0});
  EXPECT_EQ(slopesOf("%y = math.powf %x, %zero : f64", {0.0}), Slopes{0});
}

TEST(ScalarDerivatives, overflowOfWhatIsNotTaken) {
  // 1 / (1 + exp(-x))
  EXPECT_EQ(slopesOf("%m = arith.negf %x : f64\n%e = math.exp %m : f64\n%d = arith.addf %one, %e : f64\n"
                     "%y = arith.divf %one, %d : f64",
                     {-1000.0, 1000.0}),
            (std::vector<double>{0, 0}));
  // x < 0 ? exp(x) : x
  EXPECT_EQ(slopesOf("%e = math.exp %x : f64\n%t = arith.cmpf olt, %x, %zero : f64\n"
                     "%y = arith.select %t, %e, %x : f64",
                     {1000.0}),
            std::vector<double>{1});
}

//===----------------------------------------------------------------------===//
// Where derivatives are shared, and where there are none
//===----------------------------------------------------------------------===//

static std::vector<double> gradientAt(const std::string &op, const Shape &shape, const Shape &result,
                                      const std::vector<double> &values) {
  std::string type = typeOf(shape, "f64"), resultType = typeOf(result, "f64");
  DerivedModule module(interp::mainOf({type}, op + " : " + type + " -> " + resultType, resultType));
  EXPECT_TRUE(module.isDerived) << module.messages;
  std::vector<Tensor> results = module.run({Tensor::of<double>(module.type("f64"), shape, values)});
  return results.size() == 2 ? interp::valuesOf<double>(results[1]) : std::vector<double>();
}

TEST(Gradients, equalExtremaShare) {
  EXPECT_EQ(gradientAt("graph.reduce max %a dims [0]", {4}, {}, {1, 3, 3, 2}), (std::vector<double>{0, 0.5, 0.5, 0}));
}

TEST(Gradients, theFirstMaximumOfAWindow) {
  EXPECT_EQ(
      gradientAt("graph.window_reduce max %a window [2] strides [2] pad [0] dilations [1]", {4}, {2}, {3, 3, 1, 2}),
      (std::vector<double>{1, 0, 0, 1}));
}

TEST(Gradients, productsWithZeros) {
  EXPECT_EQ(gradientAt("graph.reduce product %a dims [0]", {3}, {}, {2, 0, 5}), (std::vector<double>{0, 10, 0}));
  EXPECT_EQ(gradientAt("graph.scan product %a dim 0", {3}, {3}, {2, 0, 5}), (std::vector<double>{1, 12, 0}));
}

static std::string messageOf(const std::string &op, const std::string &from, const std::string &to) {
  DerivedModule module(interp::mainOf({from}, op, to));
  EXPECT_FALSE(module.isDerived);
  return module.messages;
}

TEST(Gradients, errors) {
  std::string type = "tensor<2xf64>";
  EXPECT_EQ(
      messageOf("graph.if %c symbols [] : tensor<i1> -> (tensor<2xf64>) { graph.yield %a : tensor<2xf64> } else "
                "{ graph.yield %a : tensor<2xf64> }",
                "tensor<2xf64>, %c: tensor<i1>", type),
      "no derivative of an operator (graph.if)\nhint: compute the gradient in values that do not pass through it\n");
  EXPECT_EQ(messageOf("graph.window_reduce product %a window [2] strides [1] pad [0] dilations [1] : tensor<2xf64> -> "
                      "tensor<1xf64>",
                      type, "tensor<1xf64>"),
            "the derivative of an operator: no derivative of the product of a window\n");
  EXPECT_EQ(messageOf("graph.map (%a) : (tensor<2xf64>) -> tensor<2xf64> {\n^bb0(%x: f64):\n  %i = arith.bitcast %x : "
                      "f64 to i64\n  %y = arith.bitcast %i : i64 to f64\n  graph.yield %y : f64\n}",
                      type, type),
            "the derivative of an operator: no derivative of the scalar operation arith.bitcast\n");
  EXPECT_EQ(messageOf("graph.map (%a) : (tensor<2xf64>) -> tensor<2xi64> {\n^bb0(%x: f64):\n  %y = arith.fptosi %x : "
                      "f64 to i64\n  graph.yield %y : i64\n}",
                      type, "tensor<2xi64>"),
            "no derivative of elements of type i64\nhint: differentiate a floating-point tensor\n");
}
