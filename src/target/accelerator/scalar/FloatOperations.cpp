//===- FloatOperations.cpp - F and D on registers --------------------------===//

#include "target/accelerator/scalar/FloatOperations.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace perpend::accelerator::scalar {
namespace {
template <typename T> using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <typename T>
constexpr Bits<T> canonicalNaN = sizeof(T) == 4 ? Bits<T>(0x7fc00000) : Bits<T>(0x7ff8000000000000);
template <typename T> constexpr Bits<T> signBit = Bits<T>(1) << (8 * sizeof(T) - 1);
constexpr uint64_t box = 0xffffffff00000000;

enum Rounding : uint8_t { NearestEven, TowardZero, Down, Up, NearestAway, Dynamic = 7 };

/// A single that is not boxed is a NaN.
template <typename T> Bits<T> bitsOf(uint64_t value) {
  if (sizeof(T) == 4 && value < box)
    return canonicalNaN<T>;
  return Bits<T>(value);
}

template <typename T> class FloatUnit {
public:
  FloatUnit(const Decoded &decoded, std::array<uint64_t, 32> &x, std::array<uint64_t, 32> &f, uint8_t rounding)
      : decoded(decoded), x(x), f(f), rounding(rounding) {}

  /// `operation` counts from fmadd, in the order of Operations.def.
  bool execute(unsigned operation) {
    if (operation < 9)
      return rounding == NearestEven && arithmetic(operation);
    if (operation < 14)
      return selection(operation - 9);
    if (operation < 17)
      return comparison(operation - 14);
    if (operation < 21)
      return toInteger(operation - 17);
    if (operation < 25)
      return rounding <= NearestAway && fromInteger(operation - 21);
    return move(operation - 25);
  }

private:
  T source(unsigned index) const { return std::bit_cast<T>(bitsOf<T>(f[index])); }
  bool storeBits(Bits<T> bits) {
    f[decoded.rd] = sizeof(T) == 4 ? box | bits : bits;
    return true;
  }
  bool store(T value) { return storeBits(value == value ? std::bit_cast<Bits<T>>(value) : canonicalNaN<T>); }
  bool storeInteger(uint64_t value) {
    if (decoded.rd)
      x[decoded.rd] = value;
    return true;
  }

  bool arithmetic(unsigned operation) {
    T a = source(decoded.rs1), b = source(decoded.rs2), c = source(decoded.rs3);
    switch (operation) {
    case 0:
      return store(std::fma(a, b, c));
    case 1:
      return store(std::fma(a, b, -c));
    case 2:
      return store(std::fma(-a, b, c));
    case 3:
      return store(std::fma(-a, b, -c));
    case 4:
      return store(a + b);
    case 5:
      return store(a - b);
    case 6:
      return store(a * b);
    case 7:
      return store(a / b);
    default:
      return store(std::sqrt(a));
    }
  }

  /// fsgnj, fsgnjn, fsgnjx, fmin, fmax.
  bool selection(unsigned operation) {
    Bits<T> a = bitsOf<T>(f[decoded.rs1]), b = bitsOf<T>(f[decoded.rs2]), sign = signBit<T>;
    if (operation == 0)
      return storeBits((a & ~sign) | (b & sign));
    if (operation == 1)
      return storeBits((a & ~sign) | (~b & sign));
    if (operation == 2)
      return storeBits(a ^ (b & sign));
    T left = std::bit_cast<T>(a), right = std::bit_cast<T>(b);
    if (left != left || right != right) // the number wins
      return store(left == left ? left : right);
    if (left == right)
      return storeBits(operation == 3 ? a | b : a & b);
    return store((left < right) == (operation == 3) ? left : right);
  }

  /// fle, flt, feq.
  bool comparison(unsigned operation) {
    T a = source(decoded.rs1), b = source(decoded.rs2);
    return storeInteger(operation == 0 ? a <= b : operation == 1 ? a < b : a == b);
  }

  T rounded(T value) const {
    switch (rounding) {
    case TowardZero:
      return std::trunc(value);
    case Down:
      return std::floor(value);
    case Up:
      return std::ceil(value);
    case NearestAway:
      return std::round(value);
    default: {
      T below = std::floor(value), fraction = value - below;
      bool isOdd = std::fmod(below, T(2)) != 0;
      return fraction > T(0.5) || (fraction == T(0.5) && isOdd) ? below + 1 : below;
    }
    }
  }

  template <typename Integer> uint64_t clamped(T value) const {
    constexpr Integer low = std::numeric_limits<Integer>::min(), high = std::numeric_limits<Integer>::max();
    constexpr T limit =
        T(sizeof(Integer) == 4 ? 4294967296.0 : 18446744073709551616.0) / (std::is_signed_v<Integer> ? 2 : 1);
    Integer result;
    if (value != value || value >= limit)
      result = high;
    else if (std::is_signed_v<Integer> ? value < -limit : value <= T(-1))
      result = low;
    else
      result = Integer(value);
    using Signed = std::make_signed_t<Integer>;
    return uint64_t(int64_t(Signed(result))); // words are sign-extended, unsigned ones, too
  }

  bool toInteger(unsigned operation) {
    if (rounding > NearestAway)
      return false;
    T value = rounded(source(decoded.rs1));
    switch (operation) {
    case 0:
      return storeInteger(clamped<int32_t>(value));
    case 1:
      return storeInteger(clamped<uint32_t>(value));
    case 2:
      return storeInteger(clamped<int64_t>(value));
    default:
      return storeInteger(clamped<uint64_t>(value));
    }
  }

  bool fromInteger(unsigned operation) {
    uint64_t value = x[decoded.rs1];
    switch (operation) {
    case 0:
      return store(rounded(int64_t(int32_t(value)) < 0, magnitude(int32_t(value))));
    case 1:
      return store(rounded(false, uint32_t(value)));
    case 2:
      return store(rounded(int64_t(value) < 0, magnitude(int64_t(value))));
    default:
      return store(rounded(false, value));
    }
  }

  static uint64_t magnitude(int64_t value) { return value < 0 ? 0 - uint64_t(value) : uint64_t(value); }

  /// The float on the side of the integer that the rounding asks for; the nearest one, ties to even, is where C++
  /// rounds to.
  T rounded(bool isNegative, uint64_t value) const {
    T nearest = T(value);
    constexpr T beyond = T(18446744073709551616.0); // 2^64, which a value near it rounds to
    bool isAbove = nearest == beyond || uint64_t(nearest) > value;
    bool isExact = nearest != beyond && uint64_t(nearest) == value;
    bool wantsAbove = rounding == Up ? !isNegative : rounding == Down ? isNegative : false;
    if (!isExact && rounding == NearestAway) { // a tie went to the even float below
      T next = std::nextafter(nearest, beyond);
      bool isTie = !isAbove && next != beyond && uint64_t(next) - value == value - uint64_t(nearest);
      nearest = isTie ? next : nearest;
    } else if (!isExact && rounding != NearestEven && isAbove != wantsAbove) {
      nearest = std::nextafter(nearest, wantsAbove ? beyond : T(0));
    }
    return isNegative ? -nearest : nearest;
  }

  unsigned classify() const {
    Bits<T> bits = bitsOf<T>(f[decoded.rs1]);
    T value = std::bit_cast<T>(bits);
    bool isNegative = bits & signBit<T>;
    if (value != value)
      return bits & (canonicalNaN<T> & ~(canonicalNaN<T> << 1)) ? 9 : 8;
    if (std::isinf(value))
      return isNegative ? 0 : 7;
    if (value == 0)
      return isNegative ? 3 : 4;
    if (std::fabs(value) < std::numeric_limits<T>::min())
      return isNegative ? 2 : 5;
    return isNegative ? 1 : 6;
  }

  /// fmv.x, fclass, fmv from x.
  bool move(unsigned operation) {
    if (operation == 0)
      return storeInteger(sizeof(T) == 4 ? uint64_t(int64_t(int32_t(f[decoded.rs1]))) : f[decoded.rs1]);
    if (operation == 1)
      return storeInteger(1u << classify());
    return storeBits(Bits<T>(x[decoded.rs1]));
  }

  const Decoded &decoded;
  std::array<uint64_t, 32> &x, &f;
  uint8_t rounding;
};
} // namespace

