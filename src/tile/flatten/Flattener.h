//===- Flattener.h - a kernel of blocks as loops on memory ------*- C++ -*-===//
//
// What FlattenBlocks does with one kernel. The loops and blocks are in
// passes/FlattenBlocks.cpp, what a reduction carries in registers in Sums.cpp,
// iterations that are lanes of vectors in Lanes.cpp, and loops whose blocks have
// conditions in Edges.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_FLATTEN_FLATTENER_H
#define PERPEND_TILE_FLATTEN_FLATTENER_H

#include "tile/KernelAbi.h"
#include "tile/KernelEmitter.h"
#include "tile/KernelIndices.h"
#include "tile/Scratch.h"
#include "tile/flatten/KnownElements.h"
#include "tile/intrinsics/Expand.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

#include <unordered_map>

namespace perpend::tile {

/// A reduction whose sum is carried by the loops from `outermost` inwards.
struct Accumulation {
  ForOp outermost;
  BlockOp block;
  StoreOp store;
};

/// What the iterations of a loop have in common with the conditions of the blocks inside.
struct Edge {
  /// In the iterations before this one all of `conditions` hold.
  SymbolicInt whole;
  /// From this one on no block runs.
  SymbolicInt end;
  /// No block runs in the others.
  bool isExact = false;
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> conditions;
};

struct HashOfExpression {
  size_t operator()(const SymbolicInt &expression) const { return hash_value(expression); }
};

class Flattener {
public:
  Flattener(mlir::func::FuncOp kernel, mlir::func::FuncOp flat, llvm::ArrayRef<llvm::StringRef> symbolNames,
            const LocalMemory &localMemory, unsigned lineBytes)
      : kernel(kernel), loc(kernel.getLoc()), arguments(flat.getArguments()), abi(KernelAbi::ofLowered(flat)),
        localMemory(localMemory), lineBytes(lineBytes), emitter(flat, arguments[abi.symbols()], symbolNames) {
    for (auto [buffer, memory] : llvm::zip(kernel.getArguments(), arguments))
      mapping.map(buffer, memory);
  }

  /// Returns the number of parallel units.
  SymbolicInt run(mlir::OpBuilder &builder);

private:
  // Loops and blocks
  ForOp parallelLoop();
  void separateInits();
  SymbolicInt emitKernel(mlir::OpBuilder &builder);
  void eraseUnread();
  void emitUnits(mlir::OpBuilder &builder, ForOp loop);
  void emit(mlir::OpBuilder &builder, mlir::Block &block);
  void emit(mlir::OpBuilder &builder, mlir::Operation &op);
  void emitLoop(mlir::OpBuilder &builder, ForOp loop);
  void emitBlock(mlir::OpBuilder &builder, BlockOp block);
  void emitInstance(mlir::OpBuilder &builder, BlockOp block);
  void mapIterators(mlir::OpBuilder &builder, BlockOp block);
  void emitIndex(mlir::OpBuilder &builder, mlir::Value result, const SymbolicInt &expression, mlir::Operation *at);
  void emitLoad(mlir::OpBuilder &builder, LoadOp load);
  void emitStore(mlir::OpBuilder &builder, StoreOp store, mlir::Value value);
  void allocate(AllocOp op);
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value carried)>;
  mlir::Value iterate(mlir::OpBuilder &builder, ForOp loop, mlir::Value carried, Body body);
  mlir::Value iterate(mlir::OpBuilder &builder, ForOp loop, const SymbolicInt &from, const SymbolicInt &to,
                      mlir::Value carried, Body body);
  /// An expression's value: that of the same expression in front, or another one plus a number, where there is one.
  mlir::Value value(mlir::OpBuilder &builder, const SymbolicInt &expression);
  mlir::Value emitValue(mlir::OpBuilder &builder, const SymbolicInt &expression);
  /// As KernelIndices says it; the kernel does not change while it is made flat.
  const SymbolicInt &positionOf(const Access &access);
  /// The position in terms of what is lanes.
  const IndexAlong &alongLanes(const Access &access);
  mlir::Value memoryOf(mlir::Value buffer) { return mapping.lookup(buffer); }

  // Memory that is asked for before it is touched
  struct Rows {
    Access access;
    /// Of a later iteration.
    SymbolicInt first;
    SymbolicInt length, step;
  };
  std::optional<Rows> rowsOf(const Access &access, ForOp loop, ForOp annotated);
  void emitPrefetches(mlir::OpBuilder &builder, ForOp loop);
  void emitPrefetch(mlir::OpBuilder &builder, const Rows &rows);
  /// The rows that `loop` runs along, those of a later iteration of a loop around that says so.
  void emitPrefetchesOfRow(mlir::OpBuilder &builder, ForOp loop);
  /// What an intrinsic in the block asks for meanwhile.
  std::optional<AskedAhead> askedAhead(mlir::OpBuilder &builder, mlir::Value buffer, BlockOp block);

