//===- Gguf.cpp - reads GGUF files ----------------------------------------===//
//
// Files may be hostile: every count is compared with the bytes that are left
// before anything is allocated for it.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Gguf.h"
#include "support/MappedFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cinttypes>

namespace perpend::checkpoint {
namespace json = llvm::json;

namespace {
enum class ValueType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };

/// Reads from the start of a file on. After an error everything reads as zero.
class Cursor {
public:
  explicit Cursor(StringRef bytes) : bytes(bytes) {}

  template <typename T> T number() {
    if (!has(sizeof(T)))
      return {};
    T value = llvm::support::endian::read<T, llvm::endianness::little>(bytes.data() + at);
    at += sizeof(T);
    return value;
  }
  StringRef text() {
    auto length = number<uint64_t>();
    return has(length) ? take(length) : StringRef();
  }
  StringRef take(uint64_t count) {
    StringRef part = has(count) ? bytes.substr(at, count) : StringRef();
    at += part.size();
    return part;
  }
  /// Records an error, with the place, unless there is one.
  void fail(const Twine &message) {
    if (error.empty())
      error = ("at byte " + Twine(at) + ": " + message).str();
  }
  /// Whether so many bytes are left; otherwise an error.
  bool has(uint64_t count) {
    if (error.empty() && count > left())
      fail("expected " + Twine(count) + " more bytes, the file has " + Twine(left()) +
           "\nhint: the file may be cut off; download it again");
    return error.empty();
  }
  uint64_t left() const { return bytes.size() - at; }
  bool hasFailed() const { return !error.empty(); }

  StringRef bytes;
  uint64_t at = 0;
  std::string error;
};
} // namespace

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

/// Bytes of a number; of a text the least that it takes; 0 for others.
static uint64_t leastBytesOf(ValueType type) {
  switch (type) {
  case ValueType::U8:
  case ValueType::I8:
  case ValueType::Bool:
    return 1;
  case ValueType::U16:
  case ValueType::I16:
    return 2;
  case ValueType::U32:
  case ValueType::I32:
  case ValueType::F32:
    return 4;
  case ValueType::String:
  case ValueType::U64:
  case ValueType::I64:
  case ValueType::F64:
    return 8;
  case ValueType::Array:
    break;
  }
  return 0;
}

static json::Value textValue(StringRef text) { return json::fixUTF8(text); }

static json::Value scalar(Cursor &file, ValueType type) {
  switch (type) {
  case ValueType::U8:
    return int64_t(file.number<uint8_t>());
  case ValueType::I8:
    return int64_t(file.number<int8_t>());
  case ValueType::U16:
    return int64_t(file.number<uint16_t>());
  case ValueType::I16:
    return int64_t(file.number<int16_t>());
  case ValueType::U32:
    return int64_t(file.number<uint32_t>());
  case ValueType::I32:
    return int64_t(file.number<int32_t>());
  case ValueType::F32:
    return double(file.number<float>());
  case ValueType::Bool:
    return file.number<uint8_t>() != 0;
  case ValueType::String:
    return textValue(file.text());
  case ValueType::U64:
    return file.number<uint64_t>();
  case ValueType::I64:
    return file.number<int64_t>();
  case ValueType::F64:
    return file.number<double>();
  case ValueType::Array:
    break;
  }
  file.fail("expected a type of values from 0 to 12, got " + Twine(uint32_t(type)));
  return nullptr;
}

static json::Value array(Cursor &file) {
  auto type = static_cast<ValueType>(file.number<uint32_t>());
  auto count = file.number<uint64_t>();
  uint64_t least = leastBytesOf(type);
  if (least == 0)
    file.fail("expected an array of numbers or texts, got elements of type " + Twine(uint32_t(type)));
  if (file.hasFailed())
    return nullptr;
  if (count > file.left() / least) {
    file.fail("an array has " + Twine(count) + " elements, the file has " + Twine(file.left()) +
              " more bytes\nhint: the file may be cut off; download it again");
    return nullptr;
  }
  if (type != ValueType::String && count <= Metadata::mostElements) {
    json::Array elements;
    for (uint64_t i = 0; i < count; ++i)
      elements.push_back(scalar(file, type));
    return elements;
  }
  if (type != ValueType::String)
    file.take(count * least);
  for (uint64_t i = 0; type == ValueType::String && i < count && !file.hasFailed(); ++i)
    file.text();
  return json::Object{{"length", int64_t(count)}};
}

