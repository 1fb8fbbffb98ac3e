// Instruction sets supported by this processor and operating system, by LLVM feature name.
#ifndef PERPEND_RUNTIME_ISA_H
#define PERPEND_RUNTIME_ISA_H
#include <cstddef>

namespace perpend::runtime {

// Whether the table lists the name. The compiler writes only such names into a descriptor.
bool isKnownInstructionSet(const char *name);

// False for names that are not in the table.
bool hasInstructionSet(const char *name);

// Requests state that the operating system grants on demand (AMX tiles). False if it refuses.
bool requestInstructionSet(const char *name);

} // namespace perpend::runtime
#endif
