//===- Tables.cpp - numbers one after the other ---------------------------===//
#include "target/quoin/compile/Nest.h"

#include "llvm/ADT/APFloat.h"

using namespace llvm;

namespace perpend::quoin {

static const fltSemantics *semanticsOf(DType type) {
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

std::string bytesOfTable(const Buffer &table) {
  std::string bytes;
  const fltSemantics *semantics = semanticsOf(table.type);
  for (int64_t number = *table.firstNumber, end = number + table.elements; number < end; ++number) {
    auto bits = static_cast<uint64_t>(number);
    if (semantics) {
      APFloat value(*semantics);
      value.convertFromAPInt(APInt(64, bits, /*isSigned=*/true), /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    for (unsigned byte = 0; byte < table.elementBytes; ++byte)
      bytes.push_back(static_cast<char>(bits >> (8 * byte)));
  }
  return bytes;
}

} // namespace perpend::quoin
