//===- Tensors.cpp - reads tensors of ONNX files --------------------------===//

#include "frontend/onnx/Tensors.h"
#include "graph/ElementTypes.h"
#include "graph/StoredElements.h"
#include "support/MappedFile.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;

namespace perpend::onnx {

static Type minifloatOf(MLIRContext *context, DataType type) {
  using Format = graph::MinifloatFormat;
  static constexpr std::pair<DataType, Format> formats[] = {
      {DataType::Float8E4M3FN, Format::F8E4M3FN}, {DataType::Float8E4M3FNUZ, Format::F8E4M3FNUZ},
      {DataType::Float8E5M2, Format::F8E5M2},     {DataType::Float8E5M2FNUZ, Format::F8E5M2FNUZ},
      {DataType::Float8E8M0, Format::F8E8M0FNU},  {DataType::Float6E2M3, Format::F6E2M3FN},
      {DataType::Float6E3M2, Format::F6E3M2FN},   {DataType::Float4E2M1, Format::F4E2M1FN}};
  for (auto [code, format] : formats)
    if (code == type)
      return graph::MinifloatType::get(context, format);
  return {};
}

Type elementTypeOf(MLIRContext *context, DataType type) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (type) {
  case DataType::Float:
    return Float32Type::get(context);
  case DataType::Double:
    return Float64Type::get(context);
  case DataType::Float16:
    return Float16Type::get(context);
  case DataType::Bfloat16:
    return BFloat16Type::get(context);
  case DataType::String:
    return graph::StringType::get(context);
  case DataType::Bool:
    return integer(1);
  case DataType::Int8:
    return integer(8);
  case DataType::Int16:
    return integer(16);
  case DataType::Int32:
    return integer(32);
  case DataType::Int64:
    return integer(64);
  case DataType::Uint8:
    return integer(8, true);
  case DataType::Uint16:
    return integer(16, true);
  case DataType::Uint32:
    return integer(32, true);
  case DataType::Uint64:
    return integer(64, true);
  case DataType::Int4:
    return integer(4);
  case DataType::Uint4:
    return integer(4, true);
  case DataType::Int2:
    return integer(2);
  case DataType::Uint2:
    return integer(2, true);
  default:
    return minifloatOf(context, type);
  }
}

Type typeOf(MLIRContext *context, const TypeProto &type) {
  if (type.kind == TypeProto::Kind::Sequence || type.kind == TypeProto::Kind::Optional) {
    Type element = type.element.empty() ? Type() : typeOf(context, type.element.back());
    bool isOptional = type.kind == TypeProto::Kind::Optional;
    return element ? RankedTensorType::get({}, graph::SequenceType::get(context, element, isOptional)) : Type();
  }
  Type elementType = elementTypeOf(context, type.elementType);
  if (type.kind != TypeProto::Kind::Tensor || !elementType)
    return {};
  if (!type.dims)
    return UnrankedTensorType::get(elementType);
  SmallVector<int64_t> shape;
  for (const Dimension &dimension : *type.dims)
    shape.push_back(dimension.value && *dimension.value >= 0 ? *dimension.value : ShapedType::kDynamic);
  return RankedTensorType::get(shape, elementType);
}

std::string nameOf(DataType type) {
  static constexpr const char *names[] = {"undefined",      "float",    "uint8",        "int8",           "uint16",
                                          "int16",          "int32",    "int64",        "string",         "bool",
                                          "float16",        "double",   "uint32",       "uint64",         "complex64",
                                          "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
                                          "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
                                          "uint2",          "int2",     "float6e2m3",   "float6e3m2"};
  auto index = static_cast<size_t>(type);
  return index < std::size(names) ? names[index] : "type " + std::to_string(static_cast<int32_t>(type));
}

/// Types below 8 bits are packed in a file, the first element in the lowest bits; bool is a byte.
static bool isPacked(Type elementType) { return !elementType.isInteger(1) && graph::bitWidth(elementType) < 8; }

