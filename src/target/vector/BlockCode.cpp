//===- BlockCode.cpp - shared functions of blocks -------------------------===//

#include "target/vector/BlockCode.h"
#include "graph/ErrorKind.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::target;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Value BlockCode::constant(int64_t value) { return builder.create<arith::ConstantIndexOp>(value); }
Value BlockCode::add(Value x, Value y) { return builder.create<arith::AddIOp>(x, y); }
Value BlockCode::multiply(Value x, Value y) { return builder.create<arith::MulIOp>(x, y); }

BlockCode::Values BlockCode::emitLoop(Value from, Value to, int64_t step, ValueRange initial, LoopBody body) {
  auto loop = builder.create<scf::ForOp>(from, to, constant(step), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Values results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!results.empty())
    builder.create<scf::YieldOp>(results);
  return loop.getResults();
}

void BlockCode::prefetch(Value buffer, Value index, int64_t from, int64_t elements, unsigned cache) {
  int64_t inLine = 8 * target.lineBytes() / cast<MemRefType>(buffer.getType()).getElementTypeBitWidth();
  for (int64_t line = 0; line < elements; line += inLine)
    builder.create<memref::PrefetchOp>(buffer, add(index, from + line), /*isWrite=*/false, cache, /*isDataCache=*/true);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::string BlockCall::shapesOf(const Intrinsic &intrinsic) {
  std::string text;
  for (unsigned buffer = 0; buffer < intrinsic.strides.size(); ++buffer) {
    for (const SymbolicInt &extent : intrinsic.bufferType(buffer).extents())
      text += extent.str() + " ";
    text += "; ";
  }
  return text;
}

Value BlockCall::extent(StringRef name) {
  return op.getExtents()[llvm::find(intrinsic.parameters, name) - intrinsic.parameters.begin()];
}

Value BlockCall::stride(unsigned buffer, unsigned dim) {
  for (unsigned i = 0; i < buffer; ++i)
    dim += intrinsic.rank(i);
  return op.getStrides()[dim];
}

LogicalResult BlockCall::check(std::optional<int64_t> rows, std::optional<int64_t> columns, int64_t lines) {
  const std::optional<PanelLayout> &panels = intrinsic.panels;
  std::optional<int64_t> depth;
  if (!panels && llvm::is_contained(intrinsic.parameters, depthParameter))
    depth = getConstantIntValue(extent(depthParameter));
  llvm::StringMap<int64_t> numbers{{rowsParameter, rows.value_or(0)},
                                   {linesParameter, lines},
                                   {columnsParameter, columns.value_or(0)},
                                   {depthParameter, panels ? panels->depth / panels->group : depth.value_or(1)}};
  Shape extents(intrinsic.block.getDomain().values());
  for (SymbolicInt &extent : extents)
    if (auto number = numbers.find(extent.str()); number != numbers.end())
      extent = SymbolicInt(number->second);
    else if (!extent.isConstant())
      extent = SymbolicInt(1);
  if (rows && columns && *rows >= 1 && *columns >= 1 && lines >= 1 && intrinsic.allows(extents))
    return success();
  return op.emitOpError("expected numbers of rows and columns that '") << intrinsic.name << "' takes";
}

FailureOr<SmallVector<Value>> BlockCall::plainBuffers() {
  SmallVector<Value> buffers;
  for (Value buffer : op.getBuffers()) {
    auto expected = MemRefType::get({ShapedType::kDynamic}, cast<BaseMemRefType>(buffer.getType()).getElementType());
    if (!memref::CastOp::areCastCompatible(buffer.getType(), expected))
      return op.emitOpError("expected contiguous one-dimensional buffers, got ")
             << buffer.getType() << graph::Hint("address a part of a buffer by its base");
    buffers.push_back(
        buffer.getType() == expected ? buffer : Value(builder.create<memref::CastOp>(op.getLoc(), expected, buffer)));
  }
  return buffers;
}

func::FuncOp BlockCall::function(StringRef name, TypeRange inputs, ArrayRef<Attribute> attributes, EmitCode emit) {
  auto module = op->getParentOfType<ModuleOp>();
  if (auto existing = module.lookupSymbol<func::FuncOp>(name))
    return existing;
  ImplicitLocOpBuilder code(module.getLoc(), module.getBodyRegion());
  auto function = code.create<func::FuncOp>(name, code.getFunctionType(inputs, {}));
  function.setPrivate();
  SmallVector<Attribute> all{code.getStringAttr("noinline")};
  all.append(attributes.begin(), attributes.end());
  function->setAttr("passthrough", code.getArrayAttr(all));
  function->setAttr("llvm.linkage", LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal));
  code.setInsertionPointToStart(function.addEntryBlock());
  emit(code, function.getArguments());
  code.create<func::ReturnOp>();
  return function;
}

void BlockCall::replace(StringRef name, ValueRange operands, EmitCode emit) {
  builder.create<func::CallOp>(op.getLoc(), function(name, operands.getTypes(), {}, emit), operands);
  op.erase();
}
