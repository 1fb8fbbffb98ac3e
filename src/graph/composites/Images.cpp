//===- Images.cpp - formulas on encoded images ----------------------------===//
#include "graph/composites/Formulas.h"

using namespace mlir;

namespace perpend::graph {

#ifdef PERPEND_IMAGES
static constexpr bool hasDecoders = true;
#else
static constexpr bool hasDecoders = false;
#endif

namespace composites {
Results image_decode(Builder &b, Values in, const Attributes &a) {
  if (!hasDecoders)
    return {b.fail("this compiler was built without images\nhint: './dev setup' installs the image libraries; build it "
                   "again with -DPERPEND_IMAGES=ON")};
  if (rankOf(in[0]) != 1 || !elementTypeOf(in[0]).isUnsignedInteger(8))
    return {b.fail("expected the bytes of a file, a vector of ui8")};
  std::string format = a.getString("pixel_format", "RGB").lower();
  if (format != "rgb" && format != "bgr" && format != "grayscale")
    return {b.fail("expected pixel_format RGB, BGR or Grayscale, got '" + a.getString("pixel_format") + "'")};
  Shape shape{SymbolicInt::poison(), SymbolicInt::poison(), SymbolicInt(format == "grayscale" ? 1 : 3)};
  auto parameter = b.operations.getNamedAttr("format", b.operations.getStringAttr(format));
  return b.callLibrary("image.decode", {in[0]}, CallResult{shape, elementTypeOf(in[0])}, parameter);
}
} // namespace composites
} // namespace perpend::graph
