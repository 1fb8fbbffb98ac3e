//===- FlattenBlocks.cpp - converts blocks into loops on memory -----------===//
//
// Runs after schedules have been applied. Buffers become 1-D memory (row-major), indices become arithmetic, and blocks
// become code in the loops around them. The kernel gets the arguments of kernel/KernelAbi.h: inputs, outputs, symbols,
// and the range of units to run. Its units are the iterations of its outermost loop, if that is parallel and the only
// one; otherwise the kernel is one unit. A kernel of a grid gets an id per level instead of a range.
//
// tile/flatten has the parts: sums in registers, vectors, and edges.
//
//===----------------------------------------------------------------------===//

#include "tile/Attributes.h"
#include "tile/flatten/Flattener.h"
#include "tile/intrinsics/Expand.h"
#include "tile/ir/Levels.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/passes/Passes.h"
#include "tile/schedule/Nests.h"
#include "tile/schedule/Schedule.h"

#include "graph/Attributes.h"
#include "graph/BatchInvariance.h"
#include "graph/ErrorKind.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "graph/SymbolicCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace perpend::tile {
#define GEN_PASS_DEF_TILEFLATTENBLOCKS
#include "tile/TilePasses.h.inc"
} // namespace perpend::tile

using namespace mlir;
using namespace perpend;
using namespace perpend::tile;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static bool isLoopVariable(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa_and_nonnull<ForOp>(argument.getOwner()->getParentOp());
}

/// Variables of unrolled loops and of loops emitted in several parts have different values each time, as constants or
/// in other code. Code is only emitted forwards, so the latest value of an expression in an enclosing region dominates
/// the insertion point.
Value Flattener::value(OpBuilder &builder, const SymbolicInt &expression) {
  SymbolicInt known = withNumbers(expression);
  if (known.isPoison())
    known = expression;
  if (!usesIndices(known, indices.names))
    return emitter.extent(loc, known);
  if (indices.names.anyValue(known, [](Value value) { return !isLoopVariable(value); }))
    return emitValue(builder, known);
  Value &latest = values[known];
  if (latest && latest.getParentRegion()->isAncestor(builder.getInsertionBlock()->getParent())) {
    assert((!latest.getDefiningOp() || isBehind(builder, latest.getDefiningOp())) && "a value that is not there yet");
    return latest;
  }
  const support::SymbolicTerm &last = known.terms().back();
  if (!last.factors.empty() || known.terms().size() == 1)
    return latest = emitValue(builder, known);
  Value first = value(builder, known - SymbolicInt(last.coefficient));
  return values[known] = builder.create<arith::AddIOp>(loc, first, emitter.constant(last.coefficient));
}

Value Flattener::emitValue(OpBuilder &builder, const SymbolicInt &expression) {
  return graph::emitSymbolicInt(builder, loc, expression, [&](StringRef name) {
    Value known = indices.names.value(name);
    return known ? mapping.lookup(known) : emitter.extent(loc, SymbolicInt::symbol(name));
  });
}

//===----------------------------------------------------------------------===//
// Loops and blocks
//===----------------------------------------------------------------------===//

/// An empty reduction yields the value of its init. So if no loop carries the sum in a register, the init becomes a
/// nest of its own.
void Flattener::separateInits() {
  SmallVector<BlockOp> blocks;
  kernel.walk([&](BlockOp block) { blocks.push_back(block); });
  for (BlockOp block : blocks) {
    auto around = block->getParentOfType<BlockOp>();
    if (!block.init() || !mayBeEmpty(block) || (around && !intrinsicOf(around).empty()))
      continue;
    ForOp outermost;
    bool isCarried = false;
    for (ForOp loop : loopsAround(block)) {
      isCarried |= accumulationAt(loop).has_value();
      for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
        if (!outermost && block.kind(i) == IteratorKind::Reduced && usesLoop(binding, loop, indices.names))
          outermost = loop;
    }
    std::string why;
    if (!isCarried && outermost && decomposeReduction(kernel, block, outermost, why))
      indices = {}; // its caches refer to erased operations
  }
}

/// Erases local buffers whose elements were all known wherever they are read.
void Flattener::eraseUnread() {
  for (auto [op, memory] : allocated)
    if (llvm::all_of(memory.getUsers(), llvm::IsaPred<memref::StoreOp, vector::StoreOp>))
      for (Operation *user : llvm::make_early_inc_range(memory.getUsers()))
        user->erase();
}

Shape Flattener::run(OpBuilder &builder, Units &units) {
  separateInits();
  kernel.walk(skipUnchanged);
  Shape extents = units.emit(*this, builder);
  eraseUnread();
  return extents;
}

