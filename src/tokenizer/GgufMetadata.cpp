//===- GgufMetadata.cpp - reads the metadata of GGUF files ----------------===//

#include "tokenizer/Gguf.h"
#include "tokenizer/Refusal.h"

#include "llvm/Support/Endian.h"

namespace perpend::tokenizer {
namespace {

enum ValueType : uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64, TypeCount };
constexpr uint64_t sizes[TypeCount] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8}; // of texts and lists: at least

/// Errors are sticky: after the first one everything that is read is 0.
class Reader {
public:
  explicit Reader(llvm::StringRef bytes) : rest(bytes) {}

  llvm::Expected<Metadata> read();

private:
  uint64_t number(uint64_t bytes);
  llvm::StringRef text();
  MetadataValue value(uint32_t type);
  MetadataValue list();
  int64_t integer(uint32_t type);
  double floating(uint32_t type);
  void expect(bool holds) { damaged |= !holds; }

  llvm::StringRef rest;
  bool damaged = false;
};

uint64_t Reader::number(uint64_t bytes) {
  expect(bytes <= rest.size());
  if (damaged)
    return 0;
  uint64_t result = 0;
  for (uint64_t i = bytes; i-- > 0;)
    result = result << 8 | static_cast<unsigned char>(rest[i]);
  rest = rest.drop_front(bytes);
  return result;
}

llvm::StringRef Reader::text() {
  const uint64_t bytes = number(8);
  expect(bytes <= rest.size());
  const llvm::StringRef taken = rest.take_front(damaged ? 0 : bytes);
  rest = rest.drop_front(taken.size());
  return taken;
}

int64_t Reader::integer(uint32_t type) {
  const uint64_t bits = number(sizes[type]);
  const auto unused = static_cast<unsigned>(64 - 8 * sizes[type]);
  const bool isSigned = type == I8 || type == I16 || type == I32;
  return isSigned ? static_cast<int64_t>(bits << unused) >> unused : static_cast<int64_t>(bits);
}

double Reader::floating(uint32_t type) {
  return type == F32 ? static_cast<double>(llvm::bit_cast<float>(static_cast<uint32_t>(number(4))))
                     : llvm::bit_cast<double>(number(8));
}

MetadataValue Reader::list() {
  const auto type = static_cast<uint32_t>(number(4));
  const uint64_t count = number(8);
  expect(type < TypeCount && type != Array);
  expect(damaged || count <= rest.size() / sizes[type]);
  const uint64_t read = damaged ? 0 : count;
  if (type == String) {
    std::vector<llvm::StringRef> texts;
    for (uint64_t i = 0; i < read && !damaged; ++i)
      texts.push_back(text());
    return texts;
  }
  if (type == F32 || type == F64) {
    std::vector<double> numbers;
    for (uint64_t i = 0; i < read; ++i)
      numbers.push_back(floating(type));
    return numbers;
  }
  std::vector<int64_t> numbers;
  for (uint64_t i = 0; i < read; ++i)
    numbers.push_back(integer(type));
  return numbers;
}

MetadataValue Reader::value(uint32_t type) {
  expect(type < TypeCount);
  if (damaged)
    return int64_t{0};
  switch (type) {
  case String:
    return text();
  case Array:
    return list();
  case F32:
  case F64:
    return floating(type);
  case Bool:
    return number(1) != 0;
  default:
    return integer(type);
  }
}

llvm::Expected<Metadata> Reader::read() {
  const char *hint = "the file may be damaged; fetch it again";
  rest.consume_front("GGUF");
  const uint64_t version = number(4);
  if (version != 2 && version != 3)
    return refuse("expected a GGUF file of version 2 or 3 and little-endian, got version " + llvm::Twine(version),
                  hint);
  number(8); // tensors
  const uint64_t count = number(8);
  expect(count <= rest.size() / 13);
  Metadata metadata;
  std::string key;
  for (uint64_t i = 0; i < count && !damaged; ++i) {
    key = text().str();
    const auto type = static_cast<uint32_t>(number(4));
    if (!metadata.try_emplace(key, value(type)).second)
      return refuse("expected each key once, got '" + key + "' twice", hint);
  }
  if (damaged)
    return refuse("expected GGUF metadata, got something else behind the key '" + key + "'", hint);
  return metadata;
}

} // namespace

llvm::Expected<Metadata> readGgufMetadata(llvm::StringRef bytes) { return Reader(bytes).read(); }
} // namespace perpend::tokenizer
