//===- MovesTest.cpp - operators that only move elements ------------------===//

#include "Module.h"

using namespace perpend::interp;
using Shape = std::vector<int64_t>;

namespace {
/// Runs one operator on f32 tensors 0, 1, 2 ... of these shapes and compares with `expected(index of the result)`.
using Formula = std::function<float(llvm::ArrayRef<int64_t> index, const std::vector<Tensor> &inputs)>;
void check(const std::vector<Shape> &inputs, const Shape &result, const std::string &op, Formula expected) {
  std::vector<std::string> types;
  std::string list;
  for (const Shape &shape : inputs) {
    types.push_back(tensorText(shape, "f32"));
    list += (list.empty() ? "" : ", ") + types.back();
  }
  Module module(mainOf(types, op + " : (" + list + ") -> " + tensorText(result, "f32"), tensorText(result, "f32")));
  std::vector<Tensor> tensors;
  for (const Shape &shape : inputs) {
    tensors.push_back(*Tensor::allocate(module.type("f32"), shape));
    auto elements = tensors.back().mutableElements<float>();
    std::iota(elements.begin(), elements.end(), 100.0f * static_cast<float>(tensors.size()));
  }
  std::vector<Tensor> results = module.run(tensors);
  ASSERT_EQ(results.size(), 1u) << module.messages << op;
  ASSERT_TRUE(llvm::equal(results[0].shape, result));
  for (int64_t i = 0; i < results[0].elementCount(); ++i)
    ASSERT_EQ(results[0].elements<float>()[i], expected(indexOf(i, result), tensors)) << op << " at " << i;
}
/// Operators with one input have no parentheses in their type.
void checkOne(const Shape &input, const Shape &result, const std::string &op, Formula expected) {
  Module module(mainOf({tensorText(input, "f32")},
                       op + " : " + tensorText(input, "f32") + " -> " + tensorText(result, "f32"),
                       tensorText(result, "f32")));
  Tensor tensor = *Tensor::allocate(module.type("f32"), input);
  auto elements = tensor.mutableElements<float>();
  std::iota(elements.begin(), elements.end(), 1.0f);
  std::vector<Tensor> results = module.run({tensor});
  ASSERT_EQ(results.size(), 1u) << module.messages << op;
  for (int64_t i = 0; i < results[0].elementCount(); ++i)
    ASSERT_EQ(results[0].elements<float>()[i], expected(indexOf(i, result), {tensor})) << op << " at " << i;
}
float at(const Tensor &tensor, llvm::ArrayRef<int64_t> index) {
  return tensor.elements<float>()[positionOf(index, tensor.shape)];
}
} // namespace

TEST(Moves, transpose) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    Shape input, permutation(static_cast<size_t>(random.integer(0, 4))), result;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random.engine);
    for (size_t i = 0; i < permutation.size(); ++i)
      input.push_back(random.extent());
    for (int64_t dim : permutation)
      result.push_back(input[dim]);
    checkOne(input, result, "graph.transpose %a " + listText(permutation), [&](auto index, auto &inputs) {
      Shape source(index.size());
      for (size_t i = 0; i < index.size(); ++i)
        source[permutation[i]] = index[i];
      return at(inputs[0], source);
    });
  }
  checkOne({67, 5, 41}, {41, 67, 5}, "graph.transpose %a [2, 0, 1]",
           [](auto index, auto &inputs) { return at(inputs[0], {index[1], index[2], index[0]}); });
}

TEST(Moves, transposeOfOtherElementSizes) {
  for (const char *type : {"i8", "i16", "f64", "i1", "i4"}) {
    std::string from = std::string("tensor<2x3x") + type + ">", to = std::string("tensor<3x2x") + type + ">";
    Module module(mainOf({from}, "graph.transpose %a [1, 0] : " + from + " -> " + to, to));
    Tensor input = *Tensor::allocate(module.type(type), {2, 3});
    for (int64_t value = 0; value < 6; ++value) {
      double wide = static_cast<double>(value);
      int64_t integer = value & 1;
      writeElements(input.format(), input.format().isFloat() ? static_cast<void *>(&wide) : &integer, 1,
                    input.mutableData() + value * input.format().bytes());
    }
    std::vector<Tensor> results = module.run({input});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    unsigned size = input.format().bytes();
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(memcmp(results[0].data() + i * size, input.data() + (i % 2 * 3 + i / 2) * size, size), 0) << type;
  }
}

TEST(Moves, broadcast) {
  for (int64_t n : {0, 1, 5})
    checkOne({1, n}, {3, 4, n}, "graph.broadcast %a dims [0, 2]",
             [](auto index, auto &inputs) { return at(inputs[0], {0, index[2]}); });
  checkOne({}, {7}, "graph.broadcast %a dims []", [](auto, auto &inputs) { return at(inputs[0], {}); });
  checkOne({3}, {3, 2}, "graph.broadcast %a dims [0]",
           [](auto index, auto &inputs) { return at(inputs[0], {index[0]}); });
}

TEST(Moves, reshape) {
  checkOne({2, 6}, {3, 4}, "graph.reshape %a",
           [](auto index, auto &inputs) { return inputs[0].template elements<float>()[index[0] * 4 + index[1]]; });
  checkOne({0, 6}, {3, 0}, "graph.reshape %a", [](auto, auto &) { return 0.0f; });
}

