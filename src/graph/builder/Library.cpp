//===- Library.cpp - library calls in the builder -------------------------===//
//
// Calls of C functions, and conversions between numbers and strings by such
// calls.
//
//===----------------------------------------------------------------------===//

#include "graph/SequenceTypes.h"
#include "graph/builder/Builder.h"

using namespace mlir;

namespace perpend::graph {

Value Builder::texts(ArrayRef<StringRef> values, bool isScalar) {
  SmallVector<int64_t> shape;
  if (!isScalar)
    shape.push_back(static_cast<int64_t>(values.size()));
  auto type = RankedTensorType::get(shape, StringType::get(context()));
  return constant(DenseStringElementsAttr::get(type, values));
}

SmallVector<Value> Builder::callLibrary(StringRef function, Values inputs, ArrayRef<CallResult> results,
                                        ArrayRef<NamedAttribute> parameters) {
  if (llvm::is_contained(inputs, Value()))
    return SmallVector<Value>(results.size());
  SmallVector<Attribute> symbols;
  SmallVector<Type> types;
  StringRef name = function.split('.').second;
  for (const CallResult &result : results) {
    Shape shape = result.shape;
    for (auto [dim, extent] : llvm::enumerate(shape))
      if (extent.isPoison()) {
        symbols.push_back(freshSymbol(dim < result.names.size() ? StringRef(result.names[dim]) : name));
        extent = SymbolicInt::symbol(::mlir::cast<StringAttr>(symbols.back()).getValue());
      }
    types.push_back(tensorType(shape, result.elementType));
  }
  auto call = operations.create<CallLibraryOp>(
      location, types, function, inputs, operations.getDictionaryAttr(parameters), operations.getArrayAttr(symbols));
  return llvm::to_vector(ValueRange(call.getOutputs()));
}

/// The 64-bit type (32-bit for small floats) in which library functions take numbers.
static Type wideType(Builder &b, Type elementType) {
  if (elementType.isInteger(1) || elementType.isF64())
    return elementType;
  if (isa<IntegerType>(elementType))
    return isUnsigned(elementType) ? IntegerType::get(b.context(), 64, IntegerType::Unsigned) : b.i64();
  return b.f32();
}

static std::string precisionName(Type elementType) {
  std::string name;
  llvm::raw_string_ostream(name) << elementType;
  return elementType.isF16() || elementType.isBF16() || elementType.isF64() ? name : "f32";
}

Value Builder::castText(Value input, Type elementType) {
  Shape shape = shapeOf(input);
  Type from = tensorTypeOf(input).getElementType();
  if (from == elementType)
    return input;
  if (isa<SequenceType>(from) || isa<SequenceType>(elementType))
    return fail("a list cannot be converted");
  if (isa<StringType>(from)) {
    bool isBoolean = elementType.isInteger(1);
    Value number =
        callLibrary("string.to_number", input,
                    CallResult{shape, isBoolean ? operations.getF64Type() : wideType(*this, elementType)})[0];
    return cast(number, elementType);
  }
  Type wide = wideType(*this, from);
  Value number = cast(input, isa<FloatType>(wide) ? Type(operations.getF64Type()) : wide);
  auto precision = operations.getNamedAttr("precision", operations.getStringAttr(precisionName(from)));
  return callLibrary("string.from_number", number, CallResult{shape, elementType}, precision)[0];
}

Value Builder::retype(Value input, Type elementType) {
  if (!input || tensorTypeOf(input).getElementType() == elementType)
    return input;
  return map(input, elementType, [](OpBuilder &, Location, ValueRange scalars) { return scalars[0]; });
}
} // namespace perpend::graph
