// The texts and lists of a session, for models that have such values or call library functions.
#ifndef PERPEND_RUNTIME_LIBRARY_HANDLES_H
#define PERPEND_RUNTIME_LIBRARY_HANDLES_H
#include "Types.h"
#include "include/perpend_module.h"
#include "library/ListTable.h"
#include "library/StringTable.h"

struct perpend_handles {
  perpend::library::StringTable texts;
  perpend::library::ListTable lists;
  int64_t constantTexts = 0;
  int32_t (*fail)(int32_t status, const char *text) = nullptr;
  perpend::library::RunMemory boundary; // inputs and outputs in the other form
  perpend::library::MemoryPool calls;   // tables of the library call in progress
};

namespace perpend::library {

using runtime::isHandle;

// Notes a message, as printf; returns the status.
__attribute__((format(printf, 3, 4))) perpend_status refuse(perpend_handles &handles, perpend_status status,
                                                            const char *format, ...);

// Of the elements of an array; -1 for more than 63 bits.
int64_t checkedCount(const perpend_tensor &tensor);

// The data of an array with identities and handles in place of texts and lists: that of the array itself for numbers.
// Null: no memory, or what is not as the model declares it (the message is set). Errors: see perpend_handle_functions.
const void *takeData(perpend_handles &handles, const perpend_tensor &given, const perpend_tensor_info &info,
                     perpend_status &status);

// The opposite: texts and lists as users see them.
void *giveData(perpend_handles &handles, const perpend_tensor &tensor);

} // namespace perpend::library
#endif