TEST(Moves, slice) {
  checkOne({7, 5}, {3, 2}, "graph.slice %a <[6, 1]> [-3, 2]",
           [](auto i, auto &inputs) { return at(inputs[0], {6 - 3 * i[0], 1 + 2 * i[1]}); });
  checkOne({7}, {0}, "graph.slice %a <[9]> [1]", [](auto, auto &) { return 0.0f; });
  Random random;
  for (int round = 0; round < 40; ++round) {
    int64_t extent = random.integer(1, 11), start = random.integer(0, extent - 1), step = random.integer(-3, 3);
    step = step ? step : 1;
    int64_t most = step > 0 ? (extent - 1 - start) / step + 1 : start / -step + 1, count = random.integer(0, most);
    checkOne({2, extent}, {2, count},
             "graph.slice %a <[0, " + std::to_string(start) + "]> [1, " + std::to_string(step) + "]",
             [&](auto i, auto &inputs) { return at(inputs[0], {i[0], start + i[1] * step}); });
  }
}

TEST(Moves, sliceOutsideIsAnError) {
  Module module(
      mainOf({"tensor<4xf32>"}, "graph.slice %a <[2]> [1] : tensor<4xf32> -> tensor<3xf32>", "tensor<3xf32>"));
  EXPECT_TRUE(module.run({*Tensor::allocate(module.type("f32"), {4})}).empty());
  EXPECT_NE(module.messages.find("leaves the extent 4"), std::string::npos) << module.messages;
}

TEST(Moves, pad) {
  Random random;
  for (int round = 0; round < 60; ++round) {
    int64_t n = random.extent(), low = random.integer(-4, 4), result = random.integer(0, 9);
    checkOne({3, n}, {3, result}, "graph.pad %a <[0, " + std::to_string(low) + "]> -2.5 : f32",
             [&](auto i, auto &inputs) {
               int64_t source = i[1] - low;
               return source >= 0 && source < n ? at(inputs[0], {i[0], source}) : -2.5f;
             });
  }
}

TEST(Moves, concat) {
  for (int64_t n : {0, 1, 3})
    check({{2, 2, 3}, {2, n, 3}, {2, 1, 3}}, {2, 3 + n, 3}, "graph.concat %a, %b, %c axis 1",
          [&](auto i, auto &inputs) {
            int64_t position = i[1], part = position < 2 ? 0 : position < 2 + n ? 1 : 2;
            position -= part == 0 ? 0 : part == 1 ? 2 : 2 + n;
            return at(inputs[part], {i[0], position, i[2]});
          });
}

TEST(Moves, update) {
  for (int64_t n : {0, 1, 3})
    for (int64_t offset : {0, 2, 5})
      for (int64_t length : {int64_t{8}, offset + n}) {
        if (length < 5)
          continue; // no result is shorter than its input
        int64_t input = length == 8 ? 8 : 5;
        check({{2, input, 3}, {2, n, 3}}, {2, length, 3},
              "graph.update %a, %b at <[" + std::to_string(offset) + "]> axis 1", [&](auto i, auto &inputs) {
                bool isInside = i[1] >= offset && i[1] < offset + n;
                return isInside ? at(inputs[1], {i[0], i[1] - offset, i[2]}) : at(inputs[0], {i[0], i[1], i[2]});
              });
      }
}

TEST(Moves, gatherClamps) {
  for (const char *type : {"i64", "i32", "i8", "ui8"}) {
    std::string indices = std::string("tensor<2x2x") + type + ">";
    Module module(mainOf({"tensor<2x3x2xf32>", indices},
                         "graph.gather %a[%b] axis 1 : (tensor<2x3x2xf32>, " + indices + ") -> tensor<2x2x2x2xf32>",
                         "tensor<2x2x2x2xf32>"));
    Tensor input = *Tensor::allocate(module.type("f32"), {2, 3, 2}), at = *Tensor::allocate(module.type(type), {2, 2});
    std::iota(input.mutableElements<float>().begin(), input.mutableElements<float>().end(), 0.0f);
    int64_t positions[] = {2, -1, 0, 100};
    writeElements(at.format(), positions, 4, at.mutableData());
    std::vector<Tensor> results = module.run({input, at});
    ASSERT_EQ(results.size(), 1u) << module.messages;
    int64_t clamped[] = {2, std::string(type) == "ui8" ? 2 : 0, 0, 2};
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(results[0].elements<float>()[i], static_cast<float>(i / 8 * 6 + clamped[i / 2 % 4] * 2 + i % 2))
          << type;
  }
}

TEST(Moves, gatherFromNothing) {
  Module module(mainOf({"tensor<0xf32>", "tensor<2xi64>"},
                       "graph.gather %a[%b] axis 0 : (tensor<0xf32>, tensor<2xi64>) -> tensor<2xf32>",
                       "tensor<2xf32>"));
  EXPECT_TRUE(
      module.run({*Tensor::allocate(module.type("f32"), {0}), *Tensor::allocate(module.type("i64"), {2})}).empty());
  EXPECT_NE(module.messages.find("empty dimension"), std::string::npos) << module.messages;
}
