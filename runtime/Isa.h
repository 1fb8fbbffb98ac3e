// Which instruction sets this processor and operating system offer, by LLVM feature name.
#ifndef PERPEND_RUNTIME_ISA_H
#define PERPEND_RUNTIME_ISA_H
#include <cstddef>

namespace perpend::runtime {

// False for names that the table does not list: what nobody can check is not there.
bool hasInstructionSet(const char *name);

// Asks the operating system for state that must be requested (AMX tiles). False when it refuses.
bool requestInstructionSet(const char *name);

} // namespace perpend::runtime
#endif
