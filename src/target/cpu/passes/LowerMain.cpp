//===- LowerMain.cpp - lowers main to the functions of the module ABI -----===//
//
// Runs after memory planning, before everything is converted to the LLVM
// dialect. The contract is runtime/include/perpend_module.h; ModuleFunctions.h
// describes bind, sizes and run. Each kernel gets an entry that unpacks its
// buffers:
//
//   <kernel>_entry(buffers, symbols, begin, end)
//
// The buffers are those of the kernel, followed by its own symbols; the separate
// argument with main's symbols is not read. Each takes 8 bytes. For a kernel with scratch memory
// (tile/kernel/Scratch.h), the address and the number of its parts follow, of which the
// entry claims a free one; for a checked kernel (tile/kernel/CheckedAccesses.h), the
// address of its record and the number of elements of each buffer.
//
// The kernel gets each buffer as a memref whose descriptor is built here from
// the pointer. LLVM inlines the kernel into its entry and turns the noalias
// attributes of its arguments into alias scopes.
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "host/VerifyProgram.h"
#include "target/Attributes.h"
#include "target/cpu/FunctionEmitter.h"
#include "target/cpu/ModuleFunctions.h"
#include "target/cpu/passes/Passes.h"
#include "tile/kernel/CheckedAccesses.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/Scratch.h"

#include "graph/KernelSymbols.h"

#include "perpend_module.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace perpend::target {
#define GEN_PASS_DEF_CPULOWERMAIN
#include "target/CpuPasses.h.inc"
} // namespace perpend::target

using namespace mlir;
using namespace perpend;
using namespace perpend::target;

/// Adds an attribute to the function in LLVM IR.
static void mark(func::FuncOp function, StringRef attribute) {
  function->setAttr("passthrough", Builder(function.getContext()).getStrArrayAttr({attribute}));
}

namespace {
/// A thread's part of a kernel's scratch memory, and the part's flag.
struct ScratchPart {
  Value address, flag;
};
} // namespace

/// Claims a free part, trying all of them in turn until one is free. There are as many as threads, so the wait is
/// short.
static ScratchPart takePart(FunctionEmitter &f, unsigned position, Value partBytes) {
  Value memory = f.loadSlot(f.pointer, f.argument(0), position);
  Value count = f.loadSlot(f.i64, f.argument(0), position + 1);
  Value header = f.builder.create<arith::MulIOp>(f.loc, count, f.integer(tile::scratchAlignment));
  Value parts = f.bytesAfter(memory, header), zero = f.integer(0);
  Block *attempt = f.function.addBlock(), *next = f.function.addBlock();
  Value number = attempt->addArgument(f.i64, f.loc);
  f.builder.create<cf::BranchOp>(f.loc, attempt, zero);
  f.builder.setInsertionPointToStart(next);
  Value following = f.builder.create<arith::AddIOp>(f.loc, number, f.integer(1));
  Value isLast = f.compare(arith::CmpIPredicate::eq, following, count);
  f.builder.create<cf::BranchOp>(f.loc, attempt,
                                 ValueRange(f.builder.create<arith::SelectOp>(f.loc, isLast, f.integer(0), following)));
  f.builder.setInsertionPointToStart(attempt);
  Value flag = f.bytesAfter(memory, number);
  Value taken = f.builder.create<LLVM::AtomicRMWOp>(f.loc, LLVM::AtomicBinOp::xchg, flag,
                                                    f.builder.create<arith::ConstantIntOp>(f.loc, 1, 8),
                                                    LLVM::AtomicOrdering::acquire);
  Value isFree = f.compare(arith::CmpIPredicate::eq, taken, f.builder.create<arith::ConstantIntOp>(f.loc, 0, 8));
  f.proceedIf(isFree, next);
  return {f.bytesAfter(parts, f.builder.create<arith::MulIOp>(f.loc, number, partBytes)), flag};
}

