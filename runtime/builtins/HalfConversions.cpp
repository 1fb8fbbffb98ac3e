// Conversions of f16 for processors without instructions for them (x86-64 before F16C). Names and calling conventions
// are those of compiler-rt, which compiled code calls. Source: IEEE 754-2019, 5.4.2.
#include <stdint.h>
#include <string.h>

namespace {

template <typename To, typename From> To bitsAs(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To result;
  memcpy(&result, &value, sizeof(To));
  return result;
}

constexpr uint32_t singleInfinity = 0x7f800000;

} // namespace

// Exact. A signalling NaN becomes quiet and keeps its payload.
extern "C" float __extendhfsf2(_Float16 value) {
  uint16_t half = bitsAs<uint16_t>(value);
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) {
    uint32_t quiet = magnitude > 0x7c00 ? 0x00400000 : 0;
    return bitsAs<float>(sign | singleInfinity | quiet | (magnitude & 0x3ff) << 13);
  }
  // A subnormal number is magnitude * 2^-24; the others change the exponent's bias (127 - 15).
  float result = magnitude < 0x400 ? static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f
                                   : bitsAs<float>((magnitude << 13) + (112u << 23));
  return bitsAs<float>(bitsAs<uint32_t>(result) | sign);
}

// Rounds to nearest, ties to even; beyond the largest f16 to infinity. NaNs become quiet.
extern "C" _Float16 __truncsfhf2(float value) {
  uint32_t single = bitsAs<uint32_t>(value), magnitude = single & 0x7fffffff;
  uint32_t sign = (single >> 16) & 0x8000, result;
  if (magnitude > singleInfinity) {
    result = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= 0x47800000) { // 2^16 and infinity
    result = 0x7c00;
  } else if (magnitude < 0x38800000) { // below 2^-14: multiples of 2^-24, the last bit of numbers near 1/2
    float rounded = bitsAs<float>(magnitude) + 0.5f;
    result = bitsAs<uint32_t>(rounded) - bitsAs<uint32_t>(0.5f);
  } else {
    uint32_t isOdd = (magnitude >> 13) & 1;
    result = (magnitude - (112u << 23) + 0xfff + isOdd) >> 13;
  }
  return bitsAs<_Float16>(static_cast<uint16_t>(sign | result));
}
