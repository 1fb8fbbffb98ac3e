//===- Matrices.cpp - contractions as matrix products ---------------------===//

#include "tile/packing/Matrices.h"

#include "graph/ElementTypes.h"
#include "tile/packing/ExactOperands.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

static Shape extentsOf(ArrayRef<SymbolicInt> shape, ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return shape[dim]; });
}

std::optional<Matrices> Matrices::of(graph::ProductInterface op) {
  std::optional<graph::MatrixProduct> product = op.asMatrixProduct();
  if (!product)
    return std::nullopt;
  Shape right = shapeOf(op->getOperand(1));
  Matrices matrices;
  matrices.extents = {graph::elementCount(extentsOf(product->read, product->left.free)),
                      graph::elementCount(extentsOf(right, product->right.free)),
                      graph::elementCount(extentsOf(product->read, product->left.summed))};
  matrices.product = std::move(*product);
  matrices.leftShape = shapeOf(op->getOperand(0));
  matrices.resultShape = shapeOf(op->getResult(0));
  return matrices;
}

/// Transposes and reshapes to [batch..., first, second].
static Value asMatrix(graph::Builder &builder, Value tensor, ArrayRef<int64_t> batch, ArrayRef<int64_t> first,
                      ArrayRef<int64_t> second, ArrayRef<SymbolicInt> extents) {
  SmallVector<int64_t> permutation(batch);
  llvm::append_range(permutation, first);
  llvm::append_range(permutation, second);
  Shape shape = extentsOf(shapeOf(tensor), batch);
  llvm::append_range(shape, extents);
  return builder.reshape(builder.transpose(tensor, permutation), shape);
}

Value Matrices::partOfLeft(graph::Builder &builder, Value operand) const {
  return readsAll() ? operand
                    : builder.slice(operand, Shape(leftShape.size(), SymbolicInt(0)), product.read, product.steps);
}

Value Matrices::left(graph::Builder &builder, Value operand) const {
  const auto &[batch, free, summed] = product.left;
  return asMatrix(builder, partOfLeft(builder, operand), batch, free, summed, {extents.rows, extents.depth});
}

Value Matrices::transposedLeft(graph::Builder &builder, Value operand) const {
  const auto &[batch, free, summed] = product.left;
  return asMatrix(builder, partOfLeft(builder, operand), batch, summed, free, {extents.depth, extents.rows});
}

Value Matrices::right(graph::Builder &builder, Value operand) const {
  const auto &[batch, free, summed] = product.right;
  return asMatrix(builder, operand, batch, summed, free, {extents.depth, extents.columns});
}

Value Matrices::transposedRight(graph::Builder &builder, Value operand) const {
  const auto &[batch, free, summed] = product.right;
  return asMatrix(builder, operand, batch, free, summed, {extents.columns, extents.depth});
}

/// The positions of these dimensions in memory, without dimensions of extent 1; numbers may be narrower there.
static SmallVector<int64_t> placesInMemory(Value tensor, ArrayRef<int64_t> dims) {
  Shape shape = shapeOf(tensor);
  SmallVector<int64_t> places;
  for (int64_t dim : dims)
    if (shape[dim] != SymbolicInt(1))
      places.push_back(dim);
  while (true) {
    if (auto transpose = tensor.getDefiningOp<graph::TransposeOp>()) {
      for (int64_t &place : places)
        place = transpose.getPermutation()[place];
      tensor = transpose.getInput();
    } else if (Value narrow = extendedBy(tensor.getDefiningOp())) {
      tensor = narrow;
    } else {
      return places;
    }
  }
}

bool Matrices::hasTransposedRight(Value operand) const {
  SmallVector<int64_t> order(product.right.batch);
  llvm::append_range(order, product.right.free);
  llvm::append_range(order, product.right.summed);
  return llvm::is_sorted(placesInMemory(operand, order));
}

bool Matrices::sumsAlongRight(Value operand) const {
  SmallVector<int64_t> summed = placesInMemory(operand, product.right.summed),
                       others = placesInMemory(operand, product.right.free);
  llvm::append_range(others, placesInMemory(operand, product.right.batch));
  return !summed.empty() && llvm::all_of(others, [&](int64_t place) { return place < *llvm::max_element(summed); });
}

double Matrices::bytesOfRight(Value operand, bool ofMatrix) const {
  double bytes = double(graph::bitWidth(graph::tensorTypeOf(operand).getElementType())) / 8;
  for (auto [dim, extent] : llvm::enumerate(shapeOf(operand)))
    if (!ofMatrix || !llvm::is_contained(product.right.batch, int64_t(dim)))
      bytes *= double(extent.constant().value_or(1));
  return bytes;
}

/// Moves columns that come before rows in the result.
Value Matrices::result(graph::Builder &builder, Value matrix) const {
  int64_t columns = product.right.free.size(), behind = product.left.batch.size() + product.left.free.size();
  if (product.columnDim == behind)
    return builder.reshape(matrix, resultShape);
  Shape shape = resultShape;
  std::rotate(shape.begin() + product.columnDim, shape.begin() + product.columnDim + columns, shape.end());
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::rotate(permutation.begin() + product.columnDim, permutation.end() - columns, permutation.end());
  return builder.transpose(builder.reshape(matrix, shape), permutation);
}
