//===- Model.cpp - parses ONNX files --------------------------------------===//
//
// The only translation unit with exceptions outside of src/python: protozero throws on malformed input, which
// parseModel() turns into an error. A field of an unexpected wire type is skipped, as protocol buffers require.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Model.h"

#include <protozero/pbf_reader.hpp>

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

namespace perpend::onnx {

/// Limit of nested graphs in attributes.
static constexpr int maxNesting = 32;

namespace {
struct TooDeep : std::exception {
  const char *what() const noexcept override { return "graphs are nested too deeply"; }
};
} // namespace

static constexpr uint32_t varint(uint32_t tag) { return tag_and_type(tag, pbf_wire_type::varint); }
static constexpr uint32_t bytes(uint32_t tag) { return tag_and_type(tag, pbf_wire_type::length_delimited); }
static constexpr uint32_t fixed32(uint32_t tag) { return tag_and_type(tag, pbf_wire_type::fixed32); }
static constexpr uint32_t fixed64(uint32_t tag) { return tag_and_type(tag, pbf_wire_type::fixed64); }

static StringRef view(pbf_reader &reader) {
  protozero::data_view data = reader.get_view();
  return {data.data(), data.size()};
}

template <typename List, typename Range> static void append(List &list, Range range) {
  list.insert(list.end(), range.begin(), range.end());
}

static GraphProto readGraph(pbf_reader reader, int nesting);
static TypeProto readType(pbf_reader reader, int nesting);

static void readExternal(pbf_reader reader, TensorProto &tensor) {
  StringRef key, value;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      key = view(reader);
      break;
    case bytes(2):
      value = view(reader);
      break;
    default:
      reader.skip();
    }
  }
  if (key == "location")
    tensor.externalLocation = value;
  else if (key == "offset")
    tensor.externalOffset = value;
  else if (key == "length")
    tensor.externalLength = value;
}

static TensorProto readTensor(pbf_reader reader) {
  TensorProto tensor;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case varint(1):
      tensor.dims.push_back(reader.get_int64());
      break;
    case bytes(1):
      append(tensor.dims, reader.get_packed_int64());
      break;
    case varint(2):
      tensor.dataType = static_cast<DataType>(reader.get_int32());
      break;
    case fixed32(4):
      tensor.floats.push_back(reader.get_float());
      break;
    case bytes(4):
      append(tensor.floats, reader.get_packed_float());
      break;
    case varint(5):
      tensor.ints.push_back(reader.get_int32());
      break;
    case bytes(5):
      append(tensor.ints, reader.get_packed_int32());
      break;
    case bytes(6):
      tensor.texts.push_back(view(reader));
      break;
    case varint(7):
      tensor.longs.push_back(reader.get_int64());
      break;
    case bytes(7):
      append(tensor.longs, reader.get_packed_int64());
      break;
    case bytes(8):
      tensor.name = view(reader);
      break;
    case bytes(9):
      tensor.raw = view(reader);
      break;
    case fixed64(10):
      tensor.doubles.push_back(reader.get_double());
      break;
    case bytes(10):
      append(tensor.doubles, reader.get_packed_double());
      break;
    case varint(11):
      tensor.unsignedLongs.push_back(reader.get_uint64());
      break;
    case bytes(11):
      append(tensor.unsignedLongs, reader.get_packed_uint64());
      break;
    case bytes(13):
      readExternal(reader.get_message(), tensor);
      break;
    case varint(14):
      tensor.isExternal = reader.get_int32() == 1;
      break;
    default:
      reader.skip();
    }
  }
  return tensor;
}

static TensorProto readSparseTensor(pbf_reader reader) {
  TensorProto tensor;
  tensor.sparse.resize(2);
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      tensor.sparse[0] = readTensor(reader.get_message());
      break;
    case bytes(2):
      tensor.sparse[1] = readTensor(reader.get_message());
      break;
    case varint(3):
      tensor.dims.push_back(reader.get_int64());
      break;
    case bytes(3):
      append(tensor.dims, reader.get_packed_int64());
      break;
    default:
      reader.skip();
    }
  }
  tensor.name = tensor.sparse[0].name;
  tensor.dataType = tensor.sparse[0].dataType;
  return tensor;
}

