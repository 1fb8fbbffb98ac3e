//===- ElementTypes.cpp - element types of tensors ------------------------===//

#include "graph/ElementTypes.h"
#include "graph/Minifloats.h"

using namespace mlir;

namespace perpend::graph {

Type scalarType(Type elementType) {
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  if (isHandle(elementType))
    return IntegerType::get(elementType.getContext(), 64);
  return isMinifloat(elementType) ? IntegerType::get(elementType.getContext(), 8) : elementType;
}

unsigned bitWidth(Type elementType) {
  if (auto minifloat = dyn_cast<MinifloatType>(elementType))
    return layoutOf(minifloat).bits();
  return isHandle(elementType) ? 64 : elementType.getIntOrFloatBitWidth();
}

std::string nameOf(Type elementType) {
  if (elementType.isInteger(1))
    return "bool";
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return (integer.isUnsigned() ? "u" : "i") + std::to_string(integer.getWidth());
  if (auto minifloat = dyn_cast<MinifloatType>(elementType))
    return stringifyMinifloatFormat(minifloat.getFormat()).str();
  if (auto list = dyn_cast<SequenceType>(elementType))
    return list.getIsOptional() ? "optional" : "sequence";
  if (isa<StringType>(elementType))
    return "string";
  std::string name = "?";
  if (isa<FloatType>(elementType)) {
    name.clear();
    llvm::raw_string_ostream(name) << elementType;
  }
  return name;
}

Type elementTypeNamed(MLIRContext *context, StringRef name) {
  if (std::optional<MinifloatFormat> format = symbolizeMinifloatFormat(name))
    return MinifloatType::get(context, *format);
  for (Type type : {Type(IntegerType::get(context, 1)), Type(Float16Type::get(context)),
                    Type(BFloat16Type::get(context)), Type(Float32Type::get(context)), Type(Float64Type::get(context))})
    if (name == nameOf(type))
      return type;
  if (name == "string")
    return StringType::get(context);
  unsigned width = 0;
  bool noSign = name.consume_front("u");
  if ((!noSign && !name.consume_front("i")) || name.getAsInteger(10, width) || width < 2 || width > 64)
    return {};
  return IntegerType::get(context, width, noSign ? IntegerType::Unsigned : IntegerType::Signless);
}
} // namespace perpend::graph
