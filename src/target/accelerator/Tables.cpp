//===- Tables.cpp - tables of numbers in a program ------------------------===//
#include "target/accelerator/ReadBody.h"

using namespace mlir;

namespace perpend::accelerator {

static const llvm::fltSemantics *semanticsOf(DType type) {
  switch (type) {
  case DType::F16:
    return &APFloat::IEEEhalf();
  case DType::BF16:
    return &APFloat::BFloat();
  case DType::F32:
    return &APFloat::IEEEsingle();
  default:
    return nullptr;
  }
}

static void append(std::string &bytes, uint64_t bits, unsigned count) {
  for (unsigned byte = 0; byte < count; ++byte)
    bytes.push_back(static_cast<char>(bits >> (8 * byte)));
}

std::string bytesOfNumbers(DType type, int64_t first, int64_t count) {
  std::string bytes;
  const llvm::fltSemantics *semantics = semanticsOf(type);
  for (int64_t number = first; number < first + count; ++number) {
    auto bits = static_cast<uint64_t>(number);
    if (semantics) {
      APFloat value(*semantics);
      value.convertFromAPInt(APInt(64, bits, /*isSigned=*/true), /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    append(bytes, bits, sizeOf(type));
  }
  return bytes;
}

void appendBytes(std::string &bytes, Attribute number) {
  const APInt bits = isa<FloatAttr>(number) ? cast<FloatAttr>(number).getValue().bitcastToAPInt()
                                            : cast<IntegerAttr>(number).getValue();
  append(bytes, bits.getZExtValue(), (bits.getBitWidth() + 7) / 8);
}

} // namespace perpend::accelerator