static void giveBack(FunctionEmitter &f, const ScratchPart &part) {
  f.builder.create<LLVM::StoreOp>(f.loc, f.builder.create<arith::ConstantIntOp>(f.loc, 0, 8), part.flag,
                                  /*alignment=*/1, /*isVolatile=*/false, /*isNonTemporal=*/false,
                                  LLVM::AtomicOrdering::release);
}

static_assert(
    std::is_same_v<perpend_kernel, void (*)(void *const *buffers, const int64_t *symbols, int64_t begin, int64_t end)>);

static void emitEntry(ModuleOp module, func::FuncOp kernel) {
  Type pointer = FunctionEmitter::pointerType(module), i64 = IntegerType::get(module.getContext(), 64);
  FunctionEmitter f(module, (kernel.getSymName() + "_entry").str(),
                    FunctionType::get(module.getContext(), {pointer, pointer, i64, i64}, {}), kernel.getLoc());
  SmallVector<Value> arguments;
  bool isChecked = tile::isChecked(kernel);
  auto abi = tile::KernelAbi::ofLowered(kernel);
  unsigned symbols = abi.symbols(), recordPosition = symbols + 1 + (abi.scratchCount() ? 2 : 0);
  auto add = [&](Value address, Value extent) {
    auto type = cast<MemRefType>(kernel.getArgumentTypes()[arguments.size()]);
    arguments.push_back(f.memory(address, type, extent));
  };
  for (unsigned i = 0; i < symbols; ++i)
    add(f.loadSlot(f.pointer, f.argument(0), i),
        isChecked ? f.loadSlot(f.i64, f.argument(0), recordPosition + 1 + i) : Value());
  Value symbolValues = f.loadSlot(f.pointer, f.argument(0), symbols);
  add(symbolValues, f.integer(graph::symbolsOfKernel(kernel).size()));
  ScratchPart part;
  if (abi.scratchCount()) {
    tile::Scratch scratch = tile::Scratch::of(kernel);
    std::vector<std::string> names;
    for (StringRef name : graph::symbolsOfKernel(kernel))
      names.push_back(name.str());
    part = takePart(f, symbols + 1, f.evaluate(scratch.partBytes, symbolValues, names));
    for (auto [offset, elements] : llvm::zip_equal(scratch.offsets, scratch.elements))
      add(f.bytesAfter(part.address, f.evaluate(offset, symbolValues, names)),
          isChecked ? f.evaluate(elements, symbolValues, names) : Value());
  }
  arguments.push_back(f.toIndex(f.argument(2)));
  arguments.push_back(f.toIndex(f.argument(3)));
  if (isChecked)
    add(f.loadSlot(f.pointer, f.argument(0), recordPosition),
        f.integer(tile::recordedMemories(symbols + abi.scratchCount()) * tile::recordWords));
  f.builder.create<func::CallOp>(f.loc, kernel, arguments);
  if (part.flag)
    giveBack(f, part);
  mark(kernel, target::kernelAttribute);
  mark(f.function, target::kernelEntryAttribute);
  f.builder.create<func::ReturnOp>(f.loc);
}

namespace {
struct LowerMain : perpend::target::impl::CpuLowerMainBase<LowerMain> {
  using CpuLowerMainBase::CpuLowerMainBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::SmallVector<host::EntryOp, 2> entries = host::entriesOf(module);
    if (entries.empty())
      return;
    if (failed(host::verifyDevices(module, Machine()))) // this code has no driver of devices
      return signalPassFailure();
    for (auto [number, entry] : llvm::enumerate(entries)) {
      emitBind(entry, suffixOfEntry(number));
      emitSizes(entry, suffixOfEntry(number));
    }
    for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (kernel->hasAttr(graph::kernelAttribute))
        emitEntry(module, kernel);
    for (auto [number, entry] : llvm::enumerate(entries))
      emitRun(entry, suffixOfEntry(number), target);
    for (host::EntryOp entry : entries)
      entry.erase();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<host::SegmentOp, host::StateOp>(op))
        op.erase();
  }
};
} // namespace
