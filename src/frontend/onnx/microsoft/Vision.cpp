//===- Vision.cpp - images, spectra and matrices --------------------------===//
//
// Operators of the domain com.microsoft on images, complex numbers and whole
// matrices.
//
//===----------------------------------------------------------------------===//

#include "frontend/onnx/Operators.h"
#include "graph/composites/Formulas.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::onnx {

static Value part(Builder &b, Value x, int64_t axis, int64_t start, int64_t size) {
  return x ? sliceAxis(b, x, axis, SymbolicInt(start), SymbolicInt(size)) : x;
}

Results importCropAndResize(Node &node) {
  std::optional<Shape> size = node.hasInputs(4) ? node.sizes(3, "crop_size") : std::nullopt;
  if (!size)
    return {};
  return node.composite("crop_and_resize", ArrayRef(node.inputs).take_front(3),
                        node.attribute("size", ArrayRef<SymbolicInt>(*size)));
}

/// The windows of `size` elements along `dim`, `step` apart, with a window's elements in the last dimension.
Results importUnfoldTensor(Node &node) {
  if (!node.hasInputs(1))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0);
  int64_t rank = rankOf(x), axis = normalAxis(b, node.attributes.getInt("dim", -1), rank);
  int64_t size = node.attributes.getInt("size"), step = node.attributes.getInt("step", 1);
  if (axis < 0)
    return {};
  if (size < 1 || step < 1)
    return node.fail("expected a positive size and step, got " + Twine(size) + " and " + Twine(step));
  SymbolicInt last = shapeOf(x)[axis] - SymbolicInt(size);
  b.require(last,
            last.isConstant()
                ? "expected windows of at most " + shapeOf(x)[axis].str() + " elements, got " + std::to_string(size)
                : "the windows are larger than dimension " + std::to_string(axis) + " of the input");
  if (b.hasFailed())
    return {};
  SymbolicInt count = floorDiv(last, SymbolicInt(step)) + SymbolicInt(1);
  Value starts = graph::mul(b, iota(b, count, b.i64()), b.scalar(static_cast<double>(step), b.i64()));
  Value places = graph::add(b, b.unsqueeze(starts, 1), iota(b, SymbolicInt(size), b.i64()));
  return {moveAxis(b, b.gather(x, places, axis), axis + 1, rank)};
}

//===----------------------------------------------------------------------===//
// Complex numbers: the last dimension is the real and the imaginary part
//===----------------------------------------------------------------------===//

static Results complexProduct(Node &node, bool isConjugate) {
  if (!node.hasInputs(2))
    return {};
  Builder &b = node.builder;
  Value x = node.input(0), y = node.input(1);
  if (rankOf(x) < 1 || rankOf(y) < 1 || provablyDiffer(shapeOf(x).back(), SymbolicInt(2)) ||
      provablyDiffer(shapeOf(y).back(), SymbolicInt(2)))
    return node.fail("expected complex numbers: a last dimension of 2");
  auto half = [&](Value z, int64_t index) { return part(b, z, rankOf(z) - 1, index, 1); };
  Value real = graph::mul(b, half(x, 0), half(y, 0)), imaginary = graph::mul(b, half(x, 1), half(y, 0));
  Value crossReal = graph::mul(b, half(x, 1), half(y, 1)), cross = graph::mul(b, half(x, 0), half(y, 1));
  real = isConjugate ? graph::add(b, real, crossReal) : graph::sub(b, real, crossReal);
  imaginary = isConjugate ? graph::sub(b, imaginary, cross) : graph::add(b, imaginary, cross);
  return {real && imaginary ? b.concat({real, imaginary}, rankOf(real) - 1) : Value()};
}
Results importComplexMul(Node &node) { return complexProduct(node, false); }
/// a times the conjugate of b.
Results importComplexMulConj(Node &node) { return complexProduct(node, true); }

static bool checkTransform(Node &node, int64_t leastRank) {
  if (!node.hasInputs(1))
    return false;
  if (node.attributes.getInt("signal_ndim", 1) == 1 && node.attributes.getInt("onesided", 1) == 1 &&
      node.attributes.getInt("normalized") == 0 && rankOf(node.input(0)) >= leastRank)
    return true;
  node.fail("expected signals of one dimension, onesided = 1 and normalized = 0");
  return false;
}

static Value transformed(Node &node, Value x, int64_t axis, bool isInverse) {
  Builder &b = node.builder;
  NamedAttribute form[] = {node.attribute("axis", b.operations.getI64IntegerAttr(axis)),
                           node.attribute("inverse", b.operations.getI64IntegerAttr(isInverse)),
                           node.attribute("onesided", b.operations.getI64IntegerAttr(1))};
  return x ? applyComposite(b, "dft", x, Attributes(b.context(), form))[0] : x;
}

/// [.., n] to [.., n / 2 + 1, 2].
Results importRfft(Node &node) {
  if (!checkTransform(node, 1))
    return {};
  int64_t rank = rankOf(node.input(0));
  return {transformed(node, node.builder.unsqueeze(node.input(0), rank), rank - 1, false)};
}

/// [.., n / 2 + 1, 2] to [.., n], n even.
Results importIrfft(Node &node) {
  if (!checkTransform(node, 2))
    return {};
  int64_t rank = rankOf(node.input(0));
  Value real = transformed(node, node.input(0), rank - 2, true);
  return {real ? node.builder.squeeze(real, {rank - 1}) : real};
}
} // namespace perpend::onnx
