//===- GroupCall.cpp - calls of products with grouped numbers -------------===//

#include "target/vector/GroupCall.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

bool GroupCall::takes(const Intrinsic &intrinsic) {
  if (!intrinsic.groups)
    return false;
  int64_t perWord = intrinsic.groups->perWord;
  return shapesOf(intrinsic) == "outer rows depth " + (perWord > 1 ? std::to_string(perWord) + " " : "") +
                                    "; outer depth cols ; " + "outer cols ; " +
                                    (intrinsic.groups->zero ? "outer cols ; " : "") +
                                    (intrinsic.groups->rowScale ? "outer rows ; " : "") + "rows cols ; ";
}

/// In the order of argumentsOf().
SmallVector<Value> GroupCall::operands(ValueRange buffers) {
  SmallVector<Value> values;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    values.append({buffer, op.getBases()[number], stride(number, 0)});
    if (number == 0 || (hasRowScales() && number + 2 == buffers.size()))
      values.push_back(stride(number, 1));
  }
  values.append({extent("depth"), extent("outer")});
  return values;
}

GroupArguments GroupCall::argumentsOf(ValueRange values) {
  size_t at = 0;
  auto take = [&] { return values[at++]; };
  GroupArguments arguments;
  auto read = [&](GroupArguments::Operand &operand, bool isWalked) {
    operand.buffer = take();
    operand.base = take();
    (isWalked ? operand.outerStride : operand.stride) = take();
  };
  read(arguments.rows, true);
  arguments.rows.stride = take();
  read(arguments.words, true);
  read(arguments.scales, true);
  if (hasZeros())
    read(arguments.zeros, true);
  if (hasRowScales()) {
    read(arguments.rowScales, true);
    arguments.rowScales.stride = take();
  }
  read(arguments.sums, false);
  arguments.depth = take();
  arguments.outer = take();
  return arguments;
}

LogicalResult GroupCall::lower(StringRef prefix, EmitBlock emit) {
  std::optional<int64_t> rows = getConstantIntValue(this->rows()), cols = getConstantIntValue(columns());
  FailureOr<SmallVector<Value>> buffers = plainBuffers();
  if (failed(buffers) || failed(check(rows, cols)))
    return failure();
  replace(llvm::formatv("{0}_{1}_{2}x{3}", prefix, intrinsic.name, *rows, *cols).str(), operands(*buffers),
          [&](ImplicitLocOpBuilder &code, ValueRange arguments) { emit(code, argumentsOf(arguments), *rows, *cols); });
  return success();
}