static void readPairs(Cursor &file, uint64_t count, Metadata &metadata) {
  constexpr uint64_t leastBytes = 8 + 4 + 1;
  if (count > file.left() / leastBytes)
    file.fail("expected " + Twine(count) + " pairs of metadata, the file has " + Twine(file.left()) +
              " more bytes\nhint: the file may be cut off; download it again");
  for (uint64_t i = 0; i < count && !file.hasFailed(); ++i) {
    StringRef key = file.text();
    auto type = static_cast<ValueType>(file.number<uint32_t>());
    json::Value value = type == ValueType::Array ? array(file) : scalar(file, type);
    if (!file.hasFailed() && !json::isUTF8(key))
      file.fail("a key of the metadata is not UTF-8");
    if (!file.hasFailed() && !metadata.values.try_emplace(key.str(), std::move(value)).second)
      file.fail("the metadata has the key '" + key + "' twice");
  }
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
struct Description {
  StoredTensor tensor;
  uint64_t offset = 0, sizeBytes = 0;
};
} // namespace

static Description readDescription(Cursor &file) {
  constexpr uint32_t mostDimensions = 4;
  Description description;
  StoredTensor &tensor = description.tensor;
  tensor.name = file.text().str();
  auto fail = [&](const Twine &message) { file.fail("tensor '" + Twine(tensor.name) + "': " + message); };
  auto rank = file.number<uint32_t>();
  if (rank > mostDimensions)
    fail("expected at most " + Twine(mostDimensions) + " dimensions, got " + Twine(rank));
  for (uint32_t i = 0; i < rank && !file.hasFailed(); ++i)
    tensor.shape.insert(tensor.shape.begin(), file.number<int64_t>());
  auto type = file.number<uint32_t>();
  description.offset = file.number<uint64_t>();
  if (file.hasFailed())
    return description;
  if (!json::isUTF8(tensor.name)) {
    file.fail("a tensor's name is not UTF-8");
    return description;
  }
  std::optional<Encoding> encoding = encodingOfGguf(type);
  if (!encoding) {
    fail("its type, number " + Twine(type) + ", is unknown");
    return description;
  }
  tensor.encoding = *encoding;
  std::string error;
  if (std::optional<uint64_t> size = sizeOf(*encoding, tensor.shape, error))
    description.sizeBytes = *size;
  else
    fail(error);
  return description;
}

/// Tensors follow one another, each at a multiple of the alignment.
static void placeTensors(Cursor &file, std::vector<Description> &descriptions, uint64_t alignment) {
  uint64_t expected = 0, begin = llvm::alignTo(file.at, alignment);
  for (Description &description : descriptions) {
    StoredTensor &tensor = description.tensor;
    if (description.offset != expected) {
      file.error = "tensor '" + tensor.name + "': expected its bytes at offset " + std::to_string(expected) +
                   ", where the tensor before it ends, got " + std::to_string(description.offset);
      return;
    }
    // Both are at most the size of the file, but for the padding.
    uint64_t at = begin + description.offset;
    if (at > file.bytes.size() || description.sizeBytes > file.bytes.size() - at) {
      file.error = "tensor '" + tensor.name + "': its " + std::to_string(description.sizeBytes) +
                   " bytes begin at byte " + std::to_string(at) + ", the file has " +
                   std::to_string(file.bytes.size()) + "\nhint: the file may be cut off; download it again";
      return;
    }
    tensor.bytes = file.bytes.substr(at, description.sizeBytes);
    expected = llvm::alignTo(expected + description.sizeBytes, alignment);
  }
}

static std::vector<Description> readDescriptions(Cursor &file, uint64_t count) {
  constexpr uint64_t leastBytes = 8 + 4 + 4 + 8;
  if (count > file.left() / leastBytes)
    file.fail("expected " + Twine(count) + " tensors, the file has " + Twine(file.left()) +
              " more bytes\nhint: the file may be cut off; download it again");
  std::vector<Description> descriptions;
  for (uint64_t i = 0; i < count && !file.hasFailed(); ++i)
    descriptions.push_back(readDescription(file));
  return descriptions;
}

