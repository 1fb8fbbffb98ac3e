//===- WindowsTest.cpp - conv and window_reduce ---------------------------===//

#include "Module.h"

#include <limits>

using namespace perpend::interp;
using Shape = std::vector<int64_t>;

namespace {
struct ConvCase {
  int64_t images, channels, outputs, groups;
  Shape input, window, result, strides, low, dilations, inputDilation;
  bool channelsLast;

  static ConvCase any(Random &random) {
    ConvCase c;
    c.groups = random.integer(1, 3);
    c.images = random.integer(0, 2);
    c.channels = c.groups * random.integer(1, 3);
    c.outputs = c.groups * random.integer(1, 5);
    c.channelsLast = random.integer(0, 1);
    for (int64_t i = 0, rank = random.integer(1, 3); i < rank; ++i) {
      c.input.push_back(random.integer(1, 7));
      c.window.push_back(random.integer(1, 3));
      c.strides.push_back(random.integer(1, 3));
      c.low.push_back(random.integer(-2, 4));
      c.dilations.push_back(random.integer(1, 2));
      c.inputDilation.push_back(random.integer(1, 3));
      c.result.push_back(random.integer(0, 6));
    }
    return c;
  }
  /// first, second, then the window dimensions, or these in the channels-last order.
  Shape order(int64_t first, int64_t second, const Shape &dims, bool isFilter) const {
    Shape shape = dims;
    if (!channelsLast) {
      shape.insert(shape.begin(), {first, second});
    } else if (isFilter) {
      shape.push_back(second);
      shape.push_back(first);
    } else {
      shape.insert(shape.begin(), first);
      shape.push_back(second);
    }
    return shape;
  }
  Shape inputShape() const { return order(images, channels, input, false); }
  Shape filterShape() const { return order(outputs, channels / groups, window, true); }
  Shape resultShape() const { return order(images, outputs, result, false); }

  float expected(const Tensor &a, const Tensor &w, int64_t n, int64_t o, const Shape &y) const {
    float sum = 0;
    int64_t perGroup = channels / groups, firstChannel = o / (outputs / groups) * perGroup, taps = 1;
    for (int64_t extent : window)
      taps *= extent;
    for (int64_t c = 0; c < perGroup; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        std::vector<int64_t> k = indexOf(t, window);
        Shape source;
        for (size_t i = 0; i < k.size(); ++i) {
          int64_t position = y[i] * strides[i] + k[i] * dilations[i] - low[i];
          if (position >= 0 && position % inputDilation[i] == 0 && position / inputDilation[i] < input[i])
            source.push_back(position / inputDilation[i]);
        }
        if (source.size() == k.size())
          sum += a.elements<float>()[positionOf(order(n, firstChannel + c, source, false), inputShape())] *
                 w.elements<float>()[positionOf(order(o, c, k, true), filterShape())];
      }
    return sum;
  }
};
} // namespace

TEST(Conv, randomGeometries) {
  Random random;
  for (int round = 0; round < 150; ++round) {
    ConvCase c = ConvCase::any(random);
    std::string input = tensorText(c.inputShape(), "f32"), filter = tensorText(c.filterShape(), "f32"),
                result = tensorText(c.resultShape(), "f32");
    Module module(mainOf({input, filter},
                         "graph.conv %a, %b strides " + listText(c.strides) + " pad " + listText(c.low) +
                             " dilations " + listText(c.dilations) + " input_dilation " + listText(c.inputDilation) +
                             " groups " + std::to_string(c.groups) + (c.channelsLast ? " channels_last" : "") + " : (" +
                             input + ", " + filter + ") -> " + result,
                         result));
    Tensor a = random.floats(module.type("f32"), c.inputShape()),
           w = random.floats(module.type("f32"), c.filterShape());
    std::vector<Tensor> results = module.run({a, w});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    int64_t positions = 1;
    for (int64_t extent : c.result)
      positions *= extent;
    for (int64_t n = 0; n < c.images; ++n)
      for (int64_t o = 0; o < c.outputs; ++o)
        for (int64_t y = 0; y < positions; ++y) {
          Shape index = indexOf(y, c.result);
          float got = results[0].elements<float>()[positionOf(c.order(n, o, index, false), c.resultShape())];
          ASSERT_EQ(got, c.expected(a, w, n, o, index)) << "round " << round;
        }
  }
}

