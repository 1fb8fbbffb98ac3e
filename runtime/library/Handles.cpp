// Strings and lists at a model's interface, and their lifetime across runs.
#include "library/Handles.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace perpend::library {

perpend_status refuse(perpend_handles &handles, perpend_status status, const char *format, ...) {
  char text[500];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  handles.fail(status, text);
  return status;
}

int64_t checkedCount(const perpend_tensor &tensor) {
  int64_t count = 1;
  bool isEmpty = false, overflows = false;
  for (int32_t i = 0; i < tensor.rank; ++i) {
    isEmpty |= tensor.shape[i] == 0;
    overflows |= tensor.shape[i] < 0 || __builtin_mul_overflow(count, tensor.shape[i], &count);
  }
  return isEmpty ? 0 : overflows ? -1 : count;
}

namespace {

perpend_status failMemory(perpend_handles &handles) {
  return refuse(handles, PERPEND_OUT_OF_MEMORY, "no memory for texts or lists");
}

// Checks that a list's element is as the model declares.
perpend_status checkElement(perpend_handles &handles, const perpend_tensor &element, const perpend_tensor_info &list) {
  const perpend_tensor_info *info = list.element;
  if (element.rank < 0 || element.rank > PERPEND_MAX_RANK || (element.rank && !element.shape))
    return refuse(handles, PERPEND_INVALID_ARGUMENT, "input '%.60s': an element of the list has no shape", list.name);
  if (info && info->type != element.type)
    return refuse(handles, PERPEND_TYPE_MISMATCH, "input '%.60s': type of an element of the list: expected %s, got %s",
                  list.name, perpend_type_name(info->type), perpend_type_name(element.type));
  if (info && info->rank >= 0 && info->rank != element.rank)
    return refuse(handles, PERPEND_INVALID_ARGUMENT,
                  "input '%.60s': rank of an element of the list: expected %d, got %d", list.name, info->rank,
                  element.rank);
  for (int32_t i = 0; i < element.rank; ++i)
    if (element.shape[i] < 0 || (info && info->rank >= 0 && info->dims[i] >= 0 && info->dims[i] != element.shape[i]))
      return refuse(handles, PERPEND_SHAPE_MISMATCH, "input '%.60s': dimension %d of an element of the list: got %lld",
                    list.name, i, static_cast<long long>(element.shape[i]));
  if (!element.data && checkedCount(element) != 0)
    return refuse(handles, PERPEND_INVALID_ARGUMENT, "input '%.60s': an element of the list has no data", list.name);
  return PERPEND_OK;
}

int64_t takeList(perpend_handles &handles, const perpend_sequence &given, const perpend_tensor_info &info,
                 perpend_status &status) {
  int64_t list = 0;
  if (given.count < 0 || (given.count && !given.elements) || (info.type == PERPEND_OPTIONAL && given.count > 1))
    status =
        refuse(handles, PERPEND_INVALID_ARGUMENT, "input '%.60s': expected %s, got %lld elements", info.name,
               info.type == PERPEND_OPTIONAL ? "one element or none" : "a list", static_cast<long long>(given.count));
  for (int64_t i = 0; i < given.count && status == PERPEND_OK; ++i) {
    perpend_tensor element = given.elements[i];
    status = checkElement(handles, element, info);
    if (status != PERPEND_OK)
      break;
    perpend_tensor_info any{info.name, element.type, element.rank, nullptr, nullptr, nullptr};
    element.data = const_cast<void *>(takeData(handles, element, info.element ? *info.element : any, status));
    if (status == PERPEND_OK && (list = handles.lists.insert(list, i, element)) < 0)
      status = failMemory(handles);
  }
  return list;
}

} // namespace

