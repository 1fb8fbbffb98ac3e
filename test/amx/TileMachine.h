//===- TileMachine.h - instructions on tiles, in software -------*- C++ -*-===//
//
// The test library perpend_amx (Preload.cpp) is loaded into a process, with LD_PRELOAD or by linking, on an x86-64 that
// has no AMX. The instructions of AMX are illegal there; its handler executes them on a tile file of the thread:
//
//   ldtilecfg sttilecfg tilerelease tilezero tileloadd tileloaddt1 tilestored tdpbf16ps tdpbssd tdpbsud tdpbusd tdpbuud
//
// exactly as Intel's manual says, about a microsecond each. What the manual makes an exception of ends the process with
// a message, and so does any other illegal instruction, as without the library. In such a process the system grants the
// permission to use tiles, and models find that the processor has AMX (runtime/Isa.cpp).
//
//   PERPEND_AMX_COUNTS=FILE   at the end, what was executed is written there, a line each: "tdpbf16ps 64"; "configured"
//                             counts the threads whose tiles were not released
//   PERPEND_AMX_REFUSED=1     the system refuses the permission
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TEST_AMX_TILEMACHINE_H
#define PERPEND_TEST_AMX_TILEMACHINE_H

#include <cstdint>

namespace perpend::amx {

constexpr int tileCount = 8, mostRows = 16, mostBytes = 64;

struct Tile {
  uint8_t rows, rowBytes;
  uint8_t bytes[mostRows][mostBytes];
};

/// What ldtilecfg and sttilecfg have in memory.
struct Configuration {
  uint8_t palette, startRow, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(Configuration) == 64);

enum class Kind : uint8_t {
  Configure,
  StoreConfiguration,
  Release,
  Zero,
  Load,
  LoadOnce,
  Store, // on memory and tiles
  Bf16,
  SignedSigned,
  SignedUnsigned,
  UnsignedSigned,
  UnsignedUnsigned // products
};
constexpr const char *kindNames[] = {"ldtilecfg",  "sttilecfg", "tilerelease", "tilezero", "tileloadd", "tileloaddt1",
                                     "tilestored", "tdpbf16ps", "tdpbssd",     "tdpbsud",  "tdpbusd",   "tdpbuud"};
constexpr int kindCount = sizeof kindNames / sizeof *kindNames;

struct Instruction {
  Kind kind;
  int target = 0, left = 0, right = 0; ///< tiles
  unsigned lengthBytes = 0;
  uint8_t *address = nullptr; ///< in memory
  int64_t strideBytes = 0;    ///< from row to row there
};

/// What lies at an address; false: no instruction of AMX. Registers are in the order of their numbers, rax, rcx, rdx, …
bool decode(const uint8_t *code, const int64_t *registers, Instruction &instruction);

/// The tiles of a thread.
class TileMachine {
public:
  /// nullptr, or why the processor would raise an exception.
  const char *execute(const Instruction &instruction);
  bool isConfigured() const { return configuration.palette != 0; }

private:
  const char *configure(const Configuration &wanted);
  const char *multiply(const Instruction &instruction);
  const char *move(const Instruction &instruction);

  Configuration configuration;
  Tile tiles[tileCount];
};

/// Whether this process executes them here: the processor has none.
extern "C" bool perpend_amx_isUsed();
/// How often a kind of instruction was executed in this process.
extern "C" uint64_t perpend_amx_count(Kind kind);
/// How many threads have tiles that were not released.
extern "C" int64_t perpend_amx_configured();
} // namespace perpend::amx

#endif
