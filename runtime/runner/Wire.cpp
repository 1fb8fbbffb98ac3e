#include "runner/Wire.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace perpend::runtime {

bool sendBytes(int file, const void *bytes, size_t count) {
  const auto *at = static_cast<const char *>(bytes);
  while (count > 0) {
    ssize_t done = send(file, at, count, MSG_NOSIGNAL);
    if (done < 0 && errno == ENOTSOCK)
      done = write(file, at, count);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    at += done;
    count -= static_cast<size_t>(done);
  }
  return true;
}

bool receiveBytes(int file, void *bytes, size_t count) {
  auto *at = static_cast<char *>(bytes);
  while (count > 0) {
    ssize_t done = read(file, at, count);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    at += done;
    count -= static_cast<size_t>(done);
  }
  return true;
}

bool sendWord(int file, uint64_t word) { return sendBytes(file, &word, sizeof word); }
bool receiveWord(int file, uint64_t &word) { return receiveBytes(file, &word, sizeof word); }

bool sendText(int file, const char *text, size_t count) {
  return sendWord(file, count) && sendBytes(file, text, count);
}

char *receiveText(int file, size_t &count) {
  uint64_t bytes = 0;
  if (!receiveWord(file, bytes) || bytes == UINT64_MAX)
    return nullptr;
  auto *text = static_cast<char *>(malloc(bytes + 1));
  if (text && !receiveBytes(file, text, bytes)) {
    free(text);
    return nullptr;
  }
  count = bytes;
  if (text)
    text[bytes] = '\0';
  return text;
}

static bool isList(perpend_type type) { return type == PERPEND_SEQUENCE || type == PERPEND_OPTIONAL; }

static size_t elementCount(const perpend_tensor &tensor) {
  size_t count = 1;
  for (int32_t i = 0; i < tensor.rank; ++i)
    count *= static_cast<size_t>(tensor.shape[i]);
  return count;
}

static size_t elementBytes(const perpend_tensor &tensor) {
  return static_cast<size_t>(perpend_type_size_bytes(tensor.type));
}

static bool sendElements(int file, const perpend_tensor &tensor) {
  if (isList(tensor.type)) {
    const auto &list = *static_cast<const perpend_sequence *>(tensor.data);
    bool isGood = sendWord(file, static_cast<uint64_t>(list.count));
    for (int64_t i = 0; isGood && i < list.count; ++i)
      isGood = sendTensor(file, list.elements[i]);
    return isGood;
  }
  size_t count = elementCount(tensor);
  if (tensor.type != PERPEND_STRING)
    return sendBytes(file, tensor.data, count * elementBytes(tensor));
  const auto *texts = static_cast<const perpend_string *>(tensor.data);
  bool isGood = true;
  for (size_t i = 0; isGood && i < count; ++i)
    isGood = sendText(file, texts[i].data, static_cast<size_t>(texts[i].sizeBytes));
  return isGood;
}

bool sendTensor(int file, const perpend_tensor &tensor) {
  return sendWord(file, tensor.type) && sendWord(file, static_cast<uint64_t>(tensor.rank)) &&
         sendBytes(file, tensor.shape, static_cast<size_t>(tensor.rank) * sizeof(int64_t)) &&
         sendWord(file, tensor.data != nullptr) && (!tensor.data || sendElements(file, tensor));
}

static bool receiveList(int file, perpend_tensor &tensor) {
  uint64_t count = 0;
  if (!receiveWord(file, count))
    return false;
  auto *list = static_cast<perpend_sequence *>(calloc(1, sizeof(perpend_sequence)));
  auto *elements = static_cast<perpend_tensor *>(calloc(count + 1, sizeof(perpend_tensor)));
  tensor.data = list;
  if (!list || !elements) {
    free(elements);
    return false;
  }
  *list = {elements, 0};
  bool isGood = true;
  for (; isGood && list->count < static_cast<int64_t>(count); ++list->count)
    isGood = receiveTensor(file, elements[list->count]);
  return isGood;
}

static bool receiveElements(int file, perpend_tensor &tensor) {
  if (isList(tensor.type))
    return receiveList(file, tensor);
  size_t count = elementCount(tensor), bytes = elementBytes(tensor);
  tensor.data = calloc(count + 1, bytes); // a run asks no more than malloc's alignment of its inputs
  if (!tensor.data || tensor.type != PERPEND_STRING)
    return tensor.data && receiveBytes(file, tensor.data, count * bytes);
  auto *texts = static_cast<perpend_string *>(tensor.data);
  for (size_t i = 0; i < count; ++i) {
    size_t length = 0;
    texts[i].data = receiveText(file, length);
    if (!texts[i].data)
      return false;
    texts[i].sizeBytes = static_cast<int64_t>(length);
  }
  return true;
}

bool receiveTensor(int file, perpend_tensor &tensor) {
  uint64_t type = 0, rank = 0, hasData = 0;
  tensor = {};
  if (!receiveWord(file, type) || type >= PERPEND_TYPE_COUNT || !receiveWord(file, rank) || rank > PERPEND_MAX_RANK)
    return false;
  auto *shape = static_cast<int64_t *>(calloc(rank + 1, sizeof(int64_t)));
  tensor = {nullptr, shape, static_cast<int32_t>(rank), static_cast<perpend_type>(type)};
  return shape && receiveBytes(file, shape, rank * sizeof(int64_t)) && receiveWord(file, hasData) &&
         (!hasData || receiveElements(file, tensor));
}

void freeTensor(perpend_tensor &tensor) {
  if (tensor.data && isList(tensor.type)) {
    auto &list = *static_cast<perpend_sequence *>(tensor.data);
    auto *elements = const_cast<perpend_tensor *>(list.elements);
    for (int64_t i = 0; i < list.count; ++i)
      freeTensor(elements[i]);
    free(elements);
  } else if (tensor.data && tensor.type == PERPEND_STRING) {
    auto *texts = static_cast<perpend_string *>(tensor.data);
    for (size_t i = 0, count = elementCount(tensor); i < count; ++i)
      free(const_cast<char *>(texts[i].data));
  }
  free(tensor.data);
  free(const_cast<int64_t *>(tensor.shape));
  tensor = {};
}

} // namespace perpend::runtime
