//===- Draw.cpp - random arrays -------------------------------------------===//

#include "arrays/Draw.h"
#include "interp/ElementFormat.h"

#include "llvm/ADT/bit.h"

#include <cstring>

namespace perpend::arrays {

static double uniform(std::mt19937_64 &generator) { return static_cast<double>(generator() >> 11) * 0x1p-52 - 1.0; }

static uint64_t randomBits(perpend_type type, std::mt19937_64 &generator) {
  switch (type) {
  case PERPEND_F32:
    return llvm::bit_cast<uint32_t>(static_cast<float>(uniform(generator)));
  case PERPEND_F64:
    return llvm::bit_cast<uint64_t>(uniform(generator));
  case PERPEND_F16:
    return interp::floatToHalf(static_cast<float>(uniform(generator)));
  case PERPEND_BF16:
    return interp::floatToBrain(static_cast<float>(uniform(generator)));
  case PERPEND_I8:
  case PERPEND_U8:
    return generator();
  case PERPEND_I4:
  case PERPEND_U4:
  case PERPEND_F4E2M1FN:
    return generator() & 15;
  case PERPEND_I2:
  case PERPEND_U2:
    return generator() & 3;
  case PERPEND_F6E2M3FN:
  case PERPEND_F6E3M2FN:
    return generator() & 63;
  case PERPEND_F8E4M3FN:
  case PERPEND_F8E4M3FNUZ:
  case PERPEND_F8E5M2:
  case PERPEND_F8E5M2FNUZ:
    return generator() & 0xbb; // neither NaN nor infinity
  case PERPEND_F8E8M0FNU:
    return 124 + (generator() & 7);
  default:
    return generator() & 1;
  }
}

static Array randomTexts(llvm::ArrayRef<int64_t> shape, std::mt19937_64 &generator) {
  std::vector<std::string> texts;
  for (int64_t i = 0, count = Array{PERPEND_STRING, llvm::SmallVector<int64_t>(shape), nullptr}.elementCount();
       i < count; ++i)
    texts.push_back(std::to_string(generator() % 100));
  return Array::ofTexts(shape, std::move(texts));
}

Array draw(perpend_type type, llvm::ArrayRef<int64_t> shape, std::mt19937_64 &generator, bool isCount) {
  if (type == PERPEND_STRING)
    return randomTexts(shape, generator);
  Array array = Array::allocate(type, shape);
  if (!array.bytes)
    return array;
  int64_t size = perpend_type_size_bytes(type), count = array.elementCount();
  bool isZero = count > 1;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = isCount ? 1 + (generator() & 1) : randomBits(type, generator); // little endian
    isZero &= bits == 0;
    bits = isZero && i == count - 1 ? 1 : bits;
    std::memcpy(array.bytes.get() + i * size, &bits, size);
  }
  return array;
}
} // namespace perpend::arrays
