//===- Decode.cpp - code of the scalar core as a table ---------------------===//

#include "target/accelerator/scalar/Decode.h"

#include "llvm/Support/Endian.h"

namespace perpend::accelerator::scalar {
namespace {
enum class Format : uint8_t { R, RM, R4, I, Shift, S, B, U, J };

struct Pattern {
  Op op;
  Format format;
  uint32_t mask, match;
};
constexpr Pattern patterns[] = {
#define SCALAR_OP(name, format, mask, match) {Op::name, Format::format, mask, match},
#include "target/accelerator/scalar/Operations.def"
#undef SCALAR_OP
};

/// Bits [low, low + width) of the word, moved to bit `to`.
uint32_t bits(uint32_t word, unsigned low, unsigned width, unsigned to = 0) {
  return (word >> low & ((1u << width) - 1)) << to;
}
int32_t signExtended(uint32_t value, unsigned width) { return int32_t(value << (32 - width)) >> (32 - width); }

int32_t immediateOf(uint32_t word, Format format) {
  switch (format) {
  case Format::I:
    return signExtended(bits(word, 20, 12), 12);
  case Format::Shift:
    return int32_t(bits(word, 20, 6));
  case Format::S:
    return signExtended(bits(word, 25, 7, 5) | bits(word, 7, 5), 12);
  case Format::B:
    return signExtended(bits(word, 31, 1, 12) | bits(word, 7, 1, 11) | bits(word, 25, 6, 5) | bits(word, 8, 4, 1), 13);
  case Format::U:
    return int32_t(word & 0xfffff000);
  case Format::J:
    return signExtended(bits(word, 31, 1, 20) | bits(word, 12, 8, 12) | bits(word, 20, 1, 11) | bits(word, 21, 10, 1),
                        21);
  default:
    return 0;
  }
}
} // namespace

Decoded decode(uint32_t word) {
  for (const Pattern &pattern : patterns) {
    if ((word & pattern.mask) != pattern.match)
      continue;
    Decoded decoded;
    decoded.op = pattern.op;
    decoded.rd = bits(word, 7, 5);
    decoded.rs1 = bits(word, 15, 5);
    decoded.rs2 = bits(word, 20, 5);
    decoded.rs3 = bits(word, 27, 5);
    decoded.rounding = bits(word, 12, 3);
    decoded.immediate = immediateOf(word, pattern.format);
    return decoded;
  }
  return {};
}

std::vector<Decoded> decode(llvm::ArrayRef<uint8_t> image) {
  std::vector<Decoded> code(image.size() / 4);
  for (size_t index = 0; index < code.size(); ++index)
    code[index] = decode(llvm::support::endian::read32le(&image[4 * index]));
  return code;
}

} // namespace perpend::accelerator::scalar
