//===- Classical.h - shared by the ai.onnx.ml operators ---------*- C++ -*-===//

#ifndef PERPEND_FRONTEND_ONNX_ML_CLASSICAL_H
#define PERPEND_FRONTEND_ONNX_ML_CLASSICAL_H

#include "frontend/onnx/Operators.h"

namespace perpend::onnx {
/// The elements of a list or tensor attribute, or of the first present one of several.
llvm::SmallVector<double> numbersOf(const Node &node, llvm::ArrayRef<StringRef> names);
inline llvm::SmallVector<double> numbersOf(const Node &node, const char *name) {
  return numbersOf(node, StringRef(name));
}
llvm::SmallVector<StringRef> textsOf(const Node &node, StringRef name);

/// A constant of these numbers in row-major order.
Value constantOf(Builder &builder, llvm::ArrayRef<double> values, llvm::ArrayRef<int64_t> shape,
                 mlir::Type elementType);

/// The first present one of these list or tensor attributes, as a vector; integers are exact. Null if there is none.
Value vectorOf(const Node &node, llvm::ArrayRef<StringRef> names, mlir::Type elementType);

/// The input as a matrix [n, features] of f64 or f32; a vector is one row. Null, with an error, for other ranks or if
/// the number of features is not `features` (0: any known number).
Value featuresOf(Node &node, int64_t features = 0);

/// Scores [n, classes] after NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT.
Value transformedScores(Node &node, Value scores, StringRef transform);

/// The position of the highest score of each row.
Value bestOf(Builder &builder, Value scores);

/// The integer labels of positions [n]; null, with an error, if labels are strings.
Value labelsAt(Node &node, Value positions, StringRef integers, StringRef strings);
} // namespace perpend::onnx

#endif
