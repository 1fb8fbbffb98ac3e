//===- Schedule.h - transformations of a kernel, and their trace -*- C++ -*-===//
//
// A schedule holds a kernel of loops around blocks, and the trace of its
// transformations. Its methods are the primitives listed in Primitives.def. Each
// verifies that it preserves the kernel's meaning, transforms the kernel and appends
// an instruction to the trace; or it refuses with a reason and changes nothing.
// `replay` applies a trace, for example one read from text (TraceText.h).
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_SCHEDULE_H
#define PERPEND_TILE_SCHEDULE_SCHEDULE_H

#include "target/Machine.h"
#include "tile/ir/KernelIndices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <variant>

namespace perpend::tile {

/// One instruction, such as `%f = fuse %i0, %i1`.
struct TraceInstruction {
  llvm::StringRef primitive;
  llvm::SmallVector<std::string, 2> results;
  /// Values (%name) and literals, as text.
  llvm::SmallVector<std::string, 4> operands;
  std::string str() const;
};

/// Characters of a value's name, after the %.
inline bool isTraceNameCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }

class KernelSchedule {
public:
  /// Of no machine: primitives can name the memories and levels of an empty description, and every intrinsic.
  explicit KernelSchedule(mlir::func::FuncOp kernel)
      : kernel(kernel), scopes(target::Machine().scopes()), levels(target::Machine().levels) {}
  /// Primitives can name the memories, levels and intrinsics of the machine that runs the kernel.
  KernelSchedule(mlir::func::FuncOp kernel, const target::Machine &machine)
      : kernel(kernel), scopes(machine.scopes()), levels(machine.levels), machine(machine) {}

  /// A handle of a block or a loop; valid until a primitive consumes it.
  struct Block {
    unsigned id;
  };
  struct Loop {
    unsigned id;
  };
  using Place = std::variant<Loop, Block>;
  /// A sampled integer, by its name in the trace.
  struct Number {
    unsigned id;
  };
  /// A number, a sampled number, or free (nullopt).
  struct Factor {
    Factor() = default;
    Factor(std::nullopt_t) {}
    Factor(int64_t value) : value(value) {}
    Factor(Number number) : number(number) {}
    std::optional<int64_t> value;
    std::optional<Number> number;
  };

  // The types in Primitives.def, as operands ...
  using Integer = int64_t;
  using String = llvm::StringRef;
  using Loops = llvm::ArrayRef<Loop>;
  using Factors = llvm::ArrayRef<Factor>;
  using Integers = llvm::ArrayRef<int64_t>;
  using Map = llvm::StringRef;
  using Attribute = mlir::Attribute;
  /// ... and as results, which are empty if a primitive refuses.
  struct Results {
    using None = mlir::LogicalResult;
    using Block = mlir::FailureOr<KernelSchedule::Block>;
    using Loop = mlir::FailureOr<KernelSchedule::Loop>;
    using Number = mlir::FailureOr<KernelSchedule::Number>;
    using Blocks = mlir::FailureOr<llvm::SmallVector<KernelSchedule::Block>>;
    using Loops = mlir::FailureOr<llvm::SmallVector<KernelSchedule::Loop>>;
    using Numbers = mlir::FailureOr<llvm::SmallVector<KernelSchedule::Number>>;
  };

  // The primitives: for each line of Primitives.def, which documents it, a method such as
  //   FailureOr<SmallVector<Loop>> split(Loop loop, ArrayRef<Factor> factors);
#define PRIMITIVE(name, method, results, operands, sentence) Results::results method operands;
#include "tile/schedule/Primitives.def"

  /// Replaces i by i0 * factor + i1.
  mlir::FailureOr<std::pair<Loop, Loop>> split(Loop loop, int64_t factor);
  /// The seed of all decisions; schedules with the same seed and steps draw the same.
  void setSeed(uint64_t seed) { generator = seed; }
  /// The value of a sampled number.
  int64_t value(Number number) const { return numbers.at(number.id); }

  // Primitives by name
  /// Applies one instruction. Its results, if any, get the names that it lists.
  mlir::LogicalResult apply(const TraceInstruction &instruction);
  /// Applies all instructions or none; in the latter case `failed` is the first that was refused.
  mlir::LogicalResult replay(llvm::ArrayRef<TraceInstruction> trace, size_t *failed = nullptr);
  /// What `%name` stands for, or last stood for.
  std::optional<Place> handle(llvm::StringRef name) const;
  std::optional<Number> number(llvm::StringRef name) const;
  /// An error for a name without a value.
  std::string unknownHandle(llvm::StringRef name) const;

  llvm::ArrayRef<TraceInstruction> trace() const { return instructions; }
  /// Why the last primitive refused.
  llvm::StringRef refusal() const { return reason; }
  /// The index of the operand that `apply` could not read.
  std::optional<unsigned> refusedOperand() const { return wrongOperand; }
  mlir::MLIRContext *context() { return kernel.getContext(); }
  /// The operation of a handle; null if it has been consumed.
  BlockOp operation(Block block) const;
  ForOp operation(Loop loop) const;

  /// Tries steps on a copy of the kernel, in which `handle` is an additional handle for an operation.
  mlir::LogicalResult tryOut(llvm::function_ref<mlir::LogicalResult(KernelSchedule &)> steps,
                             mlir::Operation *another = nullptr);

