//===- ElementFormat.h - scalars in memory and in registers -----*- C++ -*-===//
//
// In memory an element takes 1, 2, 4 or 8 bytes (bool and integers of fewer than 8 bits take one). Registers have at
// most 8 bytes per element: integers are int64_t, sign-extended from their width even if the type is unsigned; f32,
// f16 and bf16 are float; f64 is double. Strings and lists are represented by identities and handles.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_INTERP_ELEMENTFORMAT_H
#define PERPEND_INTERP_ELEMENTFORMAT_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace mlir {
class Type;
} // namespace mlir

namespace perpend::interp {

enum class RegisterKind : uint8_t { Integer, Single, Double };

struct ElementFormat {
  RegisterKind kind = RegisterKind::Integer;
  uint8_t width = 64;
  /// Distinguishes bf16 from f16 if kind is Single and width 16.
  bool isBrain = false;

  unsigned bytes() const { return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8; }
  /// The size of a value in a register.
  unsigned registerBytes() const { return kind == RegisterKind::Single ? 4 : 8; }
  bool isFloat() const { return kind != RegisterKind::Integer; }
  bool operator==(const ElementFormat &) const = default;
};

/// The format of a scalar type, or of a vector's, tensor's or memref's elements. nullopt: unsupported (integers wider
/// than 64 bits, complex numbers ...). Minifloats are represented by their bits; scalar code converts them.
std::optional<ElementFormat> formatOf(mlir::Type type);

/// Convert elements from memory to registers and back. Memory may be unaligned. Writing keeps the low bits.
void readElements(ElementFormat format, const std::byte *memory, int64_t count, void *registers);
void writeElements(ElementFormat format, const void *registers, int64_t count, std::byte *memory);

/// Rounds floats in registers to the precision of the format (changes f16 and bf16 only).
void roundElements(ElementFormat format, void *registers, int64_t count);

// 16-bit floats; rounding is to nearest, ties to even; NaNs stay NaNs.
float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float brainToFloat(uint16_t bits);
uint16_t floatToBrain(float value);
/// Converts to float such that a second rounding, to 16 bits, gives the same result as a single one.
float roundToOdd(double value);

inline int64_t signExtend(int64_t value, unsigned width) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - width)) >> (64 - width);
}
inline uint64_t zeroExtend(int64_t value, unsigned width) {
  return static_cast<uint64_t>(value) << (64 - width) >> (64 - width);
}
} // namespace perpend::interp

#endif
