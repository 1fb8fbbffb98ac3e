//===- Hart.h - the scalar core of one core ---------------------*- C++ -*-===//

#ifndef PERPEND_TARGET_ACCELERATOR_SCALAR_HART_H
#define PERPEND_TARGET_ACCELERATOR_SCALAR_HART_H

#include "target/accelerator/scalar/Decode.h"

#include <array>
#include <optional>
#include <string>

namespace perpend::accelerator::scalar {

/// What memory a hart sees.
class Bus {
public:
  virtual ~Bus() = default;
  /// The bytes at an address; null: an access that is not possible, of which the bus keeps the reason.
  virtual uint8_t *access(uint64_t address, unsigned sizeBytes, bool isWrite) = 0;
};

enum class Ending : uint8_t {
  Returned,
  Trapped, ///< ecall; the code is in a0
  Fault,   ///< of an access, or as `fault` says
  TimedOut,
};

struct Counts {
  uint64_t instructions = 0, memoryAccesses = 0, takenBranches = 0;
};

class Hart {
public:
  /// The code lies at `base`. It must outlive the hart.
  Hart(llvm::ArrayRef<Decoded> code, uint64_t base, Bus &bus) : code(code), base(base), bus(bus) {}

  /// Calls the code at `entry` until it jumps to `returnAddress`.
  Ending call(uint64_t entry, uint64_t returnAddress, uint64_t maxInstructions);

  std::array<uint64_t, 32> x = {}; ///< x[0] is 0
  std::array<uint64_t, 32> f = {}; ///< singles are boxed
  Counts counts;
  uint64_t pc = 0;
  std::string fault;

private:
  enum class Step : uint8_t { Next, Jump, Stop };
  using Handler = Step (*)(Hart &, const Decoded &);
  static const Handler handlers[]; ///< by Op
  /// One operation: a template, so that what depends on the operation is decided once, when this is compiled.
  template <Op op> Step execute(const Decoded &decoded);
  template <Op op> Step executeInteger(const Decoded &decoded);
  template <Op op> Step executeMemory(const Decoded &decoded);
  Step executeSystem(const Decoded &decoded);
  Step branch(bool isTaken, int32_t offset);
  Step jump(const Decoded &decoded, uint64_t target);
  template <typename T> Step load(const Decoded &decoded);
  template <typename T> Step store(const Decoded &decoded, uint64_t value);
  Step fail(std::string reason);

  llvm::ArrayRef<Decoded> code;
  uint64_t base;
  Bus &bus;
  uint32_t floatStatus = 0; ///< fcsr
  Ending ending = Ending::Returned;
};

} // namespace perpend::accelerator::scalar

#endif
