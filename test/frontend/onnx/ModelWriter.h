//===- ModelWriter.h - small ONNX models as bytes, for tests ----*- C++ -*-===//

#ifndef PERPEND_TEST_FRONTEND_ONNX_MODELWRITER_H
#define PERPEND_TEST_FRONTEND_ONNX_MODELWRITER_H

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace perpend::onnx::test {

/// A dimension: a number or a parameter's name.
using Dim = std::variant<int64_t, std::string>;

struct TensorText {
  std::string name;
  int32_t dataType = 1;
  std::vector<int64_t> dims;
  std::string raw;
  /// Keys and values of external data; nothing when empty.
  std::vector<std::pair<std::string, std::string>> external;
};

struct ValueText {
  std::string name;
  std::vector<Dim> dims;
  int32_t elementType = 1;
  bool hasShape = true;
};

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, TensorText>;

struct NodeText {
  std::string operation;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  std::string name, domain;
};

struct ModelText {
  std::vector<ValueText> inputs;
  std::vector<NodeText> nodes;
  std::vector<std::string> outputs;
  std::vector<TensorText> initializers;
  int64_t operatorSet = 17;
};

/// An initializer of int64 or float values.
TensorText integers(std::string name, std::vector<int64_t> values);
TensorText floats(std::string name, std::vector<int64_t> dims, std::vector<float> values);

/// The ModelProto. Outputs are written without types.
std::string serialize(const ModelText &model);
} // namespace perpend::onnx::test

#endif
