//===- Scalars.cpp - scalar code for reductions and conversions -----------===//

#include "graph/Scalars.h"
#include "graph/ScalarMath.h"
#include "graph/Shapes.h"

#include <cmath>

using namespace mlir;

namespace perpend::graph {

static Value constant(OpBuilder &builder, Location loc, TypedAttr value) {
  return builder.create<arith::ConstantOp>(loc, value);
}

static APInt integerBound(ReductionKind kind, Type elementType) {
  unsigned width = elementType.getIntOrFloatBitWidth();
  bool wantsLowest = kind == ReductionKind::Max;
  if (isUnsigned(elementType))
    return wantsLowest ? APInt::getMinValue(width) : APInt::getMaxValue(width);
  return wantsLowest ? APInt::getSignedMinValue(width) : APInt::getSignedMaxValue(width);
}

Value initialValue(OpBuilder &builder, Location loc, ReductionKind kind, Type elementType) {
  Type scalar = scalarType(elementType);
  if (kind == ReductionKind::Sum)
    return constant(builder, loc, builder.getZeroAttr(scalar));
  if (kind == ReductionKind::Product)
    return constant(builder, loc, cast<TypedAttr>(builder.getOneAttr(scalar)));
  if (auto type = dyn_cast<FloatType>(scalar))
    return constant(builder, loc,
                    FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics(), kind == ReductionKind::Max)));
  return constant(builder, loc, IntegerAttr::get(scalar, integerBound(kind, elementType)));
}

static Value combineFloats(OpBuilder &builder, Location loc, ReductionKind kind, Value a, Value b) {
  auto reassociable = arith::FastMathFlagsAttr::get(builder.getContext(),
                                                    arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  // Which of two zeros is the greater one has no meaning here; to decide it costs three instructions. The new element
  // comes first: what is asked of the first operand alone (is it a number?) does not wait for the value carried so far.
  auto unsignedZero = arith::FastMathFlagsAttr::get(builder.getContext(), arith::FastMathFlags::nsz);
  switch (kind) {
  case ReductionKind::Sum:
    return builder.create<arith::AddFOp>(loc, a, b, reassociable);
  case ReductionKind::Product:
    return builder.create<arith::MulFOp>(loc, a, b, reassociable);
  case ReductionKind::Max:
    return builder.create<arith::MaximumFOp>(loc, b, a, unsignedZero);
  case ReductionKind::Min:
    return builder.create<arith::MinimumFOp>(loc, b, a, unsignedZero);
  }
  return {};
}

Value combine(OpBuilder &builder, Location loc, ReductionKind kind, Type elementType, Value carried, Value next) {
  if (isa<FloatType>(elementType))
    return combineFloats(builder, loc, kind, carried, next);
  bool noSign = isUnsigned(elementType);
  switch (kind) {
  case ReductionKind::Sum:
    return builder.create<arith::AddIOp>(loc, carried, next);
  case ReductionKind::Product:
    return builder.create<arith::MulIOp>(loc, carried, next);
  case ReductionKind::Max:
    return noSign ? builder.create<arith::MaxUIOp>(loc, carried, next).getResult()
                  : builder.create<arith::MaxSIOp>(loc, carried, next).getResult();
  case ReductionKind::Min:
    return noSign ? builder.create<arith::MinUIOp>(loc, carried, next).getResult()
                  : builder.create<arith::MinSIOp>(loc, carried, next).getResult();
  }
  return {};
}

Value multiplyAdd(OpBuilder &builder, Location loc, Value a, Value b, Value carried) {
  if (!isa<FloatType>(carried.getType()))
    return builder.create<arith::AddIOp>(loc, carried, builder.create<arith::MulIOp>(loc, a, b));
  auto flags = arith::FastMathFlagsAttr::get(builder.getContext(),
                                             arith::FastMathFlags::reassoc | arith::FastMathFlags::contract);
  Value product = builder.create<arith::MulFOp>(loc, a, b, flags);
  return builder.create<arith::AddFOp>(loc, carried, product, flags);
}

Value extend(OpBuilder &builder, Location loc, Value element, Value tensor, Type elementType) {
  return convert(builder, loc, element, tensorTypeOf(tensor).getElementType(), elementType);
}

/// Numbers from the middle of the type's range on, less that middle, which is added again as a bit.
static Scalar convertToUnsigned(Scalar x, Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  Scalar number = x.type().getIntOrFloatBitWidth() < 32 ? x.to(x.emitter().getF32Type()) : x;
  double middle = std::ldexp(1.0, static_cast<int>(bits) - 1);
  Scalar low = number.to(type), high = (number - middle).to(type);
  Scalar middleBit = high.with(constant(x.emitter(), x.location(), IntegerAttr::get(type, APInt::getSignMask(bits))));
  return select(number >= middle, high ^ middleBit, low);
}

static Value convertFloatToInteger(OpBuilder &builder, Location loc, Value scalar, Type to) {
  Type type = scalarType(to);
  if (to.isInteger(1)) {
    Value zero = constant(builder, loc, builder.getZeroAttr(scalar.getType()));
    return builder.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, scalar, zero);
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits >= 32 && isUnsigned(to))
    return convertToUnsigned(Scalar(builder, loc, scalar), type).value;
  // PyTorch makes bytes without a sign by way of i64, which differs for f64 alone.
  Type wide = bits == 64 || (bits == 8 && isUnsigned(to) && scalar.getType().isF64()) ? builder.getI64Type()
                                                                                      : builder.getI32Type();
  Value integer = builder.create<arith::FPToSIOp>(loc, wide, scalar);
  return wide == type ? integer : builder.create<arith::TruncIOp>(loc, type, integer).getResult();
}