bool executeFloat(const Decoded &decoded, std::array<uint64_t, 32> &x, std::array<uint64_t, 32> &f, uint32_t status) {
  uint8_t rounding = decoded.rounding == Dynamic ? status >> 5 & 7 : decoded.rounding;
  unsigned op = unsigned(decoded.op);
  if (decoded.op == Op::fcvt_d_s) {
    float value = std::bit_cast<float>(bitsOf<float>(f[decoded.rs1]));
    f[decoded.rd] = value == value ? std::bit_cast<uint64_t>(double(value)) : canonicalNaN<double>;
    return true;
  }
  if (decoded.op == Op::fcvt_s_d) {
    float value = float(std::bit_cast<double>(f[decoded.rs1]));
    f[decoded.rd] = box | (value == value ? std::bit_cast<uint32_t>(value) : canonicalNaN<float>);
    return rounding == NearestEven;
  }
  if (op >= unsigned(Op::fmadd_s) && op <= unsigned(Op::fmv_w_x))
    return FloatUnit<float>(decoded, x, f, rounding).execute(op - unsigned(Op::fmadd_s));
  if (op >= unsigned(Op::fmadd_d) && op <= unsigned(Op::fmv_d_x))
    return FloatUnit<double>(decoded, x, f, rounding).execute(op - unsigned(Op::fmadd_d));
  return false;
}

} // namespace perpend::accelerator::scalar
