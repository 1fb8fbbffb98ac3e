//===- AxisSampler.h - where the elements of a resized axis lie -*- C++ -*-===//
//
// An axis is resized by coordinates: each position of the output has one in
// the input, and elements near it contribute. Resample.cpp says which.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_AXISSAMPLER_H
#define PERPEND_GRAPH_COMPOSITES_AXISSAMPLER_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

struct ResizeOptions {
  llvm::StringRef mode, coordinates, rounding;
  double cubicCoefficient, extrapolation;
  bool excludeOutside, antialias;
  bool byStep; // positions are multiplied by one over the scale, which is rounded, instead of divided by the scale
};
/// A known number, or the scalar tensor that holds it at run time.
struct ResizeParameter {
  double number = 0;
  mlir::Value tensor = {};
  bool isKnown(double value) const { return !tensor && number == value; }
};
/// How many times longer an axis becomes: the number that a model gives, or, where it gives none (0), a ratio of whole
/// numbers.
struct ResizeScale {
  ResizeParameter given;
  SymbolicInt numerator, denominator;

  bool isRatio() const { return given.isKnown(0); }
  bool isKnown(int64_t times) const {
    return isRatio() ? numerator == denominator * times : given.isKnown(static_cast<double>(times));
  }
};
/// One resized axis: output extent, scale, region of interest in [0, 1].
struct ResizedAxis {
  int64_t axis;
  SymbolicInt extent;
  ResizeScale scale;
  ResizeParameter regionStart, regionEnd;
};

/// The parameters of an axis that are tensors, in the order in which AxisSampler captures them.
llvm::SmallVector<mlir::Value> capturedParameters(const ResizedAxis &axis);

inline bool isCrop(const ResizeOptions &options) { return options.coordinates == "tf_crop_and_resize"; }

/// What elements are multiplied and added in.
inline mlir::Type weightType(Builder &b, mlir::Type elementType) {
  return elementType.isF64() ? elementType : mlir::Type(b.f32());
}

/// PyTorch multiplies by one over the scale, in f32 or the type of f64 elements, and rounds to f32: what is the nearest
/// element there follows from that.
inline bool isNearestByStep(const ResizeOptions &options) { return options.coordinates.starts_with("pytorch_nearest"); }

/// A coordinate decides which element is the nearest one, and whether it lies outside of a region. A scale that a model
/// gives is an f32 number such as 1.7, of which no quotient is exact: unless elements are f64, the nearest one is that
/// of f32, as in the standard's reference implementation.
mlir::Type coordinateType(Builder &b, mlir::Type elementType, const ResizedAxis &axis, const ResizeOptions &options);

/// Computes the source elements of one output position.
class AxisSampler {
public:
  /// `captured`: capturedParameters(axis) inside the body, and perhaps others behind them. Coordinates have the type
  /// `type`.
  AxisSampler(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value position, mlir::Type type,
              const SymbolicInt &inputExtent, const ResizedAxis &axis, const ResizeOptions &options,
              mlir::ValueRange captured);

  /// The position in the input, not clamped.
  Scalar coordinate();
  /// A whole number as an index inside the input.
  Scalar clamped(Scalar whole) { return min(max(whole.to(last.type()), 0), last); }
  Scalar rounded(Scalar x);
  /// Whether a coordinate lies outside, where the extrapolation value is used.
  Scalar isOutside(Scalar x) { return (x < 0) | (x > input - 1); }
  Scalar isInside(Scalar whole) { return (whole >= 0) & (whole <= input - 1); }
  /// By how much a kernel is shortened for its distances to count in elements of the input: at most 1.
  Scalar kernelScale() { return options.byStep ? 1.0 / max(step(), 1) : min(scale(), 1); }

private:
  Scalar scale() {
    return axis.scale.isRatio() ? asFloat(axis.scale.numerator) / asFloat(axis.scale.denominator) : givenScale;
  }
  Scalar read(const ResizeParameter &parameter);
  Scalar asFloat(const SymbolicInt &value);
  /// x / scale, rounded once: exact wherever it is a multiple of 1/2.
  Scalar overScale(Scalar x);
  Scalar step();
  /// The output's length before it is rounded to a whole number.
  Scalar length();
  /// The ends of the output are those of its length, which may be no whole number.
  Scalar alignedCoordinate();
  Scalar cropCoordinate();

  const ResizedAxis &axis;
  const SymbolicInt inputExtent;
  const ResizeOptions &options;
  mlir::ValueRange captured;
  Scalar position, last, input, output, givenScale, regionStart, regionEnd;
};
} // namespace perpend::graph

#endif
