//===- GroupCall.cpp - calls of products with grouped numbers -------------===//

#include "target/vector/GroupCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

bool GroupCall::takes(const Intrinsic &intrinsic) {
  if (!intrinsic.groups)
    return false;
  const GroupLayout &groups = *intrinsic.groups;
  const std::string group = groups.sharedScale ? "shared outer " : "outer ";
  const std::string unit = groups.upper ? std::to_string(groups.wordsOfUnit) + " " : "";
  return shapesOf(intrinsic) ==
         group + "rows depth " + unit + (groups.perWord > 1 ? std::to_string(groups.perWord) + " " : "") + "; " +
             group + "depth " + unit + "cols ; " + (groups.upper ? group + "depth cols ; " : "") + group + "cols ; " +
             (groups.sharedScale ? "shared cols ; " : "") + (groups.zero ? group + "cols ; " : "") +
             (groups.rowScale ? group + "rows ; " : "") + "rows cols ; ";
}

/// In the order of argumentsOf(). Groups that share scales follow one another as all groups do, so that these are
/// counted in one.
SmallVector<Value> GroupCall::operands(ValueRange buffers) {
  const size_t sharedScales = intrinsic.groups->scalesBuffer() + 1;
  SmallVector<Value> values;
  for (auto [number, buffer] : llvm::enumerate(buffers)) {
    bool isOfGroups = number + 1 < buffers.size() && !(hasSharedScales() && number == sharedScales);
    unsigned first = hasSharedScales() && isOfGroups ? 1 : 0;
    values.append({buffer, op.getBases()[number], stride(number, first)});
    if (number == 0 || (hasRowScales() && number + 2 == buffers.size()))
      values.push_back(stride(number, first + 1));
  }
  Value groups = extent("outer");
  if (hasSharedScales())
    groups = builder.createOrFold<arith::MulIOp>(op.getLoc(), groups, extent("shared"));
  values.append({extent("depth"), groups});
  if (hasSharedScales())
    values.push_back(extent("outer"));
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
  if (hasUpper())
    read(arguments.upper, true);
  read(arguments.scales, true);
  if (hasSharedScales())
    read(arguments.sharedScales, true);
  if (hasZeros())
    read(arguments.zeros, true);
  if (hasRowScales()) {
    read(arguments.rowScales, true);
    arguments.rowScales.stride = take();
  }
  read(arguments.sums, false);
  arguments.depth = take();
  arguments.outer = take();
  if (hasSharedScales())
    arguments.sharing = take();
  if (at < values.size())
    arguments.count = take();
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

std::optional<int64_t> GroupCall::depth() { return getConstantIntValue(extent("depth")); }

std::optional<int64_t> GroupCall::groupStride() { return getConstantIntValue(stride(0, hasSharedScales() ? 1 : 0)); }

Value GroupCall::unknownRows() { return getConstantIntValue(rows()) ? Value() : rows(); }

CallIntrinsicOp GroupCall::ofRows(OpBuilder &at, Value first, int64_t count) {
  auto copy = cast<CallIntrinsicOp>(at.clone(*op));
  Location loc = op.getLoc();
  SymbolicInt rows = SymbolicInt::symbol(rowsParameter);
  for (auto [buffer, base] : llvm::enumerate(op.getBases()))
    for (auto [dim, extent] : llvm::enumerate(intrinsic.bufferType(buffer).extents())) {
      if (extent != rows)
        continue;
      Value moved = at.createOrFold<arith::MulIOp>(loc, first, stride(buffer, dim));
      copy->setOperand(copy.getBases().getBeginOperandIndex() + buffer,
                       at.createOrFold<arith::AddIOp>(loc, base, moved));
    }
  auto parameter = llvm::find(intrinsic.parameters, rowsParameter) - intrinsic.parameters.begin();
  copy->setOperand(copy.getExtents().getBeginOperandIndex() + parameter, at.create<arith::ConstantIndexOp>(loc, count));
  copy->moveBefore(at.getInsertionBlock(), at.getInsertionPoint());
  return copy;
}

LogicalResult GroupCall::lowerAnyRows(StringRef prefix, int64_t most, int64_t depth, ArrayRef<Attribute> attributes,
                                      EmitRows emit) {
  std::optional<int64_t> rows = getConstantIntValue(this->rows()), cols = getConstantIntValue(columns());
  FailureOr<SmallVector<Value>> buffers = plainBuffers();
  if (failed(buffers) || failed(check(rows.value_or(most), cols)))
    return failure();
  SmallVector<Value> all = operands(*buffers);
  all.push_back(this->rows());
  auto emitCode = [&](ImplicitLocOpBuilder &code, ValueRange arguments) { emit(code, argumentsOf(arguments), *cols); };
  std::string name = llvm::formatv("{0}_{1}_{2}x{3}", prefix, intrinsic.name, depth, *cols);
  func::FuncOp code = function(name, ValueRange(all).getTypes(), attributes, emitCode);
  builder.create<func::CallOp>(op.getLoc(), code, all);
  op.erase();
  return success();
}
