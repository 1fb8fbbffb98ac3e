//===- Hart.cpp - the scalar core of one core ------------------------------===//

#include "target/accelerator/scalar/Hart.h"
#include "target/accelerator/scalar/FloatOperations.h"

#include <cstring>
#include <limits>

namespace perpend::accelerator::scalar {
namespace {
constexpr uint64_t boxedSingle = 0xffffffff00000000;

uint64_t word(uint64_t value) { return uint64_t(int64_t(int32_t(value))); }

template <typename T> uint64_t quotient(uint64_t left, uint64_t right) {
  T a = T(left), b = T(right);
  if (b == 0)
    return ~0ull;
  if (std::is_signed_v<T> && b == T(-1))
    return uint64_t(0) - left;
  return uint64_t(a / b);
}

template <typename T> uint64_t remainder(uint64_t left, uint64_t right) {
  T a = T(left), b = T(right);
  if (b == 0)
    return uint64_t(a);
  if (std::is_signed_v<T> && b == T(-1))
    return 0;
  return uint64_t(a % b);
}

/// The value of an instruction that computes a register from two numbers, of which the second may be the immediate.
[[gnu::always_inline]] inline uint64_t compute(Op op, uint64_t a, uint64_t b) {
  switch (op) {
  case Op::addi:
  case Op::add:
    return a + b;
  case Op::sub:
    return a - b;
  case Op::slli:
  case Op::sll:
    return a << (b & 63);
  case Op::slti:
  case Op::slt:
    return int64_t(a) < int64_t(b);
  case Op::sltiu:
  case Op::sltu:
    return a < b;
  case Op::xori:
  case Op::xor_:
    return a ^ b;
  case Op::srli:
  case Op::srl:
    return a >> (b & 63);
  case Op::srai:
  case Op::sra:
    return uint64_t(int64_t(a) >> (b & 63));
  case Op::ori:
  case Op::or_:
    return a | b;
  case Op::andi:
  case Op::and_:
    return a & b;
  case Op::addiw:
  case Op::addw:
    return word(a + b);
  case Op::subw:
    return word(a - b);
  case Op::slliw:
  case Op::sllw:
    return word(uint32_t(a) << (b & 31));
  case Op::srliw:
  case Op::srlw:
    return word(uint32_t(a) >> (b & 31));
  default: // sraiw, sraw
    return uint64_t(int64_t(int32_t(a) >> (b & 31)));
  }
}

[[gnu::always_inline]] inline uint64_t multiply(Op op, uint64_t a, uint64_t b) {
  __int128 signedA = int64_t(a), signedB = int64_t(b), unsignedB = b;
  switch (op) {
  case Op::mul:
    return a * b;
  case Op::mulh:
    return uint64_t(signedA * signedB >> 64);
  case Op::mulhsu:
    return uint64_t(signedA * unsignedB >> 64);
  case Op::mulhu:
    return uint64_t(static_cast<unsigned __int128>(a) * b >> 64);
  case Op::div:
    return quotient<int64_t>(a, b);
  case Op::divu:
    return quotient<uint64_t>(a, b);
  case Op::rem:
    return remainder<int64_t>(a, b);
  case Op::remu:
    return remainder<uint64_t>(a, b);
  case Op::mulw:
    return word(a * b);
  case Op::divw:
    return word(quotient<int32_t>(a, b));
  case Op::divuw:
    return uint32_t(b) == 0 ? ~0ull : word(uint32_t(a) / uint32_t(b));
  case Op::remw:
    return word(remainder<int32_t>(a, b));
  default: // remuw
    return uint32_t(b) == 0 ? word(a) : word(uint32_t(a) % uint32_t(b));
  }
}

constexpr bool isImmediate(Op op) { return (op >= Op::addi && op <= Op::sraiw); }

[[gnu::always_inline]] inline bool condition(Op op, uint64_t a, uint64_t b) {
  switch (op) {
  case Op::beq:
    return a == b;
  case Op::bne:
    return a != b;
  case Op::blt:
    return int64_t(a) < int64_t(b);
  case Op::bge:
    return int64_t(a) >= int64_t(b);
  case Op::bltu:
    return a < b;
  default:
    return a >= b;
  }
}
} // namespace

Hart::Step Hart::fail(std::string reason) {
  fault = std::move(reason);
  ending = Ending::Fault;
  return Step::Stop;
}

Hart::Step Hart::branch(bool isTaken, int32_t offset) {
  if (!isTaken)
    return Step::Next;
  ++counts.takenBranches;
  pc += int64_t(offset);
  return Step::Jump;
}

Hart::Step Hart::jump(const Decoded &decoded, uint64_t target) {
  if (decoded.rd)
    x[decoded.rd] = pc + 4;
  ++counts.takenBranches;
  pc = target;
  return Step::Jump;
}

template <typename T> Hart::Step Hart::load(const Decoded &decoded) {
  const uint8_t *from = bus.access(x[decoded.rs1] + int64_t(decoded.immediate), sizeof(T), false);
  ++counts.memoryAccesses;
  if (!from)
    return fail("");
  T value;
  std::memcpy(&value, from, sizeof(T));
  if (decoded.op == Op::flw)
    f[decoded.rd] = boxedSingle | uint32_t(value);
  else if (decoded.op == Op::fld)
    f[decoded.rd] = uint64_t(value);
  else if (decoded.rd)
    x[decoded.rd] = uint64_t(int64_t(value));
  return Step::Next;
}

template <typename T> Hart::Step Hart::store(const Decoded &decoded, uint64_t value) {
  uint8_t *to = bus.access(x[decoded.rs1] + int64_t(decoded.immediate), sizeof(T), true);
  ++counts.memoryAccesses;
  if (!to)
    return fail("");
  T stored = T(value);
  std::memcpy(to, &stored, sizeof(T));
  return Step::Next;
}

template <Op op> Hart::Step Hart::executeMemory(const Decoded &decoded) {
  switch (op) {
  case Op::lb:
    return load<int8_t>(decoded);
  case Op::lh:
    return load<int16_t>(decoded);
  case Op::lw:
    return load<int32_t>(decoded);
  case Op::ld:
  case Op::fld:
    return load<int64_t>(decoded);
  case Op::lbu:
    return load<uint8_t>(decoded);
  case Op::lhu:
    return load<uint16_t>(decoded);
  case Op::lwu:
  case Op::flw:
    return load<uint32_t>(decoded);
  case Op::sb:
    return store<uint8_t>(decoded, x[decoded.rs2]);
  case Op::sh:
    return store<uint16_t>(decoded, x[decoded.rs2]);
  case Op::sw:
    return store<uint32_t>(decoded, x[decoded.rs2]);
  case Op::sd:
    return store<uint64_t>(decoded, x[decoded.rs2]);
  case Op::fsw:
    return store<uint32_t>(decoded, f[decoded.rs2]);
  default:
    return store<uint64_t>(decoded, f[decoded.rs2]);
  }
}

/// ecall ends the call; fflags, frm, fcsr and the counters are the only registers.
Hart::Step Hart::executeSystem(const Decoded &decoded) {
  if (decoded.op == Op::fence)
    return Step::Next;
  if (decoded.op == Op::ecall) {
    ending = Ending::Trapped;
    return Step::Stop;
  }
  if (decoded.op == Op::ebreak)
    return fail("ebreak");
  constexpr unsigned fflags = 1, frm = 2, fcsr = 3, cycle = 0xc00, instret = 0xc02;
  unsigned number = decoded.immediate & 0xfff, shift = number == frm ? 5 : 0;
  uint32_t mask = number == fflags ? 0x1f : number == frm ? 7 : 0xff;
  bool isImmediateForm = decoded.op >= Op::csrrwi;
  uint64_t value = isImmediateForm ? decoded.rs1 : x[decoded.rs1], old;
  if (number >= fflags && number <= fcsr)
    old = floatStatus >> shift & mask;
  else if (number >= cycle && number <= instret && decoded.rs1 == 0 && decoded.op != Op::csrrw &&
           decoded.op != Op::csrrwi)
    old = counts.instructions;
  else
    return fail("there is no register " + std::to_string(number));
  bool sets = decoded.op == Op::csrrs || decoded.op == Op::csrrsi,
       clears = decoded.op == Op::csrrc || decoded.op == Op::csrrci;
  uint64_t now = sets ? old | value : clears ? old & ~value : value;
  if (number <= fcsr)
    floatStatus = (floatStatus & ~(mask << shift)) | (uint32_t(now) & mask) << shift;
  if (decoded.rd)
    x[decoded.rd] = old;
  return Step::Next;
}

template <Op op> Hart::Step Hart::executeInteger(const Decoded &decoded) {
  uint64_t a = x[decoded.rs1], value;
  if constexpr (op == Op::lui)
    value = uint64_t(int64_t(decoded.immediate));
  else if constexpr (op == Op::auipc)
    value = pc + int64_t(decoded.immediate);
  else if constexpr (op >= Op::mul && op <= Op::remuw)
    value = multiply(op, a, x[decoded.rs2]);
  else
    value = compute(op, a, isImmediate(op) ? uint64_t(int64_t(decoded.immediate)) : x[decoded.rs2]);
  if (decoded.rd)
    x[decoded.rd] = value;
  return Step::Next;
}

template <Op op> Hart::Step Hart::execute(const Decoded &decoded) {
  if constexpr (op == Op::illegal)
    return fail("the word is no instruction of rv64imfd");
  else if constexpr (op == Op::jal)
    return jump(decoded, pc + int64_t(decoded.immediate));
  else if constexpr (op == Op::jalr)
    return jump(decoded, (x[decoded.rs1] + int64_t(decoded.immediate)) & ~1ull);
  else if constexpr (op >= Op::beq && op <= Op::bgeu)
    return branch(condition(op, x[decoded.rs1], x[decoded.rs2]), decoded.immediate);
  else if constexpr ((op >= Op::lb && op <= Op::sd) || op == Op::flw || op == Op::fsw || op == Op::fld || op == Op::fsd)
    return executeMemory<op>(decoded);
  else if constexpr (op >= Op::fence && op <= Op::csrrci)
    return executeSystem(decoded);
  else if constexpr (op < Op::fmadd_s)
    return executeInteger<op>(decoded);
  else
    return executeFloat(decoded, x, f, floatStatus) ? Step::Next : fail("the rounding is not supported");
}

const Hart::Handler Hart::handlers[] = {
    [](Hart &hart, const Decoded &decoded) { return hart.execute<Op::illegal>(decoded); },
#define SCALAR_OP(name, format, mask, match)                                                                           \
  [](Hart &hart, const Decoded &decoded) { return hart.execute<Op::name>(decoded); },
#include "target/accelerator/scalar/Operations.def"
#undef SCALAR_OP
};

Ending Hart::call(uint64_t entry, uint64_t returnAddress, uint64_t maxInstructions) {
  pc = entry;
  while (pc != returnAddress) {
    uint64_t offset = pc - base;
    if (offset / 4 >= code.size() || offset % 4) {
      fault = "a jump to " + std::to_string(pc) + ", which is not code";
      return Ending::Fault;
    }
    if (counts.instructions == maxInstructions)
      return Ending::TimedOut;
    ++counts.instructions;
    const Decoded &decoded = code[offset / 4];
    Step step = handlers[unsigned(decoded.op)](*this, decoded);
    if (step == Step::Stop)
      return ending;
    if (step == Step::Next)
      pc += 4;
  }
  return Ending::Returned;
}

} // namespace perpend::accelerator::scalar
