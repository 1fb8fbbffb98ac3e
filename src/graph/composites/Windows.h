//===- Windows.h - the geometry of pooling and convolution ------*- C++ -*-===//

#ifndef PERPEND_GRAPH_COMPOSITES_WINDOWS_H
#define PERPEND_GRAPH_COMPOSITES_WINDOWS_H

#include "graph/composites/Formulas.h"

namespace perpend::graph {

/// The window attributes of an operator, and its input after any padding that is not constant.
struct WindowInput {
  mlir::Value input;
  Window window;
};

struct Pooling {
  llvm::SmallVector<int64_t> size;
  WindowInput resolved;
};

/// Reads kernel_shape, strides, pads, dilations, auto_pad and ceil_mode. Padding is filled with `fill`.
/// Errors: nullopt.
std::optional<Pooling> poolingOf(Builder &builder, mlir::Value input, const Attributes &attributes, double fill);

// Of convolutions. Errors: null, nullopt or false.
/// Strides, pads, dilations and group of `dims` dimensions.
std::optional<Window> windowOf(Builder &builder, size_t dims, const Attributes &attributes);
bool checkKernel(Builder &builder, llvm::ArrayRef<SymbolicInt> kernel, const Attributes &attributes);
bool checkFilter(Builder &builder, mlir::Value input, mlir::Value filter);
/// `bias` [c] may be null.
mlir::Value addBias(Builder &builder, mlir::Value result, mlir::Value bias);

/// Converts the filter [c, o/g, k...] to that of the equivalent convolution: [o, c/g, k... reversed]. Errors: null.
mlir::Value transposedFilter(Builder &builder, mlir::Value filter, int64_t groups);

/// The neutral element of a maximum.
double lowestValue(mlir::Type elementType);

/// Emits an error if x lacks dimensions for batch and channels.
bool hasChannels(Builder &b, mlir::Value x);
} // namespace perpend::graph

#endif