void Flattener::emit(OpBuilder &builder, Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>())
      emit(builder, op);
}

void Flattener::emit(OpBuilder &builder, Operation &op) {
  if (auto loop = dyn_cast<ForOp>(op))
    return emitLoop(builder, loop);
  if (auto block = dyn_cast<BlockOp>(op))
    return emitBlock(builder, block);
  if (auto alloc = dyn_cast<AllocOp>(op))
    return allocate(alloc);
  if (auto index = dyn_cast<IndexOp>(op)) {
    SymbolicInt expression = indices.resolve(index.getExpression(), index.getVariables()).front();
    return emitIndex(builder, index.getResult(), expression, index);
  }
  if (auto load = dyn_cast<LoadOp>(op))
    return emitLoad(builder, load);
  if (auto store = dyn_cast<StoreOp>(op))
    return emitStore(builder, store, mapping.lookup(store.getValue()));
  if (lanes)
    return emitLaneOperation(builder, op);
  if (emitDecided(builder, op))
    return;
  Operation *copy = op.cloneWithoutRegions(mapping);
  builder.insert(copy);
  emitRegions(builder, op, copy);
}

void Flattener::emitIndex(OpBuilder &builder, Value result, const SymbolicInt &expression, Operation *at) {
  mapping.map(result, lanes ? laneValue(builder, expression, at)
                            : value(builder, simplify(expression, indices.rangesAround(at))));
}

const SymbolicInt &Flattener::positionOf(const Access &access) {
  auto [known, isNew] = positions.try_emplace(access.op);
  if (isNew)
    known->second = indices.positionOf(access);
  return known->second;
}

void Flattener::emitLoad(OpBuilder &builder, LoadOp load) {
  mapping.map(load.getResult(), lanes ? loadLanes(builder, load)
                                      : elements.load(builder, loc, memoryOf(load.getBuffer()),
                                                      value(builder, positionOf({load})), load.getResult().getType()));
}

void Flattener::emitStore(OpBuilder &builder, StoreOp store, Value stored) {
  if (lanes)
    return storeLanes(builder, store, stored);
  elements.store(builder, loc, stored, memoryOf(store.getBuffer()), value(builder, positionOf({store})));
}

/// Fills the regions of `to`, a copy of `from` with empty regions.
void Flattener::emitRegions(OpBuilder &builder, Operation &from, Operation *to) {
  for (auto [region, copy] : llvm::zip(from.getRegions(), to->getRegions()))
    for (Block &block : region) {
      Block &target = copy.emplaceBlock();
      for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
        bool isCarried = lanes && i > 0 && isa<scf::ForOp>(to); // argument 0 is the loop's variable
        Type type = isCarried ? laneType(argument.getType()) : argument.getType();
        mapping.map(argument, target.addArgument(type, argument.getLoc()));
      }
      OpBuilder inner = OpBuilder::atBlockBegin(&target);
      emit(inner, block);
      if (Operation &last = block.back(); last.hasTrait<OpTrait::IsTerminator>())
        inner.insert(last.cloneWithoutRegions(mapping));
    }
  for (auto [before, after] : llvm::zip(from.getResults(), to->getResults()))
    mapping.map(before, after);
}

/// At the start of the kernel: a stack allocation in a loop would grow, and a loop emitted in parts would repeat it.
void Flattener::allocate(AllocOp op) {
  if (std::optional<unsigned> number = localMemory.numberOf(op))
    return mapping.map(op.getBuffer(), arguments[abi.scratch(*number)]);
  Value &memory = allocated[op];
  if (!memory) {
    BufferType type = op.getBuffer().getType();
    int64_t count = graph::elementCount(type.extents()).constant().value_or(0);
    OpBuilder start = OpBuilder::atBlockBegin(arguments.front().getParentBlock());
    Type stored = bufferType(type.getElementType()).getElementType();
    auto typeOf = [&](int64_t extent) {
      return MemRefType::get({extent}, stored, MemRefLayoutAttrInterface(), type.memorySpace());
    };
    memory = start.create<memref::AllocaOp>(loc, typeOf(count), start.getI64IntegerAttr(scratchAlignment));
    memory = start.create<memref::CastOp>(loc, typeOf(ShapedType::kDynamic), memory);
  }
  mapping.map(op.getBuffer(), memory);
}

