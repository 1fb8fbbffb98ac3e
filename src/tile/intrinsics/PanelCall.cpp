//===- PanelCall.cpp - calls of intrinsics on panels ------------------------===//

#include "tile/intrinsics/PanelCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

PanelCode::Values PanelCode::emitWindow(ValueRange initial, llvm::function_ref<Values(Value, Value, ValueRange)> body) {
  return emitLoop(constant(0), arguments.counts[0], 1, initial, [&](Value outer, ValueRange outerValues) {
    Value aOuter = offset(arguments.aOffset, outer, arguments.aSteps[0]);
    Value bOuter = offset(arguments.bOffset, outer, arguments.bSteps[0]);
    return emitLoop(constant(0), arguments.counts[1], 1, outerValues, [&](Value inner, ValueRange values) {
      Value a = offset(aOuter, inner, arguments.aSteps[1]), b = offset(bOuter, inner, arguments.bSteps[1]);
      return body(a, b, values);
    });
  });
}

bool PanelCall::takes(const Intrinsic &intrinsic) {
  std::string word =
      intrinsic.panels && intrinsic.panels->group > 1 ? std::to_string(intrinsic.panels->group) + " " : "";
  return intrinsic.panels && shapesOf(intrinsic) == "outer inner rows depth " + word + "; outer inner depth cols " +
                                                        word + "; rows cols ; ";
}

/// A contiguous buffer of any size with these elements.
FailureOr<Value> PanelCall::plain(Value buffer) {
  auto expected = MemRefType::get({ShapedType::kDynamic}, cast<BaseMemRefType>(buffer.getType()).getElementType());
  if (buffer.getType() == expected)
    return buffer;
  if (!memref::CastOp::areCastCompatible(buffer.getType(), expected))
    return op.emitOpError("expected contiguous one-dimensional buffers, got ")
           << buffer.getType() << "; hint: address a part of a buffer by its base";
  return Value(builder.create<memref::CastOp>(op.getLoc(), expected, buffer));
}

FailureOr<SmallVector<Value>> PanelCall::operands() {
  FailureOr<Value> a = plain(op.getBuffers()[0]), b = plain(op.getBuffers()[1]), c = plain(op.getBuffers()[2]);
  if (failed(a) || failed(b) || failed(c))
    return failure();
  Value depth = extent(depthParameter);
  if (intrinsic.panels->group > 1)
    depth = builder.createOrFold<arith::MulIOp>(
        op.getLoc(), depth, builder.create<arith::ConstantIndexOp>(op.getLoc(), intrinsic.panels->group));
  return SmallVector<Value>{*a,
                            op.getBases()[0],
                            stride(0, 2),
                            *b,
                            op.getBases()[1],
                            *c,
                            op.getBases()[2],
                            stride(2, 0),
                            depth,
                            extent("outer"),
                            extent("inner"),
                            stride(0, 0),
                            stride(0, 1),
                            stride(1, 0),
                            stride(1, 1)};
}
