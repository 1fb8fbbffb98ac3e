//===- LowerMain.cpp - main into the functions of the module ABI ------------===//
//
// Runs after memory planning, before everything goes to the LLVM dialect. The
// contract is runtime/include/perpend_module.h:
//
//   perpend_bind(dims, symbols, error)     symbols from input extents, and checks
//   perpend_sizes(symbols, bytes, dims)    sizes of arena buffers, extents of outputs
//   perpend_run(frame)                     the kernel calls, through frame->parallel
//   <kernel>_entry(buffers, symbols, begin, end)    unpacks the buffers
//
// A buffer reaches the kernel as a memref whose descriptor is built from the
// pointer here; the kernel is inlined into its entry by LLVM, which turns the
// noalias of its arguments into alias scopes.
//
//===----------------------------------------------------------------------===//

#include "graph/Shapes.h"
#include "graph/SymbolicCode.h"
#include "graph/Symbols.h"
#include "target/cpu/passes/Passes.h"
#include "tile/Buffers.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "tile/Schedule.h"

namespace perpend::target {
#define GEN_PASS_DEF_CPULOWERMAIN
#include "target/CpuPasses.h.inc"
} // namespace perpend::target

using namespace mlir;
using namespace perpend;
using graph::Shape;
using graph::shapeOf;
using graph::SymbolicInt;

/// Fields of perpend_frame, by position.
enum FrameField { FrameInputs, FrameOutputs, FrameWeights, FrameArena, FrameOffsets, FrameSymbols, FrameParallel };

namespace {
/// Emits one function: pointers, 64-bit integers and symbolic expressions.
class FunctionEmitter {
public:
  FunctionEmitter(ModuleOp module, StringRef name, FunctionType type, Location loc)
      : builder(OpBuilder::atBlockEnd(module.getBody())), loc(loc),
        function(builder.create<func::FuncOp>(loc, name, type)) {
    builder.setInsertionPointToStart(function.addEntryBlock());
    pointer = LLVM::LLVMPointerType::get(builder.getContext());
  }

  Value argument(unsigned number) { return function.getArgument(number); }
  Value integer(int64_t value) { return builder.create<arith::ConstantOp>(loc, builder.getI64IntegerAttr(value)); }
  Value element(Value base, Type type, int64_t number) {
    return builder.create<LLVM::GEPOp>(loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(number)});
  }
  Value load(Type type, Value base, int64_t number) {
    return builder.create<LLVM::LoadOp>(loc, type, element(base, type, number));
  }
  Value loadPointer(Value base, int64_t number) { return load(pointer, base, number); }
  void store(Value value, Value base, int64_t number) {
    builder.create<LLVM::StoreOp>(loc, value, element(base, value.getType(), number));
  }
  Value bytesAfter(Value base, Value count) {
    return builder.create<LLVM::GEPOp>(loc, pointer, builder.getI8Type(), base, ArrayRef<LLVM::GEPArg>{count});
  }
  Value toIndex(Value value) { return builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), value); }
  Value toInteger(Value value) { return builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), value); }

  /// `value` as i64, with symbols read from the array `symbols`.
  Value evaluate(const SymbolicInt &value, Value symbols, ArrayRef<std::string> names) {
    return toInteger(graph::emitSymbolicInt(builder, loc, value, [&](StringRef name) {
      int64_t position = llvm::find(names, name) - names.begin();
      return toIndex(load(builder.getI64Type(), symbols, position));
    }));
  }

  OpBuilder builder;
  Location loc;
  func::FuncOp function;
  Type pointer;
};

class MainLowering {
public:
  MainLowering(ModuleOp module, func::FuncOp main)
      : module(module), main(main), symbols(graph::symbolsOf(main)), types(module.getContext()) {
    pointer = LLVM::LLVMPointerType::get(module.getContext());
  }