static AttributeProto readAttribute(pbf_reader reader, int nesting) {
  using Kind = AttributeProto::Kind;
  AttributeProto attribute;
  int32_t type = 0;
  Kind seen = Kind::Undefined;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      attribute.name = view(reader);
      break;
    case fixed32(2):
      attribute.number = reader.get_float(), seen = Kind::Float;
      break;
    case varint(3):
      attribute.integer = reader.get_int64(), seen = Kind::Int;
      break;
    case bytes(4):
      attribute.text = view(reader), seen = Kind::String;
      break;
    case bytes(5):
      attribute.tensors.push_back(readTensor(reader.get_message())), seen = Kind::Tensor;
      break;
    case bytes(6):
      attribute.graphs.push_back(readGraph(reader.get_message(), nesting + 1)), seen = Kind::Graph;
      break;
    case fixed32(7):
      attribute.floats.push_back(reader.get_float()), seen = Kind::Floats;
      break;
    case bytes(7):
      append(attribute.floats, reader.get_packed_float()), seen = Kind::Floats;
      break;
    case varint(8):
      attribute.integers.push_back(reader.get_int64()), seen = Kind::Ints;
      break;
    case bytes(8):
      append(attribute.integers, reader.get_packed_int64()), seen = Kind::Ints;
      break;
    case bytes(9):
      attribute.texts.push_back(view(reader)), seen = Kind::Strings;
      break;
    case bytes(14):
      attribute.types.push_back(readType(reader.get_message(), nesting + 1));
      break;
    case varint(20):
      type = reader.get_int32();
      break;
    case bytes(22):
      attribute.tensors.push_back(readSparseTensor(reader.get_message())), seen = Kind::Tensor;
      break;
    case bytes(21):
      attribute.reference = view(reader);
      break;
    default:
      reader.skip();
    }
  }
  static constexpr Kind kinds[] = {Kind::Undefined, Kind::Float, Kind::Int,    Kind::String,
                                   Kind::Tensor,    Kind::Graph, Kind::Floats, Kind::Ints,
                                   Kind::Strings,   Kind::Other, Kind::Other,  Kind::Tensor};
  // Files of IR versions 1 and 2 may lack the type.
  attribute.kind = type == 0                                                   ? seen
                   : type > 0 && type < static_cast<int32_t>(std::size(kinds)) ? kinds[type]
                                                                               : Kind::Other;
  if (seen != Kind::Undefined && seen != attribute.kind) // its kind differs from the declared one
    attribute.kind = Kind::Other;
  return attribute;
}

static NodeProto readNode(pbf_reader reader, int nesting) {
  NodeProto node;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      node.inputs.push_back(view(reader));
      break;
    case bytes(2):
      node.outputs.push_back(view(reader));
      break;
    case bytes(3):
      node.name = view(reader);
      break;
    case bytes(4):
      node.operation = view(reader);
      break;
    case bytes(5):
      node.attributes.push_back(readAttribute(reader.get_message(), nesting));
      break;
    case bytes(7):
      node.domain = view(reader);
      break;
    case bytes(8):
      node.overload = view(reader);
      break;
    default:
      reader.skip();
    }
  }
  return node;
}

static Dimension readDimension(pbf_reader reader) {
  Dimension dimension;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case varint(1):
      dimension.value = reader.get_int64();
      break;
    case bytes(2):
      dimension.parameter = view(reader);
      break;
    default:
      reader.skip();
    }
  }
  return dimension;
}

static void readTensorType(pbf_reader reader, TypeProto &info) {
  info.kind = TypeProto::Kind::Tensor;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case varint(1):
      info.elementType = static_cast<DataType>(reader.get_int32());
      break;
    case bytes(2): {
      info.dims.emplace();
      for (pbf_reader shape = reader.get_message(); shape.next();)
        if (shape.tag_and_type() == bytes(1))
          info.dims->push_back(readDimension(shape.get_message()));
        else
          shape.skip();
      break;
    }
    default:
      reader.skip();
    }
  }
}

static void readMapType(pbf_reader reader, int nesting, TypeProto &type) {
  type.kind = TypeProto::Kind::Map;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case varint(1):
      type.elementType = static_cast<DataType>(reader.get_int32());
      break;
    case bytes(2):
      type.element.assign(1, readType(reader.get_message(), nesting + 1));
      break;
    default:
      reader.skip();
    }
  }
}