  /// Records the reason and fails, as primitives do when they refuse.
  mlir::LogicalResult refuse(const llvm::Twine &text);

private:
  mlir::FailureOr<ForOp> find(Loop loop);
  mlir::FailureOr<BlockOp> find(Block block);
  mlir::FailureOr<mlir::Operation *> find(Place place);
  mlir::LogicalResult find(Block blockHandle, Loop loopHandle, BlockOp &block, ForOp &loop);
  /// Null if there is no such block.
  BlockOp findBlock(llvm::StringRef name) const;
  unsigned addHandle(mlir::Operation *op, llvm::StringRef stem);
  std::string nameOf(Loop loop) const { return "%" + handleNames[loop.id]; }
  std::string nameOf(Block block) const { return "%" + handleNames[block.id]; }
  std::string nameOf(Number number) const { return "%" + handleNames[number.id]; }
  std::string nameOf(Place place) const {
    return std::visit([&](auto handle) { return nameOf(handle); }, place);
  }
  mlir::LogicalResult applyInPlace(const TraceInstruction &instruction);
  /// Names the results of the last instruction. After a failure the schedule must not be used any more.
  mlir::LogicalResult nameResults(llvm::ArrayRef<std::string> names);
  void record(llvm::StringRef primitive, llvm::ArrayRef<std::string> results, llvm::ArrayRef<std::string> operands);
  mlir::LogicalResult setKind(Loop handle, LoopKind kind, llvm::StringRef primitive);
  mlir::LogicalResult checkIndependent(ForOp loop);
  mlir::LogicalResult checkScope(llvm::StringRef scope, const std::string &title);
  /// `access` is "read" or "write"; `number` counts the buffers that the block writes, or reads without writing.
  mlir::FailureOr<mlir::Value> findBuffer(BlockOp block, llvm::StringRef access, int64_t number,
                                          const std::string &title);
  /// Applies all steps as a single instruction, which the caller records; or none.
  mlir::LogicalResult applyAll(const std::string &title,
                               llvm::function_ref<mlir::LogicalResult(KernelSchedule &)> steps);
  mlir::FailureOr<llvm::SmallVector<Block>> recordBlocks(llvm::StringRef primitive,
                                                         llvm::ArrayRef<mlir::Operation *> blocks,
                                                         llvm::ArrayRef<std::string> operands);
  /// Refuses operations inside another block, which schedules do not see.
  mlir::LogicalResult checkOutermost(mlir::Operation *op, const std::string &name);
  mlir::FailureOr<Block> reindexCache(llvm::StringRef primitive, Block block, llvm::StringRef access, int64_t number,
                                      llvm::StringRef scope, llvm::StringRef map);
  mlir::FailureOr<Block> copyReindexed(Block block, llvm::StringRef access, int64_t number, llvm::StringRef scope,
                                       std::optional<llvm::StringRef> map, const std::string &title);
  std::string textOf(llvm::ArrayRef<Factor> factors) const;
  /// The factors' values; nullopt for a free one.
  llvm::SmallVector<std::optional<int64_t>> valuesOf(llvm::ArrayRef<Factor> factors) const;
  uint64_t draw();
  uint64_t drawBelow(uint64_t count);
  llvm::SmallVector<int64_t> drawFactors(int64_t extent, int64_t count, int64_t largest);
  mlir::FailureOr<int64_t> findExtent(Loop loop, int64_t count, const std::string &title);
  Number addNumber(int64_t value, llvm::StringRef stem);
  llvm::SmallVector<Number> recordFactors(llvm::StringRef primitive, const std::string &stem,
                                          llvm::ArrayRef<int64_t> factors, llvm::ArrayRef<std::string> operands);
  /// Erases an operation to which no handle refers any more.
  void erase(mlir::Operation *op);

  mlir::func::FuncOp kernel;
  std::vector<std::string> scopes;
  std::vector<target::Level> levels;
  std::optional<target::Machine> machine; ///< nullopt: of no machine
  llvm::SmallVector<mlir::Operation *> handles;
  llvm::SmallVector<std::string> handleNames;
  /// Whether each handle is or was a loop.
  llvm::SmallVector<bool> areLoops;
  /// The values of handles that are numbers.
  std::map<unsigned, int64_t> numbers;
  uint64_t generator = 1;
  /// Handles by name, without the %.
  llvm::StringMap<unsigned> handleNumbers;
  llvm::SmallVector<TraceInstruction> instructions;
  std::string reason;
  std::optional<unsigned> wrongOperand;
};

/// Substitutes `variable` in a loop's body: every expression that uses it gets `replacement`, an expression over
/// `names`.
void replaceVariable(mlir::Value variable, const SymbolicInt &replacement, IndexNames &names);

/// For example `[2, 8]`.
std::string listText(llvm::ArrayRef<int64_t> numbers);

/// Shrinks a local buffer to what one iteration around it touches. With `mayWrap`, indices may become modular; most
/// primitives require plain iterators.
void compactBuffer(AllocOp alloc, bool mayWrap = false);
/// Shrinks all local buffers, once the kernel has been scheduled.
void compactBuffers(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