  void run() {
    emitBind();
    emitSizes();
    for (auto kernel : llvm::to_vector(module.getOps<func::FuncOp>()))
      if (kernel->hasAttr("tile.kernel"))
        emitEntry(kernel);
    emitRun();
    main.erase();
  }

private:
  void emitBind() {
    Type i32 = types.getI32Type();
    FunctionEmitter f(module, "perpend_bind", types.getFunctionType({pointer, pointer, pointer}, {i32}), main.getLoc());
    Block *refuse = new Block;
    SmallVector<Type> refusal{i32, i32, types.getI64Type(), types.getI64Type()};
    refuse->addArguments(refusal, SmallVector<Location>(4, f.loc));
    emitSymbols(f, refuse);
    for (BlockArgument argument : main.getArguments()) {
      Value dims = f.loadPointer(f.argument(0), argument.getArgNumber());
      for (auto [dim, extent] : llvm::enumerate(shapeOf(argument)))
        emitCheck(f, f.load(types.getI64Type(), dims, dim), argument.getArgNumber(), dim,
                  f.evaluate(extent, f.argument(1), symbols), arith::CmpIPredicate::eq, refuse);
    }
    if (auto attribute = main->getAttrOfType<graph::ShapeAttr>("graph.requirements")) {
      SmallVector<SymbolicInt> requirements = attribute.values();
      for (const SymbolicInt &requirement : requirements)
        emitRequirement(f, requirement, requirements, refuse);
    }
    f.builder.create<func::ReturnOp>(f.loc, f.builder.create<arith::ConstantIntOp>(f.loc, 0, 32).getResult());
    f.function.getBody().push_back(refuse);
    f.builder.setInsertionPointToStart(refuse);
    Value error = f.argument(2);
    f.store(refuse->getArgument(0), error, 0);
    f.store(refuse->getArgument(1), error, 1);
    f.store(refuse->getArgument(2), error, 1);
    f.store(refuse->getArgument(3), error, 2);
    f.builder.create<func::ReturnOp>(f.loc, f.builder.create<arith::ConstantIntOp>(f.loc, 1, 32).getResult());
  }

  /// Reads every symbol from the dimension that binds it; the others are compared afterwards.
  void emitSymbols(FunctionEmitter &f, Block *refuse) {
    for (auto [number, source] : llvm::enumerate(graph::symbolSourcesOf(main))) {
      if (!source)
        continue; // verifyMain refuses such a model
      Value dims = f.loadPointer(f.argument(0), source->input);
      Value got = f.load(types.getI64Type(), dims, source->dim);
      emitCheck(f, got, source->input, source->dim, f.integer(source->offset), arith::CmpIPredicate::sge, refuse);
      Value above = f.builder.create<arith::SubIOp>(f.loc, got, f.integer(source->offset));
      f.store(f.builder.create<arith::DivSIOp>(f.loc, above, f.integer(source->factor)), f.argument(1), number);
    }
  }

  /// Refuses a dimension that does not compare as it must.
  void emitCheck(FunctionEmitter &f, Value got, int64_t input, int64_t dim, Value expected,
                 arith::CmpIPredicate predicate, Block *refuse) {
    Value fits = f.builder.create<arith::CmpIOp>(f.loc, predicate, got, expected);
    Block *next = f.function.addBlock();
    Value inputNumber = f.builder.create<arith::ConstantIntOp>(f.loc, input, 32);
    Value dimNumber = f.builder.create<arith::ConstantIntOp>(f.loc, dim, 32);
    Value shown = expected;
    if (predicate == arith::CmpIPredicate::sge) // -k: at least k
      shown = f.builder.create<arith::SubIOp>(f.loc, f.integer(0), expected);
    f.builder.create<cf::CondBranchOp>(f.loc, fits, next, ValueRange{}, refuse,
                                       ValueRange{inputNumber, dimNumber, shown, got});
    f.builder.setInsertionPointToStart(next);
  }

  /// What a requirement says about one dimension of one input.
  struct Condition {
    graph::SymbolSource source;
    SymbolicInt extent; // a limit if it is a number, else the only one that fits
    bool isLeast;
  };