/// To f32 such that a second rounding, to fewer bits, gives what rounding once would have given.
static Value roundToOdd(OpBuilder &b, Location loc, Value wide) {
  Type bitsType = b.getI32Type();
  Value single = b.create<arith::TruncFOp>(loc, b.getF32Type(), wide);
  Value again = b.create<arith::ExtFOp>(loc, wide.getType(), single);
  Value isInexact = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, again, wide);
  Value isLarger = b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGT, b.create<math::AbsFOp>(loc, again),
                                           b.create<math::AbsFOp>(loc, wide));
  Value bits = b.create<arith::BitcastOp>(loc, bitsType, single);
  bits = b.create<arith::SubIOp>(loc, bits, b.create<arith::ExtUIOp>(loc, bitsType, isLarger));
  bits = b.create<arith::OrIOp>(loc, bits, b.create<arith::ExtUIOp>(loc, bitsType, isInexact));
  return b.create<arith::BitcastOp>(loc, b.getF32Type(), bits);
}

static Value convertFloats(OpBuilder &builder, Location loc, Value scalar, Type to) {
  unsigned fromBits = scalar.getType().getIntOrFloatBitWidth(), toBits = to.getIntOrFloatBitWidth();
  if (fromBits < toBits)
    return builder.create<arith::ExtFOp>(loc, to, scalar);
  if (fromBits == 64 && toBits < 32)
    return builder.create<arith::TruncFOp>(loc, to, roundToOdd(builder, loc, scalar));
  if (fromBits > toBits)
    return builder.create<arith::TruncFOp>(loc, to, scalar);
  Value single = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), scalar); // f16 <-> bf16
  return builder.create<arith::TruncFOp>(loc, to, single);
}

static Value convertIntegers(OpBuilder &builder, Location loc, Value scalar, Type from, Type to) {
  Type type = scalarType(to);
  if (to.isInteger(1)) {
    Value zero = constant(builder, loc, builder.getZeroAttr(scalar.getType()));
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, scalar, zero);
  }
  unsigned fromBits = scalar.getType().getIntOrFloatBitWidth(), toBits = type.getIntOrFloatBitWidth();
  if (fromBits == toBits)
    return scalar;
  if (fromBits > toBits)
    return builder.create<arith::TruncIOp>(loc, type, scalar);
  return isUnsigned(from) ? builder.create<arith::ExtUIOp>(loc, type, scalar).getResult()
                          : builder.create<arith::ExtSIOp>(loc, type, scalar).getResult();
}

/// By way of f32.
static Value convertMinifloats(OpBuilder &builder, Location loc, Value scalar, Type from, Type to,
                               MinifloatRounding rounding) {
  Type single = builder.getF32Type();
  if (auto minifloat = dyn_cast<MinifloatType>(from))
    return convert(builder, loc, decodeMinifloat(builder, loc, scalar, minifloat), single, to, rounding);
  auto minifloat = cast<MinifloatType>(to);
  bool isRoundedTwice = from.isF64() && !layoutOf(minifloat).isScale();
  scalar = isRoundedTwice ? roundToOdd(builder, loc, scalar) : convert(builder, loc, scalar, from, single);
  return encodeMinifloat(builder, loc, scalar, minifloat, rounding);
}

Value convert(OpBuilder &builder, Location loc, Value scalar, Type from, Type to, MinifloatRounding rounding) {
  if (from == to)
    return scalar;
  if (isMinifloat(from) || isMinifloat(to))
    return convertMinifloats(builder, loc, scalar, from, to, rounding);
  if (isa<FloatType>(from))
    return isa<FloatType>(to) ? convertFloats(builder, loc, scalar, to)
                              : convertFloatToInteger(builder, loc, scalar, to);
  if (to.isBF16()) // rounded twice, as ml_dtypes and ONNX Runtime do
    return convertFloats(builder, loc, convert(builder, loc, scalar, from, builder.getF32Type()), to);
  if (isa<FloatType>(to))
    return isUnsigned(from) ? builder.create<arith::UIToFPOp>(loc, to, scalar).getResult()
                            : builder.create<arith::SIToFPOp>(loc, to, scalar).getResult();
  return convertIntegers(builder, loc, scalar, from, to);
}

Value reinterpret(OpBuilder &builder, Location loc, Value scalar, Type from, Type to) {
  Type target = scalarType(to);
  auto integerOf = [&](Type type) -> Type { return builder.getIntegerType(type.getIntOrFloatBitWidth()); };
  if (isa<FloatType>(scalar.getType()))
    scalar = builder.create<arith::BitcastOp>(loc, integerOf(scalar.getType()), scalar);
  Type bits = integerOf(target);
  if (to.isInteger(1) && scalar.getType() != bits)
    return convert(builder, loc, scalar, scalar.getType(), to);
  if (scalar.getType().getIntOrFloatBitWidth() > bits.getIntOrFloatBitWidth())
    scalar = builder.create<arith::TruncIOp>(loc, bits, scalar);
  else if (scalar.getType() != bits)
    scalar = builder.create<arith::ExtUIOp>(loc, bits, scalar);
  return isa<FloatType>(target) ? builder.create<arith::BitcastOp>(loc, target, scalar).getResult() : scalar;
}
} // namespace perpend::graph
