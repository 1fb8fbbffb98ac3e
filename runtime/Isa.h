// Instruction sets supported by this processor and operating system, by LLVM feature name.
#ifndef PERPEND_RUNTIME_ISA_H
#define PERPEND_RUNTIME_ISA_H
#include <cstddef>

namespace perpend::runtime {

// False for names that the table does not list: what nobody can check is not there.
bool hasInstructionSet(const char *name);

// Requests state that the operating system grants on demand (AMX tiles). False if it refuses.
bool requestInstructionSet(const char *name);

} // namespace perpend::runtime
#endif
