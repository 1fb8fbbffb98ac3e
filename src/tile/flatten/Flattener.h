//===- Flattener.h - turns a kernel of blocks into loops --------*- C++ -*-===//
//
// FlattenBlocks uses this class for each kernel, on all machines; Units.h has what depends on how a machine starts
// kernels. passes/FlattenBlocks.cpp emits loops and blocks, Sums.cpp and OrderedSums.cpp sums in registers, Lanes.cpp
// vectorised loops, Edges.cpp loops whose blocks have conditions, Pieces.cpp loops whose code chooses by index,
// Transposes.cpp transposed loads, and Prefetches.cpp prefetches.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_FLATTEN_FLATTENER_H
#define PERPEND_TILE_FLATTEN_FLATTENER_H

#include "tile/flatten/KnownElements.h"
#include "tile/flatten/Units.h"
#include "tile/intrinsics/Expand.h"
#include "tile/ir/KernelIndices.h"
#include "tile/kernel/KernelAbi.h"
#include "tile/kernel/KernelEmitter.h"
#include "tile/kernel/Scratch.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

#include <unordered_map>

namespace perpend::tile {

/// A reduction whose sum is carried in a register by the loops from `outermost` inwards.
struct Accumulation {
  ForOp outermost;
  BlockOp block;
  StoreOp store;
};

/// How the iterations of a loop relate to the conditions of the blocks inside.
struct Edge {
  /// All of `conditions` hold in the iterations before this one.
  SymbolicInt whole;
  /// No block runs from this iteration on.
  SymbolicInt end;
  /// No block runs from `whole` on, either.
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

  /// Returns the number of units, or the extents of the grid.
  Shape run(mlir::OpBuilder &builder, Units &units);

  // For units
  mlir::Location location() const { return loc; }
  /// One of the arguments that say what a call runs: begin, end, or ids.
  mlir::Value unitArgument(unsigned number) const { return arguments[abi.id(number)]; }
  mlir::Value constant(int64_t number) { return emitter.constant(number); }
  SymbolicInt extentOf(ForOp loop) { return indices.extentOf(loop); }
  /// All of the kernel.
  void emitKernel(mlir::OpBuilder &builder) { emit(builder, kernel.getBody().front()); }
  /// A loop has this value from here on.
  void setIteration(ForOp loop, mlir::Value value) { mapping.map(loop.variable(), value); }
  void emitPrefetches(mlir::OpBuilder &builder, ForOp loop);
  void emit(mlir::OpBuilder &builder, mlir::Block &block);
  /// Emits an expression's value. Reuses a dominating value of the same expression, or one that differs by a constant.
  mlir::Value value(mlir::OpBuilder &builder, const SymbolicInt &expression);
  /// Calls `emitPart(from, to)` for consecutive parts of a loop. In the first part, the conditions that the edge covers
  /// are assumed to hold.
  using EmitPart = llvm::function_ref<void(const SymbolicInt &, const SymbolicInt &)>;
  void forEachPart(ForOp loop, EmitPart emitPart);

private:
  // Loops and blocks
  void separateInits();
  void eraseUnread();
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
  mlir::Value emitValue(mlir::OpBuilder &builder, const SymbolicInt &expression);
  /// As KernelIndices::positionOf, cached: the kernel does not change while it is flattened.
  const SymbolicInt &positionOf(const Access &access);
  /// The position as a function of the lane.
  const IndexAlong &alongLanes(const Access &access);
  mlir::Value memoryOf(mlir::Value buffer) { return mapping.lookup(buffer); }

  // Prefetches
  struct Rows {
    Access access;
    /// The first element, in a later iteration.
    SymbolicInt first;
    SymbolicInt length, step;
  };
  std::optional<Rows> rowsOf(const Access &access, ForOp loop, ForOp annotated);
  void emitPrefetch(mlir::OpBuilder &builder, const Rows &rows);
  /// Prefetches the rows that `loop` traverses, for a later iteration of an annotated loop around it.
  void emitPrefetchesOfRow(mlir::OpBuilder &builder, ForOp loop);
  /// What an intrinsic in the block prefetches while it computes.
  std::optional<AskedAhead> askedAhead(mlir::OpBuilder &builder, mlir::Value buffer, BlockOp block);

  // Sums in registers
  std::optional<Accumulation> accumulationAt(ForOp loop);
  bool isInvariant(mlir::Operation *access, BlockOp block, llvm::ArrayRef<ForOp> loops);
  void emitAccumulation(mlir::OpBuilder &builder, const Accumulation &accumulation);
  void emitElement(mlir::OpBuilder &builder, const Accumulation &accumulation);
  mlir::Value accumulateLoops(mlir::OpBuilder &builder, const Accumulation &accumulation, ForOp loop,
                              mlir::Value carried);
  mlir::Value accumulateBlock(mlir::OpBuilder &builder, const Accumulation &accumulation, mlir::Value carried);
  /// Whether the innermost loop of a sum is emitted by sumInOrder().
  bool isSummedInOrder(const Accumulation &accumulation, ForOp loop, mlir::Value carried);
  mlir::Value sumInOrder(mlir::OpBuilder &builder, const Accumulation &accumulation, ForOp loop, mlir::Value carried);

