// Which instruction sets this processor and operating system offer, by LLVM feature name.
#ifndef PERPEND_RUNTIME_ISA_H
#define PERPEND_RUNTIME_ISA_H
#include <cstddef>

namespace perpend::runtime {

// Whether the table lists the name. The compiler writes only such names into a descriptor.
bool isKnownInstructionSet(const char *name);

// False for names that the table does not list.
bool hasInstructionSet(const char *name);

// Asks the operating system for state that must be requested (AMX tiles). False when it refuses.
bool requestInstructionSet(const char *name);

} // namespace perpend::runtime
#endif
