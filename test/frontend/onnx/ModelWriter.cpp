//===- ModelWriter.cpp - small ONNX models as bytes, for tests ------------===//

#include "ModelWriter.h"

namespace perpend::onnx::test {
namespace {
/// Protocol buffers' wire format, as much of it as models need.
struct Message {
  std::string bytes;

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes += static_cast<char>((value & 0x7f) | 0x80);
    bytes += static_cast<char>(value);
  }
  void integer(unsigned tag, int64_t value) {
    varint(tag << 3);
    varint(static_cast<uint64_t>(value));
  }
  void number(unsigned tag, float value) {
    varint(tag << 3 | 5);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void text(unsigned tag, const std::string &value) {
    varint(tag << 3 | 2);
    varint(value.size());
    bytes += value;
  }
  void message(unsigned tag, const Message &value) { text(tag, value.bytes); }
};
} // namespace

static Message tensorMessage(const TensorText &tensor) {
  Message result;
  for (int64_t dim : tensor.dims)
    result.integer(1, dim);
  result.integer(2, tensor.dataType);
  result.text(8, tensor.name);
  if (tensor.external.empty())
    result.text(9, tensor.raw);
  for (const auto &[key, value] : tensor.external) {
    Message entry;
    entry.text(1, key);
    entry.text(2, value);
    result.message(13, entry);
  }
  if (!tensor.external.empty())
    result.integer(14, 1);
  return result;
}

static Message valueMessage(const ValueText &value) {
  Message shape, tensor, type, result;
  for (const Dim &dim : value.dims) {
    Message dimension;
    if (const auto *number = std::get_if<int64_t>(&dim))
      dimension.integer(1, *number);
    else
      dimension.text(2, std::get<std::string>(dim));
    shape.message(1, dimension);
  }
  tensor.integer(1, value.elementType);
  if (value.hasShape)
    tensor.message(2, shape);
  type.message(1, tensor);
  result.text(1, value.name);
  result.message(2, type);
  return result;
}

static Message attributeMessage(const std::string &name, const AttributeValue &value) {
  Message result;
  result.text(1, name);
  int64_t type = 0;
  if (const auto *integer = std::get_if<int64_t>(&value))
    result.integer(3, *integer), type = 2;
  else if (const auto *number = std::get_if<float>(&value))
    result.number(2, *number), type = 1;
  else if (const auto *text = std::get_if<std::string>(&value))
    result.text(4, *text), type = 3;
  else if (const auto *tensor = std::get_if<TensorText>(&value))
    result.message(5, tensorMessage(*tensor)), type = 4;
  else
    for (int64_t integer : std::get<std::vector<int64_t>>(value))
      result.integer(8, integer), type = 7;
  result.integer(20, type);
  return result;
}

static Message nodeMessage(const NodeText &node) {
  Message result;
  for (const std::string &input : node.inputs)
    result.text(1, input);
  for (const std::string &output : node.outputs)
    result.text(2, output);
  result.text(3, node.name);
  result.text(4, node.operation);
  for (const auto &[name, value] : node.attributes)
    result.message(5, attributeMessage(name, value));
  result.text(7, node.domain);
  return result;
}

TensorText integers(std::string name, std::vector<int64_t> values) {
  std::string raw(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(int64_t));
  return {std::move(name), 7, {static_cast<int64_t>(values.size())}, raw, {}};
}

TensorText floats(std::string name, std::vector<int64_t> dims, std::vector<float> values) {
  std::string raw(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  return {std::move(name), 1, std::move(dims), raw, {}};
}

std::string serialize(const ModelText &model) {
  Message graph, operatorSet, result;
  for (const NodeText &node : model.nodes)
    graph.message(1, nodeMessage(node));
  graph.text(2, "test");
  for (const TensorText &tensor : model.initializers)
    graph.message(5, tensorMessage(tensor));
  for (const ValueText &input : model.inputs)
    graph.message(11, valueMessage(input));
  for (const std::string &output : model.outputs) {
    Message value;
    value.text(1, output);
    graph.message(12, value);
  }
  operatorSet.integer(2, model.operatorSet);
  result.integer(1, 8);
  result.message(7, graph);
  result.message(8, operatorSet);
  return result.bytes;
}
} // namespace perpend::onnx::test