  // Edges
  std::optional<Edge> edgeOf(ForOp loop);
  /// Whether a block inside has a condition, not assumed to hold, that depends on the loop but not on `apartFrom`.
  bool hasOpenCondition(ForOp loop, ForOp apartFrom = {});
  bool hasOpenCondition(BlockOp block);
  /// Whether a loop is a scalar remainder: what is vectorised inside is scalar in all its iterations, and no local
  /// buffer wants to become registers. Unrolling it would make long code that is hardly faster.
  bool isRest(ForOp loop);
  /// The conditions of the only block inside that have the same value in all iterations; nullopt if there are none.
  std::optional<Edge> invariantOf(ForOp loop);
  /// Runs `emitBody` under the assumption that all of the edge's conditions hold.
  void assume(const Edge &edge, llvm::function_ref<void()> emitBody);
  SymbolicInt withNumbers(const SymbolicInt &expression);
  /// The conjunction of a block's open conditions: those that depend on a loop from `loop` inwards if `inside`,
  /// otherwise the others. Null if there are none, nullopt if one can never hold.
  std::optional<mlir::Value> conditionOf(mlir::OpBuilder &builder, BlockOp block, ForOp loop = {}, bool inside = false);

  // Pieces
  /// A comparison that holds before an iteration, and from there on does not.
  struct Cut {
    mlir::Operation *comparison;
    SymbolicInt end;
  };
  /// The first choice in a loop that is not decided and changes once along it.
  std::optional<Cut> nextCut(ForOp loop);
  /// Calls `emitPart(from, to)` for consecutive pieces in which choices are decided.
  void forEachPiece(ForOp loop, const SymbolicInt &from, const SymbolicInt &to, EmitPart emitPart);
  /// Emits the branch of a decided choice, or the result of its comparison; returns whether the operation is one.
  bool emitDecided(mlir::OpBuilder &builder, mlir::Operation &op);

  // Lanes
  bool canBeLanes(ForOp loop);
  /// The iterations of a vectorised loop that become lanes: all iterations that run, a constant number. nullopt if it
  /// cannot be vectorised.
  std::optional<Edge> laneEdge(ForOp loop);
  /// Emits a loop as vector operations; returns whether that was possible.
  bool emitLanes(mlir::OpBuilder &builder, ForOp loop);
  /// A vector of the expression's values in all lanes, or a scalar if they are equal.
  mlir::Value laneValue(mlir::OpBuilder &builder, const SymbolicInt &expression, mlir::Operation *at);
  /// Where an index is in lane 0.
  mlir::Value atFirstLane(mlir::OpBuilder &builder, const IndexAlong &index);
  mlir::Value gatherLanes(mlir::OpBuilder &builder, LoadOp load);
  mlir::Value loadLanes(mlir::OpBuilder &builder, LoadOp load);
  void storeLanes(mlir::OpBuilder &builder, StoreOp store, mlir::Value value);
  void emitLaneOperation(mlir::OpBuilder &builder, mlir::Operation &op);
  void emitLaneRegions(mlir::OpBuilder &builder, mlir::Operation &op);
  void emitRegions(mlir::OpBuilder &builder, mlir::Operation &from, mlir::Operation *to);
  mlir::Value spread(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Type laneType(mlir::Type scalar);

  // Transposes
  /// Emits a loop whose loads are transposed in registers; returns whether that was possible.
  bool emitAcross(mlir::OpBuilder &builder, ForOp loop);
  ForOp lanesAcross(ForOp loop);
  llvm::SmallVector<LoadOp> loadsAcross(ForOp loop);

  mlir::func::FuncOp kernel;
  mlir::Location loc;
  mlir::ValueRange arguments;
  /// Inputs and outputs are treated alike.
  KernelAbi abi;
  const LocalMemory &localMemory;
  /// Cache line of the target.
  int64_t lineBytes;
  KernelEmitter emitter;
  KernelIndices indices;
  mlir::IRMapping mapping;
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> assumed;
  /// Results of comparisons in the piece that is being emitted.
  llvm::SmallDenseMap<mlir::Operation *, bool> decided;
  /// Cuts of the loop that is being emitted.
  unsigned pieceCuts = 0;
  /// Number of enclosing loops that are emitted in two parts, except those cut for vectorisation.
  unsigned cuts = 0;
  /// The loop whose iterations are lanes of the code being emitted; null for scalar code.
  ForOp lanes;
  int64_t laneCount = 0;
  /// The iteration of lane 0; null: 0.
  mlir::Value firstLane;
  /// Memory of local buffers on the stack, by allocation.
  llvm::DenseMap<mlir::Operation *, mlir::Value> allocated;
  /// Vectors of loads that have been transposed in advance, as they lie in memory.
  llvm::DenseMap<mlir::Operation *, mlir::Value> loaded;
  llvm::DenseMap<mlir::Operation *, SymbolicInt> positions;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, IndexAlong> positionsAlong; // access, lanes
  llvm::DenseMap<mlir::Operation *, bool> canBe;                                              //  if it can be lanes
  /// The latest value of each expression over loop variables.
  std::unordered_map<SymbolicInt, mlir::Value, HashOfExpression> values;
  KnownElements elements;
  /// Per buffer: the loop whose iterations prefetch a part each, and the rows.
  llvm::DenseMap<mlir::Value, std::pair<ForOp, Rows>> inParts;
};

/// Sums and products of a batch-invariant kernel stay in the order in which they are written.
void fixOrderOfSums(mlir::func::FuncOp function);
} // namespace perpend::tile

#endif
