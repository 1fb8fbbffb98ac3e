//===- Model.h - parses ONNX files ------------------------------*- C++ -*-===//
//
// The parts of ModelProto that the importer needs, as views into the mapped
// file: raw tensor data is never copied.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_ONNX_MODEL_H
#define PERPEND_FRONTEND_ONNX_MODEL_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace perpend::onnx {
using llvm::StringRef;

/// TensorProto.DataType.
enum class DataType : int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

struct TensorProto {
  StringRef name;
  DataType dataType = DataType::Undefined;
  llvm::SmallVector<int64_t, 4> dims;
  /// Raw little-endian elements; if absent, one of the typed lists is used.
  std::optional<StringRef> raw;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int32_t> ints;
  std::vector<int64_t> longs;
  std::vector<uint64_t> unsignedLongs;
  std::vector<StringRef> texts;
  /// The elements are in another file, beside the model.
  bool isExternal = false;
  StringRef externalLocation, externalOffset, externalLength;
  /// For a sparse tensor: the nonzero elements, and their positions. Empty: a dense tensor.
  std::vector<TensorProto> sparse;
};

struct Dimension {
  std::optional<int64_t> value;
  StringRef parameter;
};

struct TypeProto {
  /// Other stands for sparse tensors.
  enum class Kind { Other, Tensor, Sequence, Optional, Map };
  Kind kind = Kind::Other;
  /// For a map: the type of its keys.
  DataType elementType = DataType::Undefined;
  /// nullopt: the rank is unknown.
  std::optional<llvm::SmallVector<Dimension, 4>> dims;
  /// The element type of a sequence or optional value, or of a map's values: at most one.
  std::vector<TypeProto> element;
};

struct ValueInfo : TypeProto {
  StringRef name;
  /// The name of the map whose keys or values this input has (Maps.h).
  StringRef map;
};

struct GraphProto;

struct AttributeProto {
  enum class Kind { Undefined, Float, Int, String, Tensor, Graph, Floats, Ints, Strings, Other };
  StringRef name;
  Kind kind = Kind::Undefined;
  float number = 0;
  int64_t integer = 0;
  StringRef text;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  /// Inside a function: the attribute of the call that this one refers to.
  StringRef reference;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<StringRef> texts;
  std::vector<TypeProto> types;
};

struct NodeProto {
  StringRef name, operation, domain, overload;
  std::vector<StringRef> inputs, outputs;
  std::vector<AttributeProto> attributes;
};

struct GraphProto {
  StringRef name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<ValueInfo> inputs, outputs;
  /// Declarations of values that are neither inputs nor outputs.
  std::vector<ValueInfo> values;
};

struct OperatorSet {
  StringRef domain;
  int64_t version = 0;
};

/// An operator that the model defines by nodes.
struct FunctionProto {
  StringRef name, domain, overload;
  std::vector<StringRef> inputs, outputs;
  /// Defaults of attributes that a call lacks.
  std::vector<AttributeProto> defaults;
  std::vector<NodeProto> nodes;
  std::vector<OperatorSet> operatorSets;
};

struct ModelProto {
  int64_t irVersion = 0;
  StringRef producer;
  std::vector<OperatorSet> operatorSets;
  GraphProto graph;
  std::vector<FunctionProto> functions;
  /// Names that are not in the file, at stable addresses.
  std::deque<std::string> madeNames;
};

/// Parses a model file, whose bytes must outlive the result. Errors: nullopt, and a message in `error`.
std::optional<ModelProto> parseModel(StringRef bytes, std::string &error);
} // namespace perpend::onnx

#endif
