//===- PanelCall.cpp - calls of intrinsics on panels ----------------------===//

#include "target/vector/PanelCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
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

bool PanelCall::hasShapes(const Intrinsic &intrinsic, StringRef lines) {
  std::string word =
      intrinsic.panels && intrinsic.panels->group > 1 ? std::to_string(intrinsic.panels->group) + " " : "";
  return intrinsic.panels && shapesOf(intrinsic) == ("outer inner " + lines + "rows depth " + word +
                                                     "; outer inner depth cols " + word + "; " + lines + "rows cols ; ")
                                                        .str();
}

FailureOr<SmallVector<Value>> PanelCall::operands() {
  FailureOr<SmallVector<Value>> buffers = plainBuffers();
  if (failed(buffers))
    return failure();
  Value depth = extent(depthParameter);
  if (intrinsic.panels->group > 1)
    depth = builder.createOrFold<arith::MulIOp>(
        op.getLoc(), depth, builder.create<arith::ConstantIndexOp>(op.getLoc(), intrinsic.panels->group));
  unsigned inLine = intrinsic.rank(2) - 2; // the rows' dimension in the sums
  return SmallVector<Value>{(*buffers)[0],   op.getBases()[0], stride(0, 2 + inLine), (*buffers)[1], op.getBases()[1],
                            (*buffers)[2],   op.getBases()[2], stride(2, inLine),     depth,         extent("outer"),
                            extent("inner"), stride(0, 0),     stride(0, 1),          stride(1, 0),  stride(1, 1)};
}
