// What the compiler notes of a linked artifact, so that damage is found before the artifact runs. The checksum of the
// weights stands in the tables; everything else that is loaded is here.
#ifndef PERPEND_RUNTIME_SEAL_H
#define PERPEND_RUNTIME_SEAL_H
#include "include/perpend.h"
#include <cstdint>

namespace perpend::runtime {

// In every artifact, as linking leaves it: code and constants where they lie in memory, unchanged by the dynamic
// linker. All 0 where no compiler has linked the runtime.
struct Seal {
  struct Range {
    int64_t distance; // bytes from the seal to the first
    uint64_t bytes;
  } ranges[4];
  uint32_t checksum; // CRC-32C of the ranges, one after the other
  uint32_t isSet;
};

// Compares the object that this is linked into with its seal, if it has one. Errors: CORRUPT.
perpend_status verifySeal();

// "WHAT: checksum: expected ..., got ...". Errors: CORRUPT.
perpend_status compareChecksum(const char *what, uint32_t expected, uint32_t got);

#define PERPEND_SEAL_SECTION ".perpend.seal"

// The last bytes of a shared library.
struct FileSeal {
  char magic[16];
  uint64_t weightsBegin, weightsEnd; // in the file; the same where there are none
  uint32_t unused;
  uint32_t checksum; // CRC-32C of the file up to here, the weights left out
};
inline constexpr char fileSealMagic[16] = {'p', 'e', 'r', 'p', 'e',  'n',  'd',    ' ',
                                           's', 'e', 'a', 'l', '\r', '\n', '\x1a', '\0'};

} // namespace perpend::runtime
#endif
