//===- ScalarCode.h - linked code of a scalar core --------------*- C++ -*-===//
//
// An accelerator's scalar core executes rv64imfd, without compressed instructions. What runtime/scalar expects of it:
// code at this address, and two registers of 8 bytes in memory.
//
//===----------------------------------------------------------------------===//
#ifndef PERPEND_TARGET_ACCELERATOR_SCALAR_SCALARCODE_H
#define PERPEND_TARGET_ACCELERATOR_SCALAR_SCALARCODE_H

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace perpend::accelerator {

inline constexpr uint64_t scalarCodeBase = 0x1000'0000;
inline constexpr uint64_t scalarRegistersBase = 0x4000'0000;
inline constexpr uint64_t maxScalarBytes = 16 << 20; ///< of an image

/// An image that is mapped at `scalarCodeBase`, read-only, and its entries.
struct ScalarCode {
  struct Entry {
    std::string name;
    uint64_t byte = 0; ///< from the start of the image

    bool operator==(const Entry &) const = default;
  };
  std::vector<uint8_t> image;
  std::vector<Entry> entries;

  const Entry *find(llvm::StringRef name) const;
  bool operator==(const ScalarCode &) const = default;
};

/// Code of a linked RISC-V executable (rv64imfd, static) whose segments lie at `scalarCodeBase`. Entries are its
/// functions, hidden ones too. Any bytes are safe.
llvm::Expected<ScalarCode> readScalarCode(llvm::MemoryBufferRef elf);

} // namespace perpend::accelerator

#endif