  /// Solves a requirement for the symbol that is bound last: a limit if that is a number, and where the opposite is
  /// required too, the one extent that fits.
  std::optional<Condition> conditionOf(const SymbolicInt &requirement, ArrayRef<SymbolicInt> all) {
    auto sources = graph::symbolSourcesOf(main);
    for (size_t number = symbols.size(); number-- > 0;)
      for (int64_t sign : {1, -1}) {
        SymbolicInt symbol = SymbolicInt::symbol(symbols[number]), rest = requirement - symbol * SymbolicInt(sign);
        std::set<std::string> names, restNames;
        requirement.symbols(names);
        rest.symbols(restNames);
        if (!sources[number] || !names.count(symbols[number]) || restNames.count(symbols[number]))
          continue;
        SymbolicInt bound = sign > 0 ? -rest : rest;
        if (!bound.isConstant() && !llvm::is_contained(all, -requirement))
          continue;
        return Condition{*sources[number],
                         bound * SymbolicInt(sources[number]->factor) + SymbolicInt(sources[number]->offset), sign > 0};
      }
    return std::nullopt;
  }

  /// An expression that must not be negative; names the dimension that is to blame if there is one.
  void emitRequirement(FunctionEmitter &f, const SymbolicInt &requirement, ArrayRef<SymbolicInt> all, Block *refuse) {
    Value got = f.evaluate(requirement, f.argument(1), symbols), expected = f.integer(-1);
    Value fits = f.builder.create<arith::CmpIOp>(f.loc, arith::CmpIPredicate::sge, got, f.integer(0));
    int64_t input = -1, dim = -1;
    if (std::optional<Condition> condition = conditionOf(requirement, all)) {
      input = condition->source.input, dim = condition->source.dim;
      got = f.load(types.getI64Type(), f.loadPointer(f.argument(0), input), dim);
      expected = f.evaluate(max(condition->extent, SymbolicInt(0)), f.argument(1), symbols);
      if (std::optional<int64_t> limit = condition->extent.constant()) // see perpend_bind_error
        expected = f.integer(condition->isLeast ? -*limit : std::numeric_limits<int64_t>::min() + *limit);
    }
    Value inputNumber = f.builder.create<arith::ConstantIntOp>(f.loc, input, 32);
    Value dimNumber = f.builder.create<arith::ConstantIntOp>(f.loc, dim, 32);
    Block *next = f.function.addBlock();
    f.builder.create<cf::CondBranchOp>(f.loc, fits, next, ValueRange{}, refuse,
                                       ValueRange{inputNumber, dimNumber, expected, got});
    f.builder.setInsertionPointToStart(next);
  }

  void emitSizes() {
    FunctionEmitter f(module, "perpend_sizes", types.getFunctionType({pointer, pointer, pointer}, {}), main.getLoc());
    auto storeAll = [&](ArrayRef<SymbolicInt> values, unsigned argument) {
      for (auto [number, value] : llvm::enumerate(values))
        f.store(f.evaluate(value, f.argument(0), symbols), f.argument(argument), number);
    };
    storeAll(main->getAttrOfType<graph::ShapeAttr>("tile.buffer_bytes").values(), 1);
    Shape outputs;
    for (Type type : main.getResultTypes())
      outputs.append(shapeOf(cast<RankedTensorType>(type)));
    storeAll(outputs, 2);
    f.builder.create<func::ReturnOp>(f.loc);
  }

  /// A memref over the memory at `address`.
  Value buffer(FunctionEmitter &f, Value address, MemRefType type) {
    Type i64 = types.getI64Type(), one = LLVM::LLVMArrayType::get(i64, 1);
    auto descriptorType = LLVM::LLVMStructType::getLiteral(types.getContext(), {pointer, pointer, i64, one, one});
    Value descriptor = f.builder.create<LLVM::UndefOp>(f.loc, descriptorType);
    auto insert = [&](Value value, ArrayRef<int64_t> position) {
      descriptor = f.builder.create<LLVM::InsertValueOp>(f.loc, descriptor, value, position);
    };
    insert(address, {0});
    insert(address, {1});
    insert(f.integer(0), {2});
    insert(f.integer(0), {3, 0});
    insert(f.integer(1), {4, 0});
    return f.builder.create<UnrealizedConversionCastOp>(f.loc, type, descriptor).getResult(0);
  }

