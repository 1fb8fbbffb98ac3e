//===- StoredTensors.cpp - the tensors of a checkpoint, by name -----------===//

#include "frontend/checkpoint/StoredTensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::checkpoint {

static constexpr EncodingInfo table[] = {
#define ENCODING(NAME, GGUF, SAFETENSORS, ELEMENTS, BYTES) {#NAME, GGUF, SAFETENSORS, ELEMENTS, BYTES},
#include "frontend/checkpoint/Encodings.def"
};

const EncodingInfo &infoOf(Encoding encoding) { return table[static_cast<size_t>(encoding)]; }

static std::optional<Encoding> encodingWhere(llvm::function_ref<bool(const EncodingInfo &)> fits) {
  const auto *found = llvm::find_if(table, fits);
  return found == std::end(table) ? std::nullopt : std::optional(static_cast<Encoding>(found - table));
}

std::optional<Encoding> encodingOfGguf(uint32_t number) {
  return encodingWhere([&](const EncodingInfo &info) { return info.gguf >= 0 && uint32_t(info.gguf) == number; });
}

std::optional<Encoding> encodingOfSafetensors(StringRef name) {
  return encodingWhere([&](const EncodingInfo &info) { return !name.empty() && info.safetensors == name; });
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [index, extent] : llvm::enumerate(shape))
    text += (index ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::string describe(const StoredTensor &tensor) {
  return (infoOf(tensor.encoding).name + " " + shapeText(tensor.shape)).str();
}

std::optional<uint64_t> sizeOf(Encoding encoding, ArrayRef<int64_t> shape, std::string &error) {
  const EncodingInfo &info = infoOf(encoding);
  int64_t count = 1, bytes = 0;
  bool isTooLarge = false, isEmpty = llvm::is_contained(shape, 0);
  for (int64_t extent : shape) {
    if (extent < 0) {
      error = "expected extents of at least 0, got shape " + shapeText(shape);
      return std::nullopt;
    }
    isTooLarge |= llvm::MulOverflow(count, isEmpty ? 0 : extent, count);
  }
  int64_t row = shape.empty() ? 1 : shape.back();
  if (!isTooLarge && row % info.blockElements) {
    error = ("expected rows of whole blocks of " + Twine(info.blockElements) + " elements of type " + info.name +
             ", got shape " + shapeText(shape))
                .str();
    return std::nullopt;
  }
  isTooLarge = isTooLarge || llvm::MulOverflow(count / info.blockElements, info.blockBytes, bytes);
  if (!isTooLarge)
    return bytes;
  error = "its shape " + shapeText(shape) + " has more elements than 64 bits can count";
  return std::nullopt;
}

bool StoredTensors::add(StoredTensor tensor, std::string &error) {
  std::string name = tensor.name;
  if (tensors.try_emplace(name, Entry{std::move(tensor)}).second)
    return true;
  error = "two tensors have the name '" + name + "'";
  return false;
}

const StoredTensor *StoredTensors::find(StringRef name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second.tensor;
}

const StoredTensor *StoredTensors::use(StringRef name) {
  auto found = tensors.find(name);
  if (found == tensors.end())
    return nullptr;
  found->second.isUsed = true;
  return &found->second.tensor;
}

llvm::SmallVector<StringRef> StoredTensors::names() const {
  llvm::SmallVector<StringRef> all(tensors.keys());
  llvm::sort(all);
  return all;
}

llvm::SmallVector<StringRef> StoredTensors::unused() const {
  llvm::SmallVector<StringRef> all = names();
  llvm::erase_if(all, [&](StringRef name) { return tensors.find(name)->second.isUsed; });
  return all;
}
} // namespace perpend::checkpoint
