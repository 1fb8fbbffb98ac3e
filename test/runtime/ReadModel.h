// Opens a model of any tables and reads all that the interface hands out, so that a sanitizer sees each access.
#ifndef PERPEND_TEST_READ_MODEL_H
#define PERPEND_TEST_READ_MODEL_H
#include "perpend_module.h"
#include <cstdlib>
#include <cstring>

namespace fake {

// Reads through volatile, so that nothing is left out.
inline size_t lengthOf(const char *text) {
  size_t length = 0;
  for (const volatile char *c = text; *c; ++c)
    ++length;
  return length;
}

inline size_t readTensor(const perpend_tensor_info *info) {
  size_t read = 0;
  for (bool isElement = false; info; info = info->element, isElement = true) {
    read += isElement ? 0 : lengthOf(info->name);
    read += lengthOf(perpend_type_name(info->type));
    for (int32_t dim = 0; dim < info->rank; ++dim)
      read += lengthOf(info->dimTexts[dim]) + (info->dims[dim] >= 0);
  }
  return read;
}

inline perpend_status readModel(const perpend_module &module) {
  perpend_model *model = nullptr;
  const perpend_status status = perpend_model_from_module(&module, &model);
  if (status != PERPEND_OK)
    return status;
  size_t read = lengthOf(perpend_model_name(model)) + lengthOf(perpend_model_descriptor(model));
  for (int32_t i = 0; i < perpend_model_input_count(model); ++i)
    read += readTensor(perpend_model_input(model, i));
  for (int32_t i = 0; i < perpend_model_output_count(model); ++i)
    read += readTensor(perpend_model_output(model, i));
  for (int32_t i = 0; i < perpend_model_kernel_count(model); ++i)
    read += lengthOf(perpend_model_kernel_name(model, i));
  perpend_model_free(model);
  return read == static_cast<size_t>(-1) ? PERPEND_CORRUPT : PERPEND_OK;
}

// `module` with these tables, in memory that ends where they do.
inline perpend_status readModel(perpend_module module, const char *tables, size_t bytes) {
  auto *copy = static_cast<char *>(malloc(bytes ? bytes : 1)); // aligned to 16
  memcpy(copy, tables, bytes);
  module.tables = reinterpret_cast<const perpend_tables *>(copy);
  module.tablesBytes = static_cast<uint32_t>(bytes);
  const perpend_status status = readModel(module);
  free(copy);
  return status;
}

} // namespace fake
#endif