TEST(Conv, wrongChannelsAreAnError) {
  Module module(
      R"(func.func @main(%a: tensor<1x?x4xf32, #graph.shape<[1, "c", 4]>>, %w: tensor<2x3x1xf32>) -> tensor<1x2x4xf32> {
    %r = graph.conv %a, %w strides [1] pad [0] dilations [1] input_dilation [1] groups 1
      : (tensor<1x?x4xf32, #graph.shape<[1, "c", 4]>>, tensor<2x3x1xf32>) -> tensor<1x2x4xf32>
    return %r : tensor<1x2x4xf32> })");
  EXPECT_TRUE(
      module.run({*Tensor::allocate(module.type("f32"), {1, 4, 4}), *Tensor::allocate(module.type("f32"), {2, 3, 1})})
          .empty());
  EXPECT_NE(module.messages.find("expected an input of 1 groups of 3 channels, got 1x4x4"), std::string::npos)
      << module.messages;
}

TEST(WindowReduce, randomGeometries) {
  Random random;
  for (int round = 0; round < 100; ++round) {
    Shape input, window, strides, low, dilations, result;
    for (int64_t i = 0, rank = random.integer(1, 3); i < rank; ++i) {
      input.push_back(random.integer(0, 7));
      window.push_back(random.integer(1, 3));
      strides.push_back(random.integer(1, 3));
      low.push_back(random.integer(-2, 4));
      dilations.push_back(random.integer(1, 2));
      result.push_back(random.integer(0, 6));
    }
    std::string kind = round % 3 == 0 ? "sum" : round % 3 == 1 ? "max" : "min";
    std::string from = tensorText(input, "f32"), to = tensorText(result, "f32");
    Module module(mainOf({from},
                         "graph.window_reduce " + kind + " %a window " + listText(window) + " strides " +
                             listText(strides) + " pad " + listText(low) + " dilations " + listText(dilations) + " : " +
                             from + " -> " + to,
                         to));
    Tensor a = random.floats(module.type("f32"), input);
    std::vector<Tensor> results = module.run({a});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    int64_t taps = 1;
    for (int64_t extent : window)
      taps *= extent;
    for (int64_t i = 0; i < results[0].elementCount(); ++i) {
      float carried = kind == "sum" ? 0 : (kind == "max" ? -1 : 1) * std::numeric_limits<float>::infinity();
      for (int64_t t = 0; t < taps; ++t) {
        Shape y = indexOf(i, result), w = indexOf(t, window);
        bool isInside = true;
        for (size_t dim = 0; dim < y.size(); ++dim) {
          y[dim] = y[dim] * strides[dim] + w[dim] * dilations[dim] - low[dim];
          isInside &= y[dim] >= 0 && y[dim] < input[dim];
        }
        if (!isInside)
          continue;
        float next = a.elements<float>()[positionOf(y, input)];
        carried = kind == "sum" ? carried + next : kind == "max" ? std::max(carried, next) : std::min(carried, next);
      }
      ASSERT_EQ(results[0].elements<float>()[i], carried) << kind;
    }
  }
}

TEST(WindowReduce, nothingButPaddingGivesTheInitialValue) {
  Module module(
      mainOf({"tensor<2xi8>"},
             "graph.window_reduce max %a window [2] strides [2] pad [2] dilations [1] : tensor<2xi8> -> tensor<3xi8>",
             "tensor<3xi8>"));
  std::vector<Tensor> results = module.run({Tensor::of<int8_t>(module.type("i8"), {2}, {-5, -7})});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<int8_t>(results[0]), (std::vector<int8_t>{-128, -5, -128}));
}

TEST(WindowReduce, paddingIsNotWalked) {
  Module module(mainOf({"tensor<3xf32>"},
                       "graph.window_reduce sum %a window [900000000000000] strides [1] pad [800000000000000] "
                       "dilations [1] : tensor<3xf32> -> tensor<2xf32>",
                       "tensor<2xf32>"));
  std::vector<Tensor> results = module.run({Tensor::of<float>(module.type("f32"), {3}, {1, 2, 4})});
  ASSERT_EQ(results.size(), 1u) << module.messages;
  EXPECT_EQ(valuesOf<float>(results[0]), (std::vector<float>{7, 7}));
}