  // Sums in registers
  std::optional<Accumulation> accumulationAt(ForOp loop);
  bool isInvariant(mlir::Operation *access, BlockOp block, llvm::ArrayRef<ForOp> loops);
  void emitAccumulation(mlir::OpBuilder &builder, const Accumulation &accumulation);
  void emitElement(mlir::OpBuilder &builder, const Accumulation &accumulation);
  mlir::Value accumulateLoops(mlir::OpBuilder &builder, const Accumulation &accumulation, ForOp loop,
                              mlir::Value carried);
  mlir::Value accumulateBlock(mlir::OpBuilder &builder, const Accumulation &accumulation, mlir::Value carried);

  // Edges
  std::optional<Edge> edgeOf(ForOp loop);
  /// Calls `emitPart(from, to)` for parts of a loop that together run all that it does; in the first all conditions
  /// that can be are known to hold.
  void forEachPart(ForOp loop, llvm::function_ref<void(const SymbolicInt &, const SymbolicInt &)> emitPart);
  /// Whether a condition of a block inside that is not known to hold depends on the loop, and not on `apartFrom`.
  bool hasOpenCondition(ForOp loop, ForOp apartFrom = {});
  bool hasOpenCondition(BlockOp block);
  /// Whether what is vectorised inside is scalar in all iterations, and no local buffer wants to be registers: code
  /// that is long when unrolled, and hardly faster.
  bool isRest(ForOp loop);
  /// The conditions of the only block inside that have the same value in all iterations; none: nullopt.
  std::optional<Edge> invariantOf(ForOp loop);
  /// Runs `emitBody` where all of the edge's conditions hold.
  void assume(const Edge &edge, llvm::function_ref<void()> emitBody);
  SymbolicInt withNumbers(const SymbolicInt &expression);
  /// The conditions that depend on a loop from `loop` inwards, or (`inside` false) the others, less what always holds;
  /// null without any, nullopt where one never holds.
  std::optional<mlir::Value> conditionOf(mlir::OpBuilder &builder, BlockOp block, ForOp loop = {}, bool inside = false);

  // Lanes
  bool canBeLanes(ForOp loop);
  /// The iterations of a vectorised loop that are lanes here: all that run, of some number. nullopt: they are none.
  std::optional<Edge> laneEdge(ForOp loop);
  /// Whether it was a loop whose iterations are lanes.
  bool emitLanes(mlir::OpBuilder &builder, ForOp loop);
  /// The lanes of an expression, or its value where all have the same.
  mlir::Value laneValue(mlir::OpBuilder &builder, const SymbolicInt &expression, mlir::Operation *at);
  mlir::Value loadLanes(mlir::OpBuilder &builder, LoadOp load);
  void storeLanes(mlir::OpBuilder &builder, StoreOp store, mlir::Value value);
  void emitLaneOperation(mlir::OpBuilder &builder, mlir::Operation &op);
  void emitLaneRegions(mlir::OpBuilder &builder, mlir::Operation &op);
  void emitRegions(mlir::OpBuilder &builder, mlir::Operation &from, mlir::Operation *to);
  mlir::Value spread(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Type laneType(mlir::Type scalar);

  // Transposes
  /// Whether it was a loop whose loads are transposed.
  bool emitAcross(mlir::OpBuilder &builder, ForOp loop);
  ForOp lanesAcross(ForOp loop);
  llvm::SmallVector<LoadOp> loadsAcross(ForOp loop);

  mlir::func::FuncOp kernel;
  mlir::Location loc;
  mlir::ValueRange arguments;
  /// Inputs and outputs are buffers alike.
  KernelAbi abi;
  const LocalMemory &localMemory;
  /// Of the target's caches.
  int64_t lineBytes;
  KernelEmitter emitter;
  KernelIndices indices;
  mlir::IRMapping mapping;
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> assumed;
  /// How many of the loops around are written twice, those not counted that are so for lanes.
  unsigned cuts = 0;
  /// The loop whose iterations are lanes of what is being emitted; null: scalars are emitted.
  ForOp lanes;
  int64_t laneCount = 0;
  /// What local buffers are, of those that are not in scratch memory.
  llvm::DenseMap<mlir::Operation *, mlir::Value> allocated;
  /// Lanes, as they lie in memory, of loads that have been emitted before.
  llvm::DenseMap<mlir::Operation *, mlir::Value> loaded;
  llvm::DenseMap<mlir::Operation *, SymbolicInt> positions;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, IndexAlong> positionsAlong; // an access, the lanes
  llvm::DenseMap<mlir::Operation *, bool> canBe;                                              // lanes
  /// The latest value of each expression over variables of loops.
  std::unordered_map<SymbolicInt, mlir::Value, HashOfExpression> values;
  KnownElements elements;
  /// By buffer, what the iterations of a loop ask for, a part each.
  llvm::DenseMap<mlir::Value, std::pair<ForOp, Rows>> inParts;
};
} // namespace perpend::tile

#endif
