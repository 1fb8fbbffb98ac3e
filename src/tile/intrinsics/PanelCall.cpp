//===- PanelCall.cpp - calls of intrinsics on panels ------------------------===//

#include "tile/intrinsics/PanelCall.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

bool PanelCall::takes(const Intrinsic &intrinsic) {
  std::string text;
  for (unsigned buffer = 0; buffer < intrinsic.strides.size(); ++buffer) {
    for (const SymbolicInt &extent : intrinsic.bufferType(buffer).extents())
      text += extent.str() + " ";
    text += "; ";
  }
  std::string word =
      intrinsic.panels && intrinsic.panels->group > 1 ? std::to_string(intrinsic.panels->group) + " " : "";
  return intrinsic.panels &&
         text == "outer inner rows depth " + word + "; outer inner depth cols " + word + "; rows cols ; ";
}

Value PanelCall::extent(StringRef name) {
  return op.getExtents()[llvm::find(intrinsic.parameters, name) - intrinsic.parameters.begin()];
}

Value PanelCall::stride(unsigned buffer, unsigned dim) {
  for (unsigned i = 0; i < buffer; ++i)
    dim += intrinsic.rank(i);
  return op.getStrides()[dim];
}

LogicalResult PanelCall::check(std::optional<int64_t> rows, std::optional<int64_t> columns) {
  const PanelLayout &panels = *intrinsic.panels;
  llvm::StringMap<int64_t> numbers{{rowsParameter, rows.value_or(0)},
                                   {columnsParameter, columns.value_or(0)},
                                   {depthParameter, panels.depth / panels.group}};
  Shape extents(intrinsic.block.getDomain().values());
  for (SymbolicInt &extent : extents)
    if (auto number = numbers.find(extent.str()); number != numbers.end())
      extent = SymbolicInt(number->second);
    else if (!extent.isConstant())
      extent = SymbolicInt(1);
  if (rows && columns && *rows >= 1 && *columns >= 1 && intrinsic.allows(extents))
    return success();
  return op.emitOpError("expected numbers of rows and columns that '") << intrinsic.name << "' takes";
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

func::FuncOp PanelCall::function(StringRef name, TypeRange inputs, ArrayRef<Attribute> attributes,
                                 llvm::function_ref<void(ImplicitLocOpBuilder &, PanelArguments)> emit) {
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
  emit(code, PanelArguments(function.getArguments()));
  code.create<func::ReturnOp>();
  return function;
}
