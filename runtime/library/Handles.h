// The strings and lists of a session, for models with such values or with calls of library functions.
#ifndef PERPEND_RUNTIME_LIBRARY_HANDLES_H
#define PERPEND_RUNTIME_LIBRARY_HANDLES_H
#include "Types.h"
#include "include/perpend_module.h"
#include "library/KeptTables.h"
#include "library/ListTable.h"
#include "library/StringTable.h"

struct perpend_handles {
  perpend::library::StringTable texts;
  perpend::library::ListTable lists;
  int64_t constantTexts = 0;
  int32_t (*fail)(int32_t status, const char *text) = nullptr;
  perpend::library::RunMemory boundary; // converted inputs and outputs
  perpend::library::MemoryPool calls;   // tables of the library call in progress
  perpend::library::KeptTables kept;    // tables of all calls
};

namespace perpend::library {

using runtime::isHandle;

// Records a message, like printf; returns the status.
__attribute__((format(printf, 3, 4))) perpend_status refuse(perpend_handles &handles, perpend_status status,
                                                            const char *format, ...);

// The number of elements of an array; -1 if it exceeds 63 bits.
int64_t checkedCount(const perpend_tensor &tensor);

// Converts an array's strings and lists to identities and handles; returns the array's own data for numbers. Null: out
// of memory, or a mismatch with the model's declaration (the message is set). Errors: see perpend_handle_functions.
const void *takeData(perpend_handles &handles, const perpend_tensor &given, const perpend_tensor_info &info,
                     perpend_status &status);

// The inverse: strings and lists as users see them.
void *giveData(perpend_handles &handles, const perpend_tensor &tensor);

} // namespace perpend::library
#endif
