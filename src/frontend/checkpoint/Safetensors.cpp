//===- Safetensors.cpp - reads safetensors files --------------------------===//

#include "frontend/checkpoint/Safetensors.h"
#include "frontend/checkpoint/Json.h"
#include "support/MappedFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

namespace perpend::checkpoint {
namespace json = llvm::json;

/// The limit of the format's own library.
static constexpr uint64_t longestHeader = 100'000'000;

/// One tensor of a header. Errors: nullopt, and a message behind "tensor 'x': ".
static std::optional<StoredTensor> readEntry(StringRef name, const json::Value &value, StringRef data,
                                             std::string &error) {
  const json::Object *entry = value.getAsObject();
  const json::Array *shape = entry ? entry->getArray("shape") : nullptr,
                    *offsets = entry ? entry->getArray("data_offsets") : nullptr;
  std::optional<StringRef> type = entry ? entry->getString("dtype") : std::nullopt;
  if (!shape || !offsets || !type || offsets->size() != 2) {
    error = "expected dtype, shape and two data_offsets";
    return std::nullopt;
  }
  std::optional<Encoding> encoding = encodingOfSafetensors(*type);
  if (!encoding) {
    error = ("its type '" + *type + "' is unknown").str();
    return std::nullopt;
  }
  StoredTensor tensor{name.str(), *encoding, {}, {}, {}};
  for (const json::Value &extent : *shape)
    tensor.shape.push_back(extent.getAsInteger().value_or(-1));
  std::optional<uint64_t> size = sizeOf(*encoding, tensor.shape, error);
  if (!size)
    return std::nullopt;
  std::optional<uint64_t> begin = (*offsets)[0].getAsUINT64(), end = (*offsets)[1].getAsUINT64();
  if (!begin || !end || *begin > *end || *end - *begin != *size) {
    error = "expected data_offsets that are " + std::to_string(*size) + " bytes apart for " + describe(tensor);
    return std::nullopt;
  }
  if (*end > data.size()) {
    error = "its bytes end at byte " + std::to_string(*end) + " of the data, the file has " +
            std::to_string(data.size()) + "\nhint: the file may be cut off; download it again";
    return std::nullopt;
  }
  tensor.bytes = data.slice(*begin, *end);
  return tensor;
}

/// The tensors must lie side by side and fill the file. Errors: false, and a message.
static bool coverData(ArrayRef<StoredTensor> tensors, StringRef data, std::string &error) {
  std::vector<const StoredTensor *> order;
  for (const StoredTensor &tensor : tensors)
    order.push_back(&tensor);
  llvm::sort(order, [](const StoredTensor *one, const StoredTensor *other) {
    return std::pair(one->bytes.begin(), one->bytes.end()) < std::pair(other->bytes.begin(), other->bytes.end());
  });
  const char *at = data.begin();
  for (const StoredTensor *tensor : order) {
    if (tensor->bytes.begin() != at) {
      error = "tensor '" + tensor->name + "': expected its bytes from byte " + std::to_string(at - data.begin()) +
              " of the data on, where the tensor before it ends, got " +
              std::to_string(tensor->bytes.begin() - data.begin());
      return false;
    }
    at = tensor->bytes.end();
  }
  if (at == data.end())
    return true;
  error = "the tensors end at byte " + std::to_string(at - data.begin()) + " of the data, the file has " +
          std::to_string(data.size());
  return false;
}

static std::optional<StringRef> headerOf(StringRef bytes, std::string &error) {
  if (bytes.size() < sizeof(uint64_t)) {
    error = "expected a header's length in 8 bytes, got a file of " + std::to_string(bytes.size()) +
            "\nhint: the file may be cut off; download it again";
    return std::nullopt;
  }
  uint64_t length = llvm::support::endian::read64le(bytes.data()), rest = bytes.size() - sizeof(length);
  if (length <= rest && length <= longestHeader)
    return bytes.substr(sizeof(length), length);
  error = "expected a header of at most " + std::to_string(std::min(rest, longestHeader)) + " bytes, got " +
          std::to_string(length) + "\nhint: the file may be cut off or no safetensors file; download it again";
  return std::nullopt;
}

bool readSafetensors(std::shared_ptr<llvm::MemoryBuffer> file, StoredTensors &tensors, std::string &error) {
  StringRef bytes = file->getBuffer();
  std::optional<StringRef> header = headerOf(bytes, error);
  std::optional<json::Object> entries = header ? parseObject(*header, error) : std::nullopt;
  if (!entries)
    return false;
  StringRef data = bytes.drop_front(sizeof(uint64_t) + header->size());
  std::vector<StoredTensor> found;
  for (const auto &[key, value] : *entries) {
    StringRef name = key;
    if (name == "__metadata__")
      continue;
    std::optional<StoredTensor> tensor = readEntry(name, value, data, error);
    if (!tensor)
      return error = "tensor '" + name.str() + "': " + error, false;
    tensor->file = file;
    found.push_back(std::move(*tensor));
  }
  if (!coverData(found, data, error))
    return false;
  return llvm::all_of(found, [&](StoredTensor &tensor) { return tensors.add(std::move(tensor), error); });
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

static std::string pathIn(StringRef folder, StringRef name) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

static bool readFile(StringRef folder, StringRef name, StoredTensors &tensors, std::string &error) {
  auto file = support::mapFile(pathIn(folder, name));
  if (!file)
    return error = "cannot read '" + name.str() + "': " + file.getError().message(), false;
  if (readSafetensors(std::move(*file), tensors, error))
    return true;
  error = "'" + name.str() + "': " + error;
  return false;
}

/// The file of each tensor. Errors: nullopt, and a message.
static std::optional<std::map<std::string, std::string>> readIndex(const std::string &path, std::string &error) {
  auto file = support::mapFile(path);
  if (!file)
    return error = "cannot read the index: " + file.getError().message(), std::nullopt;
  std::optional<json::Object> index = parseObject((*file)->getBuffer(), error);
  const json::Object *map = index ? index->getObject("weight_map") : nullptr;
  if (!map) {
    error = "the index: " + (index ? "expected a weight_map" : error);
    return std::nullopt;
  }
  std::map<std::string, std::string> files;
  for (const auto &[tensor, value] : *map) {
    StringRef name = value.getAsString().value_or("");
    if (name.empty() || name.contains('/') || name == "." || name == ".." || name.contains('\0')) {
      error = ("the index: tensor '" + StringRef(tensor) + "': expected the name of a file in the folder, got '" +
               name + "'")
                  .str();
      return std::nullopt;
    }
    files[StringRef(tensor).str()] = name.str();
  }
  return files;
}

bool readSafetensorsFolder(StringRef folder, StoredTensors &tensors, std::string &error) {
  std::string index = pathIn(folder, "model.safetensors.index.json");
  if (!llvm::sys::fs::exists(index)) {
    if (llvm::sys::fs::exists(pathIn(folder, "model.safetensors")))
      return readFile(folder, "model.safetensors", tensors, error);
    error = "expected model.safetensors or model.safetensors.index.json in the folder\nhint: write the weights with "
            "model.save_pretrained(folder)";
    return false;
  }
  std::optional<std::map<std::string, std::string>> files = readIndex(index, error);
  if (!files)
    return false;
  std::set<std::string> shards;
  for (const auto &[tensor, name] : *files)
    shards.insert(name);
  for (const std::string &name : shards)
    if (!readFile(folder, name, tensors, error))
      return false;
  for (const auto &[tensor, name] : *files)
    if (!tensors.has(tensor))
      return error = "the index has the tensor '" + tensor + "' in '" + name + "', which is not there", false;
  return true;
}
} // namespace perpend::checkpoint