/// Emits `body` for every iteration; passes on the carried value, if any.
Value Flattener::iterate(OpBuilder &builder, ForOp loop, Value carried, Body body) {
  forEachPart(loop, [&](const SymbolicInt &start, const SymbolicInt &end) {
    forEachPiece(loop, start, end, [&](const SymbolicInt &from, const SymbolicInt &to) {
      carried = iterate(builder, loop, from, to, carried, body);
    });
  });
  return carried;
}

Value Flattener::iterate(OpBuilder &builder, ForOp loop, const SymbolicInt &from, const SymbolicInt &to, Value carried,
                         Body body) {
  if (loop.getKind() == LoopKind::Unrolled && from.isConstant() && to.isConstant() && !isRest(loop)) {
    for (int64_t i = *from.constant(); i < *to.constant(); ++i) {
      mapping.map(loop.variable(), emitter.constant(i));
      carried = body(builder, carried);
    }
    return carried;
  }
  if (to - from == SymbolicInt(1) && from.isConstant()) {
    mapping.map(loop.variable(), emitter.constant(*from.constant()));
    return body(builder, carried);
  }
  SmallVector<Value, 1> initial;
  if (carried)
    initial.push_back(carried);
  auto flat = builder.create<scf::ForOp>(loc, value(builder, from), value(builder, to), emitter.constant(1), initial);
  mapping.map(loop.variable(), flat.getInductionVar());
  OpBuilder inner = OpBuilder::atBlockBegin(flat.getBody());
  Value next = body(inner, carried ? flat.getRegionIterArg(0) : Value());
  if (!carried)
    return {};
  inner.create<scf::YieldOp>(loc, next);
  return flat.getResult(0);
}

void Flattener::emitLoop(OpBuilder &builder, ForOp loop) {
  if (std::optional<Edge> invariant = invariantOf(loop)) {
    auto block = cast<BlockOp>(invariant->conditions.front().first);
    std::optional<Value> condition = conditionOf(builder, block, loop, /*inside=*/false);
    if (!condition)
      return;
    OpBuilder inner = *condition
                          ? builder.create<scf::IfOp>(loc, *condition, /*withElseRegion=*/false).getThenBodyBuilder()
                          : builder;
    return assume(*invariant, [&] { emitLoop(inner, loop); });
  }
  if (emitLanes(builder, loop) || emitAcross(builder, loop))
    return;
  if (std::optional<Accumulation> accumulation = accumulationAt(loop))
    return emitAccumulation(builder, *accumulation);
  emitPrefetchesOfRow(builder, loop);
  iterate(builder, loop, {}, [&](OpBuilder &inner, Value) {
    emit(inner, *loop.body());
    return Value();
  });
}

void Flattener::emitBlock(OpBuilder &builder, BlockOp block) {
  std::optional<Value> condition = conditionOf(builder, block);
  if (!condition)
    return;
  if (!*condition)
    return emitInstance(builder, block);
  auto choice = builder.create<scf::IfOp>(loc, *condition, /*withElseRegion=*/false);
  OpBuilder inner = choice.getThenBodyBuilder();
  emitInstance(inner, block);
}

/// Gives scalar code the values of iterators; index expressions do not need them.
void Flattener::mapIterators(OpBuilder &builder, BlockOp block) {
  for (auto [iterator, binding] : llvm::zip(block.iterators(), indices.bindingsOf(block)))
    if (llvm::any_of(iterator.getUsers(), [](Operation *user) { return !isa<LoadOp, StoreOp, IndexOp>(user); }))
      emitIndex(builder, iterator, binding, block);
}

void Flattener::emitInstance(OpBuilder &builder, BlockOp block) {
  auto valueOf = [&](OpBuilder &at, const SymbolicInt &expression) { return value(at, expression); };
  auto memoryOfBuffer = [&](Value buffer) { return memoryOf(buffer); };
  auto emitNest = [&](OpBuilder &at) { emit(at, *block.body()); };
  auto ahead = [&](OpBuilder &at, Value buffer) { return askedAhead(at, buffer, block); };
  if (!lanes && expandIntrinsic(builder, block, indices, {loc, valueOf, memoryOfBuffer, emitNest, ahead}))
    return;
  InitOp init = block.init();
  mapIterators(builder, block);
  if (init) {
    Value isFirst = builder.create<arith::ConstantIntOp>(loc, 1, 1);
    for (auto [i, binding] : llvm::enumerate(indices.bindingsOf(block)))
      if (block.kind(i) == IteratorKind::Reduced && binding != SymbolicInt(0)) {
        Value isZero =
            builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, value(builder, binding), emitter.constant(0));
        isFirst = builder.createOrFold<arith::AndIOp>(loc, isFirst, isZero);
      }
    auto choice = builder.create<scf::IfOp>(loc, isFirst, /*withElseRegion=*/false);
    OpBuilder inner = choice.getThenBodyBuilder();
    emit(inner, init.getRegion().front());
  }
  for (Operation &op : *block.body())
    if (&op != init)
      emit(builder, op);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// MLIR 19 takes a bit cast of a bit cast for the first value, whatever its type: of f16 as i16, and that as bf16.
