//===- TensorFile.cpp - arrays for the measuring program ------------------===//

#include "tune/TensorFile.h"

#include <cstdio>
#include <memory>

namespace perpend::tune {
namespace {
struct Close {
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;
} // namespace

static int64_t bytesOf(perpend_type type, const int64_t *shape, int64_t rank) {
  int64_t bytes = perpend_type_size_bytes(type);
  for (int64_t i = 0; i < rank; ++i)
    if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &bytes))
      return -1;
  return bytes;
}

template <typename T> static bool writeAll(std::FILE *file, const T *values, size_t count) {
  return std::fwrite(values, sizeof(T), count, file) == count;
}

template <typename T> static bool readAll(std::FILE *file, T *values, size_t count) {
  return std::fread(values, sizeof(T), count, file) == count;
}

bool writeTensors(const char *path, const std::vector<perpend_tensor> &tensors) {
  File file(std::fopen(path, "wb"));
  for (const perpend_tensor &tensor : tensors) {
    int64_t head[] = {tensor.type, tensor.rank};
    int64_t bytes = bytesOf(tensor.type, tensor.shape, tensor.rank);
    if (!file || bytes < 0 || !writeAll(file.get(), head, 2) ||
        !writeAll(file.get(), tensor.shape, static_cast<size_t>(tensor.rank)) ||
        !writeAll(file.get(), static_cast<const std::byte *>(tensor.data), static_cast<size_t>(bytes)))
      return false;
  }
  return file && std::fflush(file.get()) == 0;
}

bool readTensors(const char *path, std::vector<StoredTensor> &tensors) {
  constexpr int64_t mostBytes = int64_t{1} << 34;
  File file(std::fopen(path, "rb"));
  if (!file)
    return false;
  int64_t head[2];
  while (std::fread(head, sizeof(int64_t), 2, file.get()) == 2) {
    StoredTensor &tensor = tensors.emplace_back();
    tensor.type = static_cast<perpend_type>(head[0]);
    if (head[1] < 0 || head[1] > PERPEND_MAX_RANK)
      return false;
    tensor.shape.resize(static_cast<size_t>(head[1]));
    if (!readAll(file.get(), tensor.shape.data(), tensor.shape.size()))
      return false;
    int64_t bytes = bytesOf(tensor.type, tensor.shape.data(), head[1]);
    if (bytes < 0 || bytes > mostBytes)
      return false;
    tensor.bytes.resize(static_cast<size_t>(bytes));
    if (!readAll(file.get(), tensor.bytes.data(), tensor.bytes.size()))
      return false;
  }
  return std::feof(file.get()) != 0;
}
} // namespace perpend::tune
