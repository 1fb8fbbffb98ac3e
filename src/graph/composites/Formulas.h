//===- Formulas.h - shared functions of composites --------------*- C++ -*-===//
//
// Typed functions on tensors, shared by composites and front ends. All
// propagate null.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_COMPOSITES_FORMULAS_H
#define PERPEND_GRAPH_COMPOSITES_FORMULAS_H

#include "graph/ScalarMath.h"
#include "graph/composites/Composites.h"

namespace perpend::graph {

using Formula = llvm::function_ref<Scalar(llvm::ArrayRef<Scalar>)>;
/// Computes the elements of a small tensor from those of its inputs; nullopt if unknown.
using ContentsFormula = llvm::function_ref<std::optional<SymbolicInt>(llvm::ArrayRef<SymbolicInt>)>;

inline mlir::Type elementTypeOf(mlir::Value tensor) { return tensorTypeOf(tensor).getElementType(); }
inline bool isFloat(mlir::Value tensor) { return llvm::isa<mlir::FloatType>(elementTypeOf(tensor)); }
inline int64_t rankOf(mlir::Value tensor) { return tensorTypeOf(tensor).getRank(); }
inline mlir::Value optionalInput(Values in, size_t index) { return index < in.size() ? in[index] : mlir::Value(); }
/// f32 for f16, bf16 and minifloats: formulas compute in it, so that only their result is rounded to 16 bits.
mlir::Type computeType(mlir::Type elementType);
/// Converts to the compute type, or to the element type of another tensor.
inline mlir::Value toCompute(Builder &builder, mlir::Value x) {
  return x ? builder.cast(x, computeType(elementTypeOf(x))) : x;
}
inline mlir::Value castLike(Builder &builder, mlir::Value x, mlir::Value like) {
  return x ? builder.cast(x, elementTypeOf(like)) : x;
}
/// The attributes saturate and round_mode.
MinifloatRounding roundingOf(const Attributes &attributes);
/// Each element of `blocks` repeated `size` times along `axis`, up to the extents of `shape`.
mlir::Value repeatBlocks(Builder &builder, mlir::Value blocks, int64_t axis, int64_t size,
                         llvm::ArrayRef<SymbolicInt> shape);
/// A negative axis counts from the end. -1, with an error, when it is out of range.
int64_t normalAxis(Builder &builder, int64_t axis, int64_t rank);
/// nullopt, with an error, when an axis is out of range; sorted, without repetition.
std::optional<llvm::SmallVector<int64_t>> normalAxes(Builder &builder, llvm::ArrayRef<int64_t> axes, int64_t rank);

// Elementwise.
/// An elementwise formula over inputs of one element type, broadcast; the result's is `resultType` (or the same).
mlir::Value pointwise(Builder &builder, Values inputs, Formula formula, mlir::Type resultType = {});
/// Tracks the contents of small integer tensors through an elementwise formula.
mlir::Value follow(Builder &builder, Values inputs, mlir::Value result, ContentsFormula formula);
mlir::Value add(Builder &builder, mlir::Value a, mlir::Value b);
mlir::Value sub(Builder &builder, mlir::Value a, mlir::Value b);
mlir::Value mul(Builder &builder, mlir::Value a, mlir::Value b);
mlir::Value div(Builder &builder, mlir::Value a, mlir::Value b);
mlir::Value where(Builder &builder, mlir::Value condition, mlir::Value then, mlir::Value otherwise);
/// A symbolic number as a scalar tensor.
mlir::Value number(Builder &builder, const SymbolicInt &value, mlir::Type elementType);
/// A small integer tensor of known elements, as a constant when all are numbers.
mlir::Value knownIntegers(Builder &builder, llvm::ArrayRef<SymbolicInt> values, llvm::ArrayRef<SymbolicInt> shape,
                          mlir::Type elementType);
/// The value of a constant all of whose elements are equal.
std::optional<double> constantNumber(mlir::Value tensor);

// Reductions. Sums of f16 and bf16 are accumulated in f32.
mlir::Value sum(Builder &builder, mlir::Value input, llvm::ArrayRef<int64_t> axes, bool keepDims);
mlir::Value mean(Builder &builder, mlir::Value input, llvm::ArrayRef<int64_t> axes, bool keepDims);
mlir::Value softmax(Builder &builder, mlir::Value input, int64_t axis, bool isLogarithmic);
/// (x - mean) / sqrt(variance + epsilon) over some axes, in the compute type.
struct Normalised {
  mlir::Value result, mean, inverseDeviation;
};
Normalised normalise(Builder &builder, mlir::Value input, llvm::ArrayRef<int64_t> axes, double epsilon);

// Views.
/// A vector along dimension `axis` of a tensor of this shape.
mlir::Value alongAxis(Builder &builder, mlir::Value vector, int64_t axis, llvm::ArrayRef<SymbolicInt> shape);
/// Dimension `from` becomes dimension `to`; the others keep their order.
mlir::Value moveAxis(Builder &builder, mlir::Value input, int64_t from, int64_t to);
/// Reshapes to a shape with at most one -1, which is deduced from the number of elements.
mlir::Value reshapeTo(Builder &builder, mlir::Value input, Shape shape);
/// The part [starts, ends) of the listed axes, as numpy slices (negative positions, clamping, steps).
mlir::Value sliceAxes(Builder &builder, mlir::Value input, llvm::ArrayRef<int64_t> axes,
                      llvm::ArrayRef<SymbolicInt> starts, llvm::ArrayRef<SymbolicInt> ends,
                      llvm::ArrayRef<int64_t> steps);
mlir::Value sliceAxis(Builder &builder, mlir::Value input, int64_t axis, const SymbolicInt &start,
                      const SymbolicInt &size);
/// The positions of the first k elements along an axis in stable sorted order; the caller has required that there are
/// as many.
mlir::Value firstPositions(Builder &builder, mlir::Value x, int64_t axis, bool isDescending, const SymbolicInt &k);
/// `low` and `high` per dimension; mode constant, reflect, edge or wrap.
mlir::Value padTensor(Builder &builder, mlir::Value input, llvm::ArrayRef<SymbolicInt> low,
                      llvm::ArrayRef<SymbolicInt> high, llvm::StringRef mode, double value = 0);
/// With a fill value that is computed at run time, or that has no numeric form (minifloats), as a tensor of rank 0.
mlir::Value padTensor(Builder &builder, mlir::Value input, llvm::ArrayRef<SymbolicInt> low,
                      llvm::ArrayRef<SymbolicInt> high, mlir::Value element);
mlir::Value tileTensor(Builder &builder, mlir::Value input, llvm::ArrayRef<SymbolicInt> repeats);
/// Numpy's broadcast_to; a 1 in the shape keeps the input's extent.
mlir::Value expandTo(Builder &builder, mlir::Value input, llvm::ArrayRef<SymbolicInt> shape);
/// 0, 1, 2 ... as a vector.
mlir::Value iota(Builder &builder, const SymbolicInt &count, mlir::Type elementType);
/// The row-major positions at which a vector of booleans is true; `count`, if given, is their number.
mlir::Value positionsWhere(Builder &builder, mlir::Value mask, std::optional<SymbolicInt> count = std::nullopt);
/// A vector with values[i] at index positions[i] and the length of `positions`; positions outside are dropped.
mlir::Value scatterVector(Builder &builder, mlir::Value positions, mlir::Value values,
                          std::optional<ReductionKind> kind = std::nullopt);
/// Requires, for a generate body that reads tensors at its own index, that each extent is at least what is read.
void requireExtents(Builder &builder, llvm::ArrayRef<SymbolicInt> extents, llvm::ArrayRef<SymbolicInt> read,
                    llvm::StringRef what);
/// Emits an error unless `x` (null: no check) has this shape; if only the run decides, requires it.
void requireShape(Builder &builder, mlir::Value x, const llvm::Twine &what, const Shape &expected);
/// Ends the run with `message` unless every element of a tensor of booleans is true.
void requireAll(Builder &builder, mlir::Value condition, llvm::StringRef message);
/// Normalises negative indices, which count from the end.
mlir::Value normalIndices(Builder &builder, mlir::Value indices, const SymbolicInt &extent);

// Views whose shapes are vectors of integers computed at run time (MeasuredShapes.cpp). Their length must be known,
// unless the rank of the result is known otherwise. Known elements are used.
/// 0 copies the input's extent, unless `hasZeros`; -1 is deduced.
mlir::Value reshapeMeasured(Builder &builder, mlir::Value input, mlir::Value shape, bool hasZeros);
/// A shape of unknown length needs the rank of the result.
mlir::Value expandMeasured(Builder &builder, mlir::Value input, mlir::Value shape, std::optional<int64_t> rank = {});
/// Numpy slices, any number of them. `axes` (null: 0, 1, ...) and `steps` (null: 1).
mlir::Value sliceMeasured(Builder &builder, mlir::Value input, mlir::Value starts, mlir::Value ends, mlir::Value axes,
                          mlir::Value steps);
mlir::Value squeezeMeasured(Builder &builder, mlir::Value input, mlir::Value axes);
mlir::Value unsqueezeMeasured(Builder &builder, mlir::Value input, mlir::Value axes);
/// How the axes of a reduction affect the shape.
struct MeasuredAxes {
  bool keepDims, noneMeansAll;
  /// The rank of the result if dimensions are not kept; nullopt: the number of axes must be known.
  std::optional<int64_t> remaining;
};
/// Applies `reduction`, on [kept, reduced] over dimension 1, to a tensor whose axes to reduce are given.
mlir::Value reduceMeasured(Builder &builder, mlir::Value input, mlir::Value axes, const MeasuredAxes &meaning,
                           llvm::function_ref<mlir::Value(mlir::Value)> reduction);
/// A vector of length rank: values[j] at axes[j], which may be negative, and `otherwise` elsewhere. Any number of axes.
mlir::Value spreadOverAxes(Builder &builder, mlir::Value axes, mlir::Value values, mlir::Value otherwise);
/// The number of elements of arange.
SymbolicInt rangeMeasured(Builder &builder, mlir::Value start, mlir::Value limit, mlir::Value step);
// Lists.
/// The elements of a list built by known operators; nullopt if unknown.
std::optional<llvm::SmallVector<mlir::Value>> listElements(mlir::Value list);
/// A list of these elements. Its element type joins theirs with `elementType`, which may be null.
mlir::Value makeList(Builder &builder, Values elements, mlir::Type elementType = {}, bool isOptional = false);
/// The element at a position (one integer; negative ones count from the end). Extents that its type does not contain
/// become symbols.
mlir::Value listElement(Builder &builder, mlir::Value list, mlir::Value position);
mlir::Value listLength(Builder &builder, mlir::Value list);

// Products, accumulated in f32 for f16 and bf16.
mlir::Value matmulOf(Builder &builder, mlir::Value lhs, mlir::Value rhs);
} // namespace perpend::graph

#endif
