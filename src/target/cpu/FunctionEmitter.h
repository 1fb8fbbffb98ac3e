//===- FunctionEmitter.h - emits functions of the module ABI ----*- C++ -*-===//

#ifndef PERPEND_TARGET_CPU_FUNCTIONEMITTER_H
#define PERPEND_TARGET_CPU_FUNCTIONEMITTER_H

#include "graph/SymbolicCode.h"
#include "target/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace perpend::target {

/// Emits one function: pointers, 64-bit integers and symbolic expressions.
class FunctionEmitter {
public:
  FunctionEmitter(mlir::ModuleOp module, mlir::StringRef name, mlir::FunctionType type, mlir::Location loc)
      : builder(mlir::OpBuilder::atBlockEnd(module.getBody())), loc(loc),
        function(builder.create<mlir::func::FuncOp>(loc, name, type)), pointer(pointerType(module)),
        i64(builder.getI64Type()) {
    function->setAttr("passthrough", builder.getStrArrayAttr({mainAttribute}));
    builder.setInsertionPointToStart(function.addEntryBlock());
  }
  static mlir::Type pointerType(mlir::ModuleOp module) { return mlir::LLVM::LLVMPointerType::get(module.getContext()); }

  mlir::Value argument(unsigned number) { return function.getArgument(number); }
  mlir::Value integer(int64_t value) {
    return builder.create<mlir::arith::ConstantOp>(loc, builder.getI64IntegerAttr(value));
  }
  mlir::Value half(int64_t value) { return builder.create<mlir::arith::ConstantIntOp>(loc, value, 32); }
  mlir::Value element(mlir::Value base, mlir::Type type, int64_t number) {
    return builder.create<mlir::LLVM::GEPOp>(loc, pointer, type, base,
                                             mlir::ArrayRef<mlir::LLVM::GEPArg>{static_cast<int32_t>(number)});
  }
  mlir::Value load(mlir::Type type, mlir::Value base, int64_t number) {
    return builder.create<mlir::LLVM::LoadOp>(loc, type, element(base, type, number));
  }
  mlir::Value loadPointer(mlir::Value base, int64_t number) { return load(pointer, base, number); }
  void store(mlir::Value value, mlir::Value base, int64_t number) {
    builder.create<mlir::LLVM::StoreOp>(loc, value, element(base, value.getType(), number));
  }
  /// Arguments of a kernel, addresses and numbers: 8 bytes each, whatever the size of an address.
  mlir::Value loadSlot(mlir::Type type, mlir::Value list, int64_t number) {
    return builder.create<mlir::LLVM::LoadOp>(loc, type, element(list, i64, number));
  }
  void storeSlot(mlir::Value value, mlir::Value list, int64_t number) {
    builder.create<mlir::LLVM::StoreOp>(loc, value, element(list, i64, number));
  }
  mlir::Value bytesAfter(mlir::Value base, mlir::Value count) {
    return builder.create<mlir::LLVM::GEPOp>(loc, pointer, builder.getI8Type(), base,
                                             mlir::ArrayRef<mlir::LLVM::GEPArg>{count});
  }
  mlir::Value toIndex(mlir::Value value) {
    return builder.create<mlir::arith::IndexCastOp>(loc, builder.getIndexType(), value);
  }
  mlir::Value toInteger(mlir::Value value) { return builder.create<mlir::arith::IndexCastOp>(loc, i64, value); }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    return builder.create<mlir::arith::CmpIOp>(loc, predicate, a, b);
  }
  /// Continues in a new block if `condition` holds, otherwise branches to `otherwise`.
  void proceedIf(mlir::Value condition, mlir::Block *otherwise, mlir::ValueRange arguments = {}) {
    mlir::Block *next = function.addBlock();
    builder.create<mlir::cf::CondBranchOp>(loc, condition, next, mlir::ValueRange{}, otherwise, arguments);
    builder.setInsertionPointToStart(next);
  }

  /// A memref over the memory at `address`. Only checked kernels need its extent.
  mlir::Value memory(mlir::Value address, mlir::MemRefType type, mlir::Value extent = {}) {
    mlir::Type one = mlir::LLVM::LLVMArrayType::get(i64, 1);
    auto descriptorType =
        mlir::LLVM::LLVMStructType::getLiteral(builder.getContext(), {pointer, pointer, i64, one, one});
    mlir::Value descriptor = builder.create<mlir::LLVM::UndefOp>(loc, descriptorType);
    auto insert = [&](mlir::Value value, mlir::ArrayRef<int64_t> position) {
      descriptor = builder.create<mlir::LLVM::InsertValueOp>(loc, descriptor, value, position);
    };
    insert(address, {0});
    insert(address, {1});
    insert(integer(0), {2});
    insert(extent ? extent : integer(0), {3, 0});
    insert(integer(1), {4, 0});
    return builder.create<mlir::UnrealizedConversionCastOp>(loc, type, descriptor).getResult(0);
  }

  /// `value` as i64, with symbols read from the array `symbols`. `isTooLarge`: see emitSymbolicInt.
  mlir::Value evaluate(const support::SymbolicInt &value, mlir::Value symbols, mlir::ArrayRef<std::string> names,
                       mlir::Value *isTooLarge = nullptr) {
    auto symbol = [&](mlir::StringRef name) {
      return toIndex(load(i64, symbols, llvm::find(names, name) - names.begin()));
    };
    return toInteger(graph::emitSymbolicInt(builder, loc, value, symbol, isTooLarge));
  }
  /// evaluate(), or `otherwise` if the value is too large.
  mlir::Value evaluateOr(const support::SymbolicInt &value, mlir::Value symbols, mlir::ArrayRef<std::string> names,
                         int64_t otherwise) {
    mlir::Value isTooLarge, result = evaluate(value, symbols, names, &isTooLarge);
    return isTooLarge ? builder.create<mlir::arith::SelectOp>(loc, isTooLarge, integer(otherwise), result) : result;
  }

  /// The number of threads of a run, which the runtime stores after main's symbols.
  mlir::Value threads(mlir::Value symbols, mlir::ArrayRef<std::string> names) {
    return load(i64, symbols, static_cast<int64_t>(names.size()));
  }
  /// The number of parts of scratch memory, for a kernel with `units` and a run with `threads` (tile/kernel/Scratch.h).
  mlir::Value partCount(mlir::Value units, mlir::Value threads) {
    mlir::Value most = builder.create<mlir::arith::MinSIOp>(loc, units, threads);
    return builder.create<mlir::arith::MaxSIOp>(loc, most, integer(0));
  }
  /// The bytes of all parts; -1 if they exceed any plan or `partBytes` is negative.
  mlir::Value partedBytes(mlir::Value partBytes, mlir::Value count) {
    mlir::Value all = builder.create<mlir::arith::MulIOp>(loc, partBytes, count);
    mlir::Value fits = compare(mlir::arith::CmpIPredicate::ule, partBytes, integer(int64_t(1) << 48));
    return builder.create<mlir::arith::SelectOp>(loc, fits, all, integer(-1));
  }

  /// The address of a NUL-terminated text in the module.
  mlir::Value text(mlir::StringRef content) {
    auto module = function->getParentOfType<mlir::ModuleOp>();
    auto atStart = mlir::OpBuilder::atBlockBegin(module.getBody());
    std::string terminated = content.str() + '\0', name = function.getName().str() + "_text_" + std::to_string(texts++);
    auto type = mlir::LLVM::LLVMArrayType::get(builder.getI8Type(), terminated.size());
    auto global = atStart.create<mlir::LLVM::GlobalOp>(loc, type, /*isConstant=*/true, mlir::LLVM::Linkage::Private,
                                                       name, builder.getStringAttr(terminated));
    return builder.create<mlir::LLVM::AddressOfOp>(loc, global);
  }

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::func::FuncOp function;
  mlir::Type pointer, i64;

private:
  unsigned texts = 0;
};
} // namespace perpend::target

#endif