static void readTypeInto(pbf_reader reader, int nesting, TypeProto &type) {
  if (nesting > maxNesting)
    throw TooDeep();
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      readTensorType(reader.get_message(), type);
      break;
    case bytes(4):
    case bytes(9):
      type.kind = reader.tag() == 4 ? TypeProto::Kind::Sequence : TypeProto::Kind::Optional;
      for (pbf_reader list = reader.get_message(); list.next();)
        if (list.tag_and_type() == bytes(1))
          type.element.push_back(readType(list.get_message(), nesting + 1));
        else
          list.skip();
      break;
    case bytes(5):
      readMapType(reader.get_message(), nesting, type);
      break;
    default:
      reader.skip();
    }
  }
}

static TypeProto readType(pbf_reader reader, int nesting) {
  TypeProto type;
  readTypeInto(reader, nesting, type);
  return type;
}

static ValueInfo readValueInfo(pbf_reader reader) {
  ValueInfo info;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      info.name = view(reader);
      break;
    case bytes(2):
      readTypeInto(reader.get_message(), 0, info);
      break;
    default:
      reader.skip();
    }
  }
  return info;
}

static GraphProto readGraph(pbf_reader reader, int nesting) {
  if (nesting > maxNesting)
    throw TooDeep();
  GraphProto graph;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      graph.nodes.push_back(readNode(reader.get_message(), nesting));
      break;
    case bytes(2):
      graph.name = view(reader);
      break;
    case bytes(5):
      graph.initializers.push_back(readTensor(reader.get_message()));
      break;
    case bytes(11):
      graph.inputs.push_back(readValueInfo(reader.get_message()));
      break;
    case bytes(12):
      graph.outputs.push_back(readValueInfo(reader.get_message()));
      break;
    case bytes(13):
      graph.values.push_back(readValueInfo(reader.get_message()));
      break;
    case bytes(15):
      graph.initializers.push_back(readSparseTensor(reader.get_message()));
      break;
    default:
      reader.skip();
    }
  }
  return graph;
}

static OperatorSet readOperatorSet(pbf_reader reader) {
  OperatorSet set;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      set.domain = view(reader);
      break;
    case varint(2):
      set.version = reader.get_int64();
      break;
    default:
      reader.skip();
    }
  }
  return set;
}

static FunctionProto readFunction(pbf_reader reader) {
  FunctionProto function;
  while (reader.next()) {
    switch (reader.tag_and_type()) {
    case bytes(1):
      function.name = view(reader);
      break;
    case bytes(4):
      function.inputs.push_back(view(reader));
      break;
    case bytes(5):
      function.outputs.push_back(view(reader));
      break;
    case bytes(7):
      function.nodes.push_back(readNode(reader.get_message(), 1));
      break;
    case bytes(9):
      function.operatorSets.push_back(readOperatorSet(reader.get_message()));
      break;
    case bytes(10):
      function.domain = view(reader);
      break;
    case bytes(11):
      function.defaults.push_back(readAttribute(reader.get_message(), 1));
      break;
    case bytes(13):
      function.overload = view(reader);
      break;
    default:
      reader.skip();
    }
  }
  return function;
}

std::optional<ModelProto> parseModel(StringRef file, std::string &error) {
  ModelProto model;
  bool hasGraph = false;
  try {
    pbf_reader reader(file.data(), file.size());
    while (reader.next()) {
      switch (reader.tag_and_type()) {
      case varint(1):
        model.irVersion = reader.get_int64();
        break;
      case bytes(2):
        model.producer = view(reader);
        break;
      case bytes(7):
        model.graph = readGraph(reader.get_message(), 0), hasGraph = true;
        break;
      case bytes(8):
        model.operatorSets.push_back(readOperatorSet(reader.get_message()));
        break;
      case bytes(25):
        model.functions.push_back(readFunction(reader.get_message()));
        break;
      default:
        reader.skip();
      }
    }
  } catch (const std::exception &exception) {
    error = std::string("not a complete ONNX file: ") + exception.what();
    return std::nullopt;
  }
  if (hasGraph)
    return model;
  error = "not an ONNX model: the file has no graph";
  return std::nullopt;
}
} // namespace perpend::onnx
