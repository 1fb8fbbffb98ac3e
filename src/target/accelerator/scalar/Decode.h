//===- Decode.h - code of the scalar core as a table ------------*- C++ -*-===//

#ifndef PERPEND_TARGET_ACCELERATOR_SCALAR_DECODE_H
#define PERPEND_TARGET_ACCELERATOR_SCALAR_DECODE_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace perpend::accelerator::scalar {

enum class Op : uint8_t {
  illegal,
#define SCALAR_OP(name, format, mask, match) name,
#include "target/accelerator/scalar/Operations.def"
#undef SCALAR_OP
};

struct Decoded {
  Op op = Op::illegal;
  uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
  uint8_t rounding = 0;
  int32_t immediate = 0;
};

Decoded decode(uint32_t word);
/// Each word of the image; those that are no instruction are illegal.
std::vector<Decoded> decode(llvm::ArrayRef<uint8_t> image);

} // namespace perpend::accelerator::scalar

#endif