static void joinBitCasts(func::FuncOp kernel) {
  kernel.walk([](arith::BitcastOp op) {
    while (auto inner = op.getIn().getDefiningOp<arith::BitcastOp>())
      op.getInMutable().assign(inner.getIn());
    if (op.getIn().getType() == op.getType())
      op.replaceAllUsesWith(op.getIn());
  });
}

namespace {
struct FlattenBlocks : perpend::tile::impl::TileFlattenBlocksBase<FlattenBlocks> {
  using TileFlattenBlocksBase::TileFlattenBlocksBase;

  void runOnOperation() override {
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(graph::kernelAttribute) && isOnBlocks(kernel)) {
        compactBuffers(kernel);
        joinBitCasts(kernel);
        if (failed(checkBindings(kernel)) || failed(checkAllocations(kernel)) || failed(checkAccesses(kernel)) ||
            failed(flatten(kernel)))
          return signalPassFailure();
      }
  }

  LogicalResult checkBindings(func::FuncOp kernel) {
    const target::Machine *machine = machineOf(kernel, target);
    if (!machine)
      return reportDevice(kernel, target);
    std::string unmet = unmetBinding(kernel, *machine);
    return unmet.empty()
               ? success()
               : kernel.emitError("kernel '") << kernel.getSymName() << "': " << unmet << graph::Hint(bindingAdvice);
  }

  static LogicalResult checkAllocations(func::FuncOp kernel) {
    WalkResult result = kernel.walk([&](AllocOp op) {
      if (!graph::elementCount(op.getBuffer().getType().extents()).isPoison())
        return WalkResult::advance();
      op.emitError("kernel '") << kernel.getSymName() << "': the local buffer '" << op.getName()
                               << "' has a size that no expression says: " << op.getBuffer().getType();
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  static LogicalResult checkAccesses(func::FuncOp kernel) {
    Operation *access = accessWithoutPlace(kernel);
    return access ? access->emitError("kernel '")
                        << kernel.getSymName()
                        << "': where an element lies has more than 63 bits, or is too long an expression"
                        << graph::ErrorKind::Unsupported
                        << graph::Hint("check the dimensions of the model's inputs, or give them as numbers (--dim)")
                  : LogicalResult(success());
  }

  LogicalResult flatten(func::FuncOp kernel) {
    OpBuilder builder(kernel);
    SmallVector<Type> buffers, scratch;
    for (Type type : kernel.getArgumentTypes())
      buffers.push_back(bufferType(cast<BufferType>(type).getElementType()));
    LocalMemory localMemory = LocalMemory::of(kernel);
    for (AllocOp alloc : localMemory.scratch)
      scratch.push_back(bufferType(alloc.getBuffer().getType().getElementType()));
    const target::Machine &machine = *machineOf(kernel, target);
    Units::Pointer parts = Units::of(kernel, machine);
    auto flat =
        builder.create<func::FuncOp>(kernel.getLoc(), kernel.getSymName(),
                                     KernelAbi::type(kernel.getContext(), buffers, scratch, parts->arguments()));
    flat->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
    parts->mark(flat);
    flat->removeAttr(rulesAttribute);
    if (!scratch.empty())
      flat->setAttr(scratchAttribute, graph::ShapeAttr::get(kernel.getContext(), localMemory.elements()));
    flat.setPrivate();
    builder.setInsertionPointToEnd(flat.addEntryBlock());
    auto end = builder.create<func::ReturnOp>(kernel.getLoc());
    Shape units;
    {
      SmallVector<StringRef> symbolNames = graph::symbolsOfKernel(kernel);
      Flattener flattener(kernel, flat, symbolNames, localMemory, machine.lineBytes());
      builder.setInsertionPoint(end);
      units = flattener.run(builder, *parts);
    }
    if (llvm::any_of(units, [](const SymbolicInt &extent) { return extent.isPoison(); }))
      return flat.emitError("expected a number of units that the symbols give, got an expression that is too long");
    flat->setAttr(extentAttribute, graph::ShapeAttr::get(kernel.getContext(), units));
    if (graph::isBatchInvariant(kernel))
      fixOrderOfSums(flat);
    kernel.erase();
    return success();
  }
};
} // namespace
