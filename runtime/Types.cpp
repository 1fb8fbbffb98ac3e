// Names and sizes of the element types.
#include "Types.h"
#include <cstring>

namespace perpend::runtime {

struct TypeRow {
  char name[11];
  uint8_t sizeBytes;
};
static const TypeRow typeTable[PERPEND_TYPE_COUNT] = {
    {"f32", 4},
    {"f64", 8},
    {"f16", 2},
    {"bf16", 2},
    {"i8", 1},
    {"i16", 2},
    {"i32", 4},
    {"i64", 8},
    {"u8", 1},
    {"u16", 2},
    {"u32", 4},
    {"u64", 8},
    {"bool", 1},
    {"i4", 1},
    {"u4", 1},
    {"i2", 1},
    {"u2", 1},
    {"f8e4m3fn", 1},
    {"f8e4m3fnuz", 1},
    {"f8e5m2", 1},
    {"f8e5m2fnuz", 1},
    {"f8e8m0fnu", 1},
    {"f6e2m3fn", 1},
    {"f6e3m2fn", 1},
    {"f4e2m1fn", 1},
    {"string", sizeof(perpend_string)},
    {"sequence", sizeof(perpend_sequence)},
    {"optional", sizeof(perpend_sequence)},
};

bool findType(const char *name, perpend_type &type) {
  for (int i = 0; i < PERPEND_TYPE_COUNT; ++i)
    if (!strcmp(typeTable[i].name, name)) {
      type = static_cast<perpend_type>(i);
      return true;
    }
  return false;
}

bool tensorBytes(const int64_t *dims, int32_t rank, perpend_type type, int64_t &bytes) {
  bytes = perpend_type_size_bytes(type);
  bool isEmpty = false, overflows = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return false;
    isEmpty |= dims[i] == 0;
    overflows |= __builtin_mul_overflow(bytes, dims[i], &bytes);
  }
  if (isEmpty)
    bytes = 0;
  return isEmpty || !overflows;
}

} // namespace perpend::runtime

using namespace perpend::runtime;

const char *perpend_type_name(perpend_type type) { return isType(type) ? typeTable[type].name : "?"; }

int64_t perpend_type_size_bytes(perpend_type type) { return isType(type) ? typeTable[type].sizeBytes : 0; }