  void emitEntry(func::FuncOp kernel) {
    Type i64 = types.getI64Type();
    FunctionEmitter f(module, (kernel.getSymName() + "_entry").str(),
                      types.getFunctionType({pointer, pointer, i64, i64}, {}), kernel.getLoc());
    SmallVector<Value> arguments;
    unsigned buffers = kernel.getNumArguments() - 3;
    for (unsigned i = 0; i < buffers; ++i)
      arguments.push_back(buffer(f, f.loadPointer(f.argument(0), i), cast<MemRefType>(kernel.getArgumentTypes()[i])));
    arguments.push_back(buffer(f, f.argument(1), cast<MemRefType>(kernel.getArgumentTypes()[buffers])));
    arguments.push_back(f.toIndex(f.argument(2)));
    arguments.push_back(f.toIndex(f.argument(3)));
    f.builder.create<func::CallOp>(f.loc, kernel, arguments);
    f.builder.create<func::ReturnOp>(f.loc);
  }

  void emitRun() {
    FunctionEmitter f(module, "perpend_run", types.getFunctionType({pointer}, {}), main.getLoc());
    Value frame = f.argument(0);
    Value runSymbols = f.loadPointer(frame, FrameSymbols);
    int64_t most = 1;
    main.walk([&](graph::CallKernelOp call) {
      most = std::max<int64_t>(most, call->getNumOperands() + call->getNumResults());
    });
    Value list = f.builder.create<LLVM::AllocaOp>(f.loc, pointer, pointer, f.integer(most));
    main.walk([&](graph::CallKernelOp call) { emitCall(f, call, frame, runSymbols, list); });
    f.builder.create<func::ReturnOp>(f.loc);
  }

  Value addressOf(FunctionEmitter &f, Value frame, tile::Space space, int64_t number) {
    switch (space) {
    case tile::Space::Input:
      return f.loadPointer(f.loadPointer(frame, FrameInputs), number);
    case tile::Space::Output:
      return f.loadPointer(f.loadPointer(frame, FrameOutputs), number);
    case tile::Space::Weights:
      return f.bytesAfter(f.loadPointer(frame, FrameWeights), f.integer(number));
    case tile::Space::Arena:
      return f.bytesAfter(f.loadPointer(frame, FrameArena),
                          f.load(types.getI64Type(), f.loadPointer(frame, FrameOffsets), number));
    }
    llvm_unreachable("a buffer space");
  }

  void emitCall(FunctionEmitter &f, graph::CallKernelOp call, Value frame, Value runSymbols, Value list) {
    auto kernel = module.lookupSymbol<func::FuncOp>(call.getKernel());
    ArrayRef<int64_t> pairs = call->getAttrOfType<DenseI64ArrayAttr>("tile.buffers");
    for (size_t i = 0; i < pairs.size(); i += 2)
      f.store(addressOf(f, frame, static_cast<tile::Space>(pairs[i]), pairs[i + 1]), list, i / 2);
    SymbolicInt units = kernel->getAttrOfType<graph::ShapeAttr>("tile.extent").values()[0];
    std::string entryName = (call.getKernel() + "_entry").str();
    auto entry = module.lookupSymbol<func::FuncOp>(entryName);
    Value function = f.builder.create<func::ConstantOp>(f.loc, entry.getFunctionType(), entryName);
    Value address = f.builder.create<UnrealizedConversionCastOp>(f.loc, pointer, function).getResult(0);
    int64_t number = kernel->getAttrOfType<IntegerAttr>("tile.number").getInt();
    Value index = f.builder.create<arith::ConstantIntOp>(f.loc, number, 32);
    Value grain = f.integer(tile::Schedule::of(kernel).grain);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(types.getContext()),
        {pointer, types.getI32Type(), pointer, pointer, types.getI64Type(), types.getI64Type()});
    f.builder.create<LLVM::CallOp>(f.loc, type,
                                   ValueRange{f.loadPointer(frame, FrameParallel), frame, index, address, list,
                                              f.evaluate(units, runSymbols, symbols), grain});
  }

  ModuleOp module;
  func::FuncOp main;
  std::vector<std::string> symbols;
  Builder types;
  Type pointer;
};

struct LowerMain : perpend::target::impl::CpuLowerMainBase<LowerMain> {
  void runOnOperation() override {
    if (auto main = getOperation().lookupSymbol<func::FuncOp>("main"))
      MainLowering(getOperation(), main).run();
  }
};
} // namespace
