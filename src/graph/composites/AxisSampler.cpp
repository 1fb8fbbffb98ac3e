//===- AxisSampler.cpp - coordinates of a resized axis --------------------===//

#include "graph/composites/AxisSampler.h"

using namespace mlir;

namespace perpend::graph {

SmallVector<Value> capturedParameters(const ResizedAxis &axis) {
  SmallVector<Value> tensors;
  for (const ResizeParameter *parameter : {&axis.scale.given, &axis.regionStart, &axis.regionEnd})
    if (parameter->tensor)
      tensors.push_back(parameter->tensor);
  return tensors;
}

Type coordinateType(Builder &b, Type elementType, const ResizedAxis &axis, const ResizeOptions &options) {
  if (isNearestByStep(options) || options.byStep)
    return weightType(b, elementType);
  if (options.mode == "nearest" && !axis.scale.isRatio() && !isCrop(options) && !elementType.isF64())
    return b.f32();
  return options.mode == "nearest" || isCrop(options) ? b.operations.getF64Type() : weightType(b, elementType);
}

AxisSampler::AxisSampler(OpBuilder &builder, Location loc, Value position, Type type, const SymbolicInt &inputExtent,
                         const ResizedAxis &axis, const ResizeOptions &options, ValueRange captured)
    : axis(axis), inputExtent(inputExtent), options(options), captured(captured),
      position(Scalar(builder, loc, position).to(type)),
      last(Scalar(builder, loc, extent(builder, loc, inputExtent - SymbolicInt(1)))), input(asFloat(inputExtent)),
      output(asFloat(axis.extent)), givenScale(read(axis.scale.given)), regionStart(read(axis.regionStart)),
      regionEnd(read(axis.regionEnd)) {}

Scalar AxisSampler::coordinate() {
  StringRef mode = options.coordinates;
  if (mode == "asymmetric")
    return overScale(position);
  if (mode == "tf_half_pixel_for_nn")
    return overScale(position + 0.5);
  if (isNearestByStep(options))
    return ((mode == "pytorch_nearest" ? position : position + 0.5) * step()).to(position.emitter().getF32Type());
  if (mode == "align_corners")
    return alignedCoordinate();
  if (isCrop(options))
    return cropCoordinate();
  if (mode == "half_pixel_symmetric") // what is cut off of a length that is no whole number, at both ends alike
    return overScale(position + 0.5 + (length() - output) / 2) - 0.5;
  Scalar centred = (options.byStep ? (position + 0.5) * step() : overScale(position + 0.5)) - 0.5;
  return mode == "pytorch_half_pixel" ? select(output > 1, centred, centred.constant(0)) : centred;
}

Scalar AxisSampler::rounded(Scalar x) {
  if (options.rounding == "floor")
    return floor(x);
  if (options.rounding == "ceil")
    return ceil(x);
  return options.rounding == "round_prefer_ceil" ? floor(x + 0.5) : ceil(x - 0.5);
}

Scalar AxisSampler::read(const ResizeParameter &parameter) {
  if (!parameter.tensor)
    return position.constant(parameter.number);
  Value element = load(position.emitter(), position.location(), captured.front(), {});
  captured = captured.drop_front();
  return position.with(element).to(position.type());
}

Scalar AxisSampler::asFloat(const SymbolicInt &value) {
  if (std::optional<int64_t> constant = value.constant())
    return position.constant(static_cast<double>(*constant));
  return position.with(extent(position.emitter(), position.location(), value)).to(position.type());
}

Scalar AxisSampler::overScale(Scalar x) {
  if (!axis.scale.isRatio())
    return x / givenScale;
  return x * asFloat(axis.scale.denominator) / asFloat(axis.scale.numerator);
}

Scalar AxisSampler::step() {
  if (axis.scale.isRatio())
    return asFloat(axis.scale.denominator) / asFloat(axis.scale.numerator);
  return axis.scale.given.tensor ? 1.0 / givenScale : position.constant(1 / axis.scale.given.number);
}

Scalar AxisSampler::length() {
  if (!axis.scale.isRatio())
    return input * givenScale;
  return axis.scale.denominator == inputExtent
             ? asFloat(axis.scale.numerator)
             : input * asFloat(axis.scale.numerator) / asFloat(axis.scale.denominator);
}

Scalar AxisSampler::alignedCoordinate() {
  bool isPart = axis.scale.isRatio() && axis.scale.denominator != inputExtent;
  Scalar unit = isPart ? asFloat(axis.scale.denominator) : position.constant(1);
  Scalar whole = isPart ? input * asFloat(axis.scale.numerator) : length();
  Scalar steps = select(equal(whole, unit), whole, whole - unit), length = (input - 1) * unit;
  Scalar spread = options.byStep ? position * (length / steps) : position * length / steps;
  return select(equal(whole, unit), position.constant(0), spread);
}

Scalar AxisSampler::cropCoordinate() {
  Scalar steps = max(output - 1, 1);
  Scalar spread = (regionStart * (steps - position) + regionEnd * position) * (input - 1) / steps;
  return select(output > 1, spread, 0.5 * (regionStart + regionEnd) * (input - 1));
}
} // namespace perpend::graph