const void *takeData(perpend_handles &handles, const perpend_tensor &given, const perpend_tensor_info &info,
                     perpend_status &status) {
  if (!isHandle(given.type))
    return given.data;
  int64_t count = checkedCount(given);
  auto *words = count < 0 ? nullptr : handles.boundary.allocateArray<int64_t>(count);
  if (!words) {
    status = failMemory(handles);
    return nullptr;
  }
  for (int64_t i = 0; i < count && status == PERPEND_OK; ++i) {
    if (given.type != PERPEND_STRING) {
      words[i] = takeList(handles, static_cast<const perpend_sequence *>(given.data)[i], info, status);
      continue;
    }
    const perpend_string &text = static_cast<const perpend_string *>(given.data)[i];
    if (text.sizeBytes < 0 || (text.sizeBytes && !text.data))
      status =
          refuse(handles, PERPEND_INVALID_ARGUMENT, "input '%.60s': a text has no data", info.name ? info.name : "");
    else if ((words[i] = handles.texts.identityOf(text.data, text.sizeBytes)) < 0)
      status = failMemory(handles);
  }
  return words;
}

namespace {

bool giveList(perpend_handles &handles, int64_t list, perpend_sequence &result) {
  int64_t count = handles.lists.countOf(list);
  auto *elements = handles.boundary.allocateArray<perpend_tensor>(count);
  if (!elements)
    return false;
  for (int64_t i = 0; i < count; ++i) {
    elements[i] = *handles.lists.elementOf(list, i);
    if (!(elements[i].data = giveData(handles, elements[i])))
      return false;
  }
  result = {elements, count};
  return true;
}

} // namespace

void *giveData(perpend_handles &handles, const perpend_tensor &tensor) {
  if (!isHandle(tensor.type))
    return tensor.data;
  int64_t count = checkedCount(tensor);
  const auto *words = static_cast<const int64_t *>(tensor.data);
  if (tensor.type == PERPEND_STRING) {
    auto *texts = handles.boundary.allocateArray<perpend_string>(count);
    for (int64_t i = 0; texts && i < count; ++i)
      texts[i] = handles.texts.textOf(words[i]);
    return texts;
  }
  auto *lists = handles.boundary.allocateArray<perpend_sequence>(count);
  for (int64_t i = 0; lists && i < count; ++i)
    if (!giveList(handles, words[i], lists[i]))
      return nullptr;
  return lists;
}

namespace {

void destroy(perpend_handles *handles) {
  handles->~perpend_handles();
  free(handles);
}

perpend_handles *create(const perpend_module *module, int32_t (*fail)(int32_t status, const char *text)) {
  void *memory = malloc(sizeof(perpend_handles));
  if (!memory)
    return nullptr;
  auto *handles = new (memory) perpend_handles();
  const auto *tables = reinterpret_cast<const char *>(module->tables);
  const perpend_records &records = module->tables->texts;
  const auto *constants = reinterpret_cast<const perpend_text_record *>(tables + records.position);
  bool areThere = records.count || handles->texts.addConstant({"", 0});
  for (uint32_t i = 0; i < records.count && areThere; ++i)
    areThere = handles->texts.addConstant({tables + constants[i].position, constants[i].bytes});
  if (!areThere) {
    destroy(handles);
    return nullptr;
  }
  handles->constantTexts = handles->texts.count();
  handles->fail = fail;
  return handles;
}

void begin(perpend_handles *handles, int32_t keepsLatest) {
  handles->lists.nextRun(keepsLatest);
  handles->texts.nextRun(handles->constantTexts, keepsLatest);
  handles->boundary.nextRun(keepsLatest);
}

int32_t take(perpend_handles *handles, const perpend_tensor *given, const perpend_tensor_info *info,
             const void **data) {
  perpend_status status = PERPEND_OK;
  *data = takeData(*handles, *given, *info, status);
  return status;
}

int32_t give(perpend_handles *handles, perpend_tensor *tensor) {
  auto *shape = handles->boundary.allocateArray<int64_t>(tensor->rank); // a copy: the session's shape will change
  if (!shape)
    return failMemory(*handles);
  std::copy_n(tensor->shape, tensor->rank, shape);
  tensor->shape = shape;
  tensor->data = giveData(*handles, *tensor);
  return tensor->data ? PERPEND_OK : failMemory(*handles);
}

int32_t owns(perpend_handles *handles, const void *data) { return handles->boundary.contains(data); }

} // namespace
} // namespace perpend::library

extern "C" const perpend_handle_functions perpend_handle_functions_v1 = {
    perpend::library::create, perpend::library::destroy, perpend::library::begin,
    perpend::library::take,   perpend::library::give,    perpend::library::owns};