static std::string unpack(StringRef packed, unsigned width, uint64_t count) {
  std::string bytes(count, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t first = i * width, byte = first / 8;
    unsigned next = first % 8 + width > 8 ? static_cast<uint8_t>(packed[byte + 1]) : 0;
    unsigned bits = (static_cast<uint8_t>(packed[byte]) | next << 8) >> (first % 8);
    bytes[i] = static_cast<char>(bits & ((1u << width) - 1));
  }
  return bytes;
}

static std::optional<uint64_t> elementCountOf(const TensorProto &tensor, std::string &error) {
  uint64_t count = 1;
  bool overflows = false;
  for (int64_t extent : tensor.dims) {
    if (extent < 0) {
      error = "dimension " + std::to_string(extent) + " is negative";
      return std::nullopt;
    }
    bool overflowed = false;
    count = llvm::SaturatingMultiply(count, static_cast<uint64_t>(extent), &overflowed);
    overflows |= overflowed;
  }
  if (!overflows && count < (uint64_t(1) << 48))
    return count;
  error = "the number of elements is too large";
  return std::nullopt;
}

/// The elements of a typed list, as stored bytes.
template <typename Stored, typename List> static std::string storeAs(const List &list) {
  std::string bytes(list.size() * sizeof(Stored), '\0');
  for (size_t i = 0; i < list.size(); ++i) {
    auto element = static_cast<Stored>(list[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &element, sizeof(Stored));
  }
  return bytes;
}

/// Checks that the numbers of a typed list, which is wider than the elements, fit these: integers as signed or
/// unsigned, since writers differ; packed elements and floats as 8 or 16 bits. Errors: false, and the number in
/// `error`.
static bool fitsElements(const TensorProto &tensor, Type elementType, std::string &error) {
  unsigned width = llvm::PowerOf2Ceil(std::max<unsigned>(graph::bitWidth(elementType), 8));
  auto refuse = [&](auto number) {
    error = "its element " + std::to_string(number) + " does not fit " + nameOf(tensor.dataType) +
            "\nhint: save the model again";
    return false;
  };
  if (width < 32) {
    int64_t least = isa<IntegerType>(elementType) ? llvm::minIntN(width) : 0, most = llvm::maxUIntN(width);
    for (int32_t number : tensor.ints)
      if (number < least || number > most)
        return refuse(number);
  }
  if (tensor.dataType == DataType::Uint32)
    for (uint64_t number : tensor.unsignedLongs)
      if (number > std::numeric_limits<uint32_t>::max())
        return refuse(number);
  return true;
}

static std::string storeTyped(const TensorProto &tensor) {
  switch (tensor.dataType) {
  case DataType::Float:
    return storeAs<float>(tensor.floats);
  case DataType::Double:
    return storeAs<double>(tensor.doubles);
  case DataType::Int64:
    return storeAs<int64_t>(tensor.longs);
  case DataType::Uint64:
    return storeAs<uint64_t>(tensor.unsignedLongs);
  case DataType::Uint32:
    return storeAs<uint32_t>(tensor.unsignedLongs);
  case DataType::Int32:
    return storeAs<int32_t>(tensor.ints);
  case DataType::Float16:
  case DataType::Bfloat16:
  case DataType::Int16:
  case DataType::Uint16:
    return storeAs<uint16_t>(tensor.ints);
  default:
    return storeAs<uint8_t>(tensor.ints);
  }
}

TensorReader::Buffer TensorReader::openExternal(StringRef location, std::string &error) {
  if (Buffer known = externalFiles.lookup(location))
    return known;
  std::string quoted = "'" + location.str() + "'";
  bool climbs = llvm::any_of(llvm::make_range(llvm::sys::path::begin(location), llvm::sys::path::end(location)),
                             [](StringRef part) { return part == ".."; });
  if (location.empty() || location.contains('\0') || llvm::sys::path::is_absolute(location) || climbs) {
    error = "the external file " + quoted + " must be a path inside the model's folder, without '..'";
    return {};
  }
  if (folder.empty()) {
    error = "external data needs a model that was read from a file";
    return {};
  }
  llvm::SmallString<256> path(folder), real, realFolder;
  llvm::sys::path::append(path, location);
  if (std::error_code code = llvm::sys::fs::real_path(path, real)) {
    error = "cannot open the external file " + quoted + ": " + code.message();
    return {};
  }
  bool isConfined = !llvm::sys::fs::real_path(folder, realFolder) &&
                    StringRef(real).starts_with((realFolder + llvm::sys::path::get_separator()).str());
  if (!isConfined || !llvm::sys::fs::is_regular_file(real)) {
    error = "the external file " + quoted + (isConfined ? " is no regular file" : " leads out of the model's folder");
    return {};
  }
  auto opened = support::mapFile(real.str().str());
  if (!opened) {
    error = "cannot read the external file " + quoted + ": " + opened.getError().message();
    return {};
  }
  return externalFiles[location] = std::move(*opened);
}

std::optional<StringRef> TensorReader::externalBytes(const TensorProto &tensor, uint64_t sizeBytes, Buffer &owner,
                                                     std::string &error) {
  uint64_t offset = 0, length = sizeBytes;
  if ((!tensor.externalOffset.empty() && tensor.externalOffset.getAsInteger(10, offset)) ||
      (!tensor.externalLength.empty() && tensor.externalLength.getAsInteger(10, length))) {
    error = "the offset or length of its external data is no number";
    return std::nullopt;
  }
  owner = openExternal(tensor.externalLocation, error);
  if (!owner)
    return std::nullopt;
  StringRef bytes = owner->getBuffer();
  if (offset > bytes.size() || length > bytes.size() - offset) {
    error = "its external data ends at byte " + std::to_string(llvm::SaturatingAdd(offset, length)) + ", the file '" +
            tensor.externalLocation.str() + "' has " + std::to_string(bytes.size());
    return std::nullopt;
  }
  return bytes.substr(offset, length);
}

/// The stored elements in place; nullopt without an error if they must be read from a typed list.
std::optional<StringRef> TensorReader::bytesOf(const TensorProto &tensor, uint64_t sizeBytes, Buffer &owner,
                                               std::string &error) {
  if (tensor.isExternal)
    return externalBytes(tensor, sizeBytes, owner, error);
  owner = file;
  return tensor.raw;
}

ElementsAttr TensorReader::readTexts(const TensorProto &tensor, uint64_t count, std::string &error) {
  if (tensor.isExternal || tensor.raw || tensor.texts.size() != count) {
    error = "expected " + std::to_string(count) + " texts, got " + std::to_string(tensor.texts.size()) +
            (tensor.isExternal || tensor.raw ? " and raw data" : "");
    return {};
  }
  auto type = RankedTensorType::get(tensor.dims, graph::StringType::get(context));
  return DenseStringElementsAttr::get(type, tensor.texts);
}

std::optional<TensorReader::Stored> TensorReader::store(const TensorProto &tensor, Type elementType, uint64_t count,
                                                        std::string &error) {
  unsigned width = graph::bitWidth(elementType);
  bool isUnpacked = !isPacked(elementType);
  uint64_t sizeBytes = isUnpacked ? count * graph::storedSize(elementType) : llvm::divideCeil(count * width, 8);
  Stored stored;
  std::optional<StringRef> bytes = bytesOf(tensor, sizeBytes, stored.owner, error);
  if (!error.empty())
    return std::nullopt;
  auto own = [&](std::string made) {
    stored.owned = std::make_unique<std::string>(std::move(made));
    bytes = *stored.owned;
    stored.owner = nullptr;
  };
  if (!bytes) {
    if (!fitsElements(tensor, elementType, error))
      return std::nullopt;
    own(storeTyped(tensor));
    bool holdsOneEach = width == 6; // the lists hold bytes of packed elements, except for these
    isUnpacked |= holdsOneEach;
    sizeBytes = holdsOneEach ? count : sizeBytes;
  }
  if (bytes->size() != sizeBytes) {
    error =
        "expected " + std::to_string(sizeBytes) + " bytes for its shape and type, got " + std::to_string(bytes->size());
    if (isPacked(elementType))
      error += "\nhint: elements of " + std::to_string(width) + " bits share bytes, low bits first";
    return std::nullopt;
  }
  if (!isUnpacked)
    own(unpack(*bytes, width, count));
  stored.bytes = *bytes;
  return stored;
}

/// Indices have the shape [n], with row-major positions, or [n, rank].
std::optional<std::vector<uint64_t>> TensorReader::positionsOf(const TensorProto &tensor, std::string &error) {
  const TensorProto &values = tensor.sparse[0], &indices = tensor.sparse[1];
  size_t rank = tensor.dims.size(), numbers = indices.dims.size() == 2 ? rank : 1;
  std::optional<uint64_t> count = elementCountOf(indices, error);
  if (!count)
    return std::nullopt;
  bool isShaped = indices.dims.size() == 1 || (indices.dims.size() == 2 && indices.dims[1] == int64_t(rank));
  if (indices.dataType != DataType::Int64 || !isShaped ||
      ArrayRef(values.dims) != ArrayRef(indices.dims).take_front()) {
    error = "expected n values and indices of int64 of the shape [n] or [n, " + std::to_string(rank) + "]";
    return std::nullopt;
  }
  std::optional<Stored> stored = store(indices, IntegerType::get(context, 64), *count, error);
  if (!stored)
    return std::nullopt;
  uint64_t total = *elementCountOf(tensor, error), known = values.dims[0];
  if (known > total) {
    error = "it has " + std::to_string(total) + " elements, got values for " + std::to_string(known);
    return std::nullopt;
  }
  std::vector<uint64_t> positions(known);
  for (size_t element = 0; element < positions.size(); ++element) {
    bool isInside = true;
    for (size_t i = 0; i < numbers; ++i) {
      int64_t index, extent = numbers == 1 && indices.dims.size() == 1 ? total : tensor.dims[i];
      std::memcpy(&index, stored->bytes.data() + (element * numbers + i) * sizeof(index), sizeof(index));
      isInside &= index >= 0 && index < extent;
      positions[element] = positions[element] * extent + (isInside ? index : 0);
    }
    if (!isInside || (element && positions[element] <= positions[element - 1])) {
      error = "expected indices inside its shape that ascend, which index " + std::to_string(element) + " does not";
      return std::nullopt;
    }
  }
  return positions;
}

/// Limit, since a file of a few bytes may ask for any number of zeros.
static constexpr uint64_t mostDenseBytes = uint64_t(1) << 30;

ElementsAttr TensorReader::readSparse(const TensorProto &tensor, Type elementType, uint64_t count, std::string &error) {
  uint64_t size = graph::storedSize(elementType);
  if (count * size > mostDenseBytes) {
    error = "a sparse tensor that takes more than 1 GiB when it is dense is not supported";
    return {};
  }
  std::optional<std::vector<uint64_t>> positions = positionsOf(tensor, error);
  if (!positions)
    return {};
  std::optional<Stored> values = store(tensor.sparse[0], elementType, positions->size(), error);
  if (!values)
    return {};
  std::unique_ptr<llvm::WritableMemoryBuffer> dense = llvm::WritableMemoryBuffer::getNewMemBuffer(count * size);
  if (!dense) {
    error = "not enough memory";
    return {};
  }
  for (auto [element, position] : llvm::enumerate(*positions))
    std::memcpy(dense->getBufferStart() + position * size, values->bytes.data() + element * size, size);
  StringRef bytes(dense->getBufferStart(), count * size);
  return graph::storedElements(RankedTensorType::get(tensor.dims, elementType), tensor.name, bytes, std::move(dense));
}

ElementsAttr TensorReader::read(const TensorProto &tensor, std::string &error) {
  Type elementType = elementTypeOf(context, tensor.dataType);
  std::optional<uint64_t> count = elementCountOf(tensor, error);
  if (!count)
    return {};
  bool isText = isa_and_nonnull<graph::StringType>(elementType);
  if (!elementType || (isText && !tensor.sparse.empty())) {
    error = "elements of type " + nameOf(tensor.dataType) + " are not supported";
    return {};
  }
  if (isText)
    return readTexts(tensor, *count, error);
  if (!tensor.sparse.empty())
    return readSparse(tensor, elementType, *count, error);
  std::optional<Stored> stored = store(tensor, elementType, *count, error);
  if (!stored)
    return {};
  return graph::storedElements(RankedTensorType::get(tensor.dims, elementType), tensor.name, stored->bytes,
                               stored->owner);
}
} // namespace perpend::onnx
