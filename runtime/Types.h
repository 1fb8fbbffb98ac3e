// The element types: one table of names and sizes, indexed by perpend_type.
#ifndef PERPEND_RUNTIME_TYPES_H
#define PERPEND_RUNTIME_TYPES_H
#include "include/perpend.h"

namespace perpend::runtime {

// Strings, lists and optional values.
inline bool isHandle(perpend_type type) { return type >= PERPEND_STRING && type <= PERPEND_OPTIONAL; }
// The type of an element inside a run: strings are identities, lists are handles.
inline perpend_type runType(perpend_type type) { return isHandle(type) ? PERPEND_I64 : type; }

inline bool isType(perpend_type type) { return static_cast<uint32_t>(type) < PERPEND_TYPE_COUNT; }

// Finds the type of this name; false if there is none.
bool findType(const char *name, perpend_type &type);

// elements * sizeBytes(type) of a shape; false for negative extents or beyond 63 bits.
bool tensorBytes(const int64_t *dims, int32_t rank, perpend_type type, int64_t &bytes);

} // namespace perpend::runtime
#endif