static uint64_t alignmentOf(Cursor &file, const Metadata &metadata) {
  constexpr int64_t usual = 32, most = 1 << 30;
  const json::Value *value = metadata.values.get("general.alignment");
  int64_t alignment = value ? value->getAsInteger().value_or(0) : usual;
  if (alignment >= 1 && alignment <= most && llvm::isPowerOf2_64(alignment))
    return alignment;
  file.fail("expected a general.alignment that is a power of two of at most " + Twine(most));
  return usual;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static void readVersion(Cursor &file) {
  if (file.take(4) != "GGUF" && !file.hasFailed())
    file.fail("expected a file that begins with GGUF");
  auto version = file.number<uint32_t>();
  if (file.hasFailed() || version == 2 || version == 3)
    return;
  if (version != 0 && (version & 0xffff) == 0)
    file.fail("the file is big endian, which is not supported\nhint: convert it to little endian");
  else
    file.fail("expected version 2 or 3 of GGUF, got " + Twine(version) + "\nhint: convert the model again");
}

std::optional<Metadata> readGguf(std::shared_ptr<llvm::MemoryBuffer> buffer, StoredTensors &tensors,
                                 std::string &error) {
  Cursor file(buffer->getBuffer());
  readVersion(file);
  auto tensorCount = file.number<uint64_t>(), pairCount = file.number<uint64_t>();
  Metadata metadata;
  if (!file.hasFailed())
    readPairs(file, pairCount, metadata);
  std::vector<Description> descriptions;
  if (!file.hasFailed())
    descriptions = readDescriptions(file, tensorCount);
  uint64_t alignment = file.hasFailed() ? 1 : alignmentOf(file, metadata);
  if (!file.hasFailed())
    placeTensors(file, descriptions, alignment);
  if (file.hasFailed())
    return error = file.error, std::nullopt;
  for (Description &description : descriptions) {
    description.tensor.file = buffer;
    if (!tensors.add(std::move(description.tensor), error))
      return std::nullopt;
  }
  return metadata;
}

static std::optional<Metadata> readOne(const std::string &path, StoredTensors &tensors, std::string &error) {
  auto file = support::mapFile(path);
  if (!file)
    return error = "cannot read '" + path + "': " + file.getError().message(), std::nullopt;
  std::optional<Metadata> metadata = readGguf(std::move(*file), tensors, error);
  if (!metadata)
    error = "'" + llvm::sys::path::filename(path).str() + "': " + error;
  return metadata;
}

static int64_t integerOf(const Metadata &metadata, StringRef key, int64_t otherwise) {
  return metadata.values.getInteger(key).value_or(otherwise);
}

static std::string partName(StringRef stem, int64_t number, int64_t count) {
  std::string name;
  llvm::raw_string_ostream(name) << stem << llvm::format("-%05" PRId64 "-of-%05" PRId64 ".gguf", number + 1, count);
  return name;
}

std::optional<Metadata> readGgufCheckpoint(StringRef path, StoredTensors &tensors, std::string &error) {
  std::optional<Metadata> metadata = readOne(path.str(), tensors, error);
  if (!metadata)
    return std::nullopt;
  constexpr int64_t mostFiles = 99999;
  int64_t number = integerOf(*metadata, "split.no", 0), count = integerOf(*metadata, "split.count", 1);
  if (count <= 1)
    return metadata;
  StringRef stem = path;
  std::string ending = partName("", 0, count);
  if (number != 0 || count > mostFiles || !stem.consume_back(ending)) {
    error = "it is part " + std::to_string(number + 1) + " of " + std::to_string(count) +
            "\nhint: give the first, whose name ends in " + ending;
    return std::nullopt;
  }
  for (int64_t i = 1; i < count; ++i) {
    std::string name = partName(stem, i, count);
    std::optional<Metadata> part = readOne(name, tensors, error);
    if (!part)
      return std::nullopt;
    if (integerOf(*part, "split.no", -1) != i || integerOf(*part, "split.count", -1) != count) {
      error = "'" + llvm::sys::path::filename(name).str() + "': expected part " + std::to_string(i + 1) + " of " +
              std::to_string(count);
      return std::nullopt;
    }
  }
  int64_t expected = integerOf(*metadata, "split.tensors.count", -1);
  if (expected < 0 || uint64_t(expected) == tensors.size())
    return metadata;
  error = "expected " + std::to_string(expected) + " tensors in all parts, got " + std::to_string(tensors.size());
  return std::nullopt;
}
} // namespace perpend::checkpoint
