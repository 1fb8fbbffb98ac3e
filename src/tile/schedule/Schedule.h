//===- Schedule.h - transformations of a kernel, and their trace -*- C++ -*-===//
//
// A schedule holds a kernel of loops around blocks, and the trace of what was
// done to it. Primitives.def lists the primitives, which are its methods: each
// checks that it keeps the meaning of the kernel, transforms it and appends one
// instruction to the trace; or it changes nothing and says what is in the way. A
// trace, which may have been read from text (TraceText.h), is done again by `replay`.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_TILE_SCHEDULE_SCHEDULE_H
#define PERPEND_TILE_SCHEDULE_SCHEDULE_H

#include "tile/KernelIndices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <variant>

namespace perpend::tile {

/// One instruction: `%f = fuse %i0, %i1`.
struct TraceInstruction {
  llvm::StringRef primitive;
  llvm::SmallVector<std::string, 2> results;
  /// Values (%name) and literals, as they are written.
  llvm::SmallVector<std::string, 4> operands;
  std::string str() const;
};

/// Of what the names of values consist, behind the %.
inline bool isTraceNameCharacter(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; }

class KernelSchedule {
public:
  /// `scopes`: those of the target.
  explicit KernelSchedule(mlir::func::FuncOp kernel, std::vector<std::string> scopes = {"local"})
      : kernel(kernel), scopes(std::move(scopes)) {}

  /// A number that stands for a block or a loop; valid until a primitive consumes it.
  struct Block {
    unsigned id;
  };
  struct Loop {
    unsigned id;
  };
  using Place = std::variant<Loop, Block>;
  /// What was sampled: an integer, by its name in the trace.
  struct Number {
    unsigned id;
  };
  /// A number, one that was sampled, or free (nullopt).
  struct Factor {
    Factor() = default;
    Factor(std::nullopt_t) {}
    Factor(int64_t value) : value(value) {}
    Factor(Number number) : number(number) {}
    std::optional<int64_t> value;
    std::optional<Number> number;
  };

  // What the types in Primitives.def are, as operands ...
  using Integer = int64_t;
  using String = llvm::StringRef;
  using Loops = llvm::ArrayRef<Loop>;
  using Factors = llvm::ArrayRef<Factor>;
  using Integers = llvm::ArrayRef<int64_t>;
  using Map = llvm::StringRef;
  using Attribute = mlir::Attribute;
  /// ... and as results, of which there are none where a primitive is refused.
  struct Results {
    using None = mlir::LogicalResult;
    using Block = mlir::FailureOr<KernelSchedule::Block>;
    using Loop = mlir::FailureOr<KernelSchedule::Loop>;
    using Number = mlir::FailureOr<KernelSchedule::Number>;
    using Blocks = mlir::FailureOr<llvm::SmallVector<KernelSchedule::Block>>;
    using Loops = mlir::FailureOr<llvm::SmallVector<KernelSchedule::Loop>>;
    using Numbers = mlir::FailureOr<llvm::SmallVector<KernelSchedule::Number>>;
  };

  // The primitives: of each line of Primitives.def, which describes it, a method such as
  //   FailureOr<SmallVector<Loop>> split(Loop loop, ArrayRef<Factor> factors);
#define PRIMITIVE(name, method, results, operands, sentence) Results::results method operands;
#include "tile/schedule/Primitives.def"

  /// i becomes i0 * factor + i1.
  mlir::FailureOr<std::pair<Loop, Loop>> split(Loop loop, int64_t factor);
  /// Of each decision that a primitive draws; schedules with one seed and the same steps draw the same.
  void setSeed(uint64_t seed) { generator = seed; }
  /// What was sampled.
  int64_t value(Number number) const { return numbers.at(number.id); }

  // Primitives by name
  /// One instruction; its results, if it names any, are called so.
  mlir::LogicalResult apply(const TraceInstruction &instruction);
  /// All of them, or nothing: then `failed` is the first that was refused.
  mlir::LogicalResult replay(llvm::ArrayRef<TraceInstruction> trace, size_t *failed = nullptr);
  /// What `%name` stands for, if anything ever did.
  std::optional<Place> handle(llvm::StringRef name) const;
  std::optional<Number> number(llvm::StringRef name) const;
  /// What is wrong with a name that stands for nothing.
  std::string unknownHandle(llvm::StringRef name) const;

  llvm::ArrayRef<TraceInstruction> trace() const { return instructions; }
  /// Why the last primitive was refused.
  llvm::StringRef refusal() const { return reason; }
  /// The number of the operand that `apply` could not read.
  std::optional<unsigned> refusedOperand() const { return wrongOperand; }
  mlir::MLIRContext *context() { return kernel.getContext(); }
  /// The operations that handles stand for; null when they have been consumed.
  BlockOp operation(Block block) const;
  ForOp operation(Loop loop) const;

  /// Tries steps on a copy of the kernel, with a handle more for another operation.
  mlir::LogicalResult tryOut(llvm::function_ref<mlir::LogicalResult(KernelSchedule &)> steps,
                             mlir::Operation *another = nullptr);

  /// Fails for this reason; so do steps of primitives that are not possible.
  mlir::LogicalResult refuse(const llvm::Twine &text);

private:
  mlir::FailureOr<ForOp> find(Loop loop);
  mlir::FailureOr<BlockOp> find(Block block);
  mlir::FailureOr<mlir::Operation *> find(Place place);
  mlir::LogicalResult find(Block blockHandle, Loop loopHandle, BlockOp &block, ForOp &loop);
  /// Null when there is none.
  BlockOp findBlock(llvm::StringRef name) const;
  unsigned addHandle(mlir::Operation *op, llvm::StringRef stem);
  std::string nameOf(Loop loop) const { return "%" + handleNames[loop.id]; }
  std::string nameOf(Block block) const { return "%" + handleNames[block.id]; }
  std::string nameOf(Number number) const { return "%" + handleNames[number.id]; }
  std::string nameOf(Place place) const {
    return std::visit([&](auto handle) { return nameOf(handle); }, place);
  }
  mlir::LogicalResult applyInPlace(const TraceInstruction &instruction);
  /// Of the last instruction; after a refusal the schedule is of no use.
  mlir::LogicalResult nameResults(llvm::ArrayRef<std::string> names);
  void record(llvm::StringRef primitive, llvm::ArrayRef<std::string> results, llvm::ArrayRef<std::string> operands);
  mlir::LogicalResult setKind(Loop handle, LoopKind kind, llvm::StringRef primitive);
  mlir::LogicalResult checkIndependent(ForOp loop);
  mlir::LogicalResult checkScope(llvm::StringRef scope, const std::string &title);
  /// The access is "read" or "write": of the k-th buffer that the block writes, or reads and does not write.
  mlir::FailureOr<mlir::Value> findBuffer(BlockOp block, llvm::StringRef access, int64_t number,
                                          const std::string &title);
  /// All of the steps, as one instruction that the caller records; or nothing.
  mlir::LogicalResult applyAll(const std::string &title,
                               llvm::function_ref<mlir::LogicalResult(KernelSchedule &)> steps);
  mlir::FailureOr<llvm::SmallVector<Block>> recordBlocks(llvm::StringRef primitive,
                                                         llvm::ArrayRef<mlir::Operation *> blocks,
                                                         llvm::ArrayRef<std::string> operands);
  /// What is inside of a block is no more the schedule's.
  mlir::LogicalResult checkOutermost(mlir::Operation *op, const std::string &name);
  mlir::FailureOr<Block> reindexCache(llvm::StringRef primitive, Block block, llvm::StringRef access, int64_t number,
                                      llvm::StringRef scope, llvm::StringRef map);
  mlir::FailureOr<Block> copyReindexed(Block block, llvm::StringRef access, int64_t number, llvm::StringRef scope,
                                       std::optional<llvm::StringRef> map, const std::string &title);
  std::string textOf(llvm::ArrayRef<Factor> factors) const;
  /// Free ones are nullopt.
  llvm::SmallVector<std::optional<int64_t>> valuesOf(llvm::ArrayRef<Factor> factors) const;
  uint64_t draw();
  uint64_t drawBelow(uint64_t count);
  llvm::SmallVector<int64_t> drawFactors(int64_t extent, int64_t count, int64_t largest);
  mlir::FailureOr<int64_t> findExtent(Loop loop, int64_t count, const std::string &title);
  Number addNumber(int64_t value, llvm::StringRef stem);
  llvm::SmallVector<Number> recordFactors(llvm::StringRef primitive, const std::string &stem,
                                          llvm::ArrayRef<int64_t> factors, llvm::ArrayRef<std::string> operands);
  /// Erases what no handle stands for any more.
  void erase(mlir::Operation *op);

  mlir::func::FuncOp kernel;
  std::vector<std::string> scopes;
  llvm::SmallVector<mlir::Operation *> handles;
  llvm::SmallVector<std::string> handleNames;
  /// What each of them is or was.
  llvm::SmallVector<bool> areLoops;
  /// Of the handles that are numbers.
  std::map<unsigned, int64_t> numbers;
  uint64_t generator = 1;
  /// By names, without %.
  llvm::StringMap<unsigned> handleNumbers;
  llvm::SmallVector<TraceInstruction> instructions;
  std::string reason;
  std::optional<unsigned> wrongOperand;
};

/// Writes a loop's body in terms of other loops: every expression in it that uses `variable` gets `replacement`, an
/// expression of `names`.
void replaceVariable(mlir::Value variable, const SymbolicInt &replacement, IndexNames &names);

/// `[2, 8]`
std::string listText(llvm::ArrayRef<int64_t> numbers);

/// Shrinks a local buffer to what one iteration around it touches. With `mayWrap`, its indices may become others than
/// iterators, which most primitives want.
void compactBuffer(AllocOp alloc, bool mayWrap = false);
/// All of a kernel's, when it has been scheduled.
void compactBuffers(mlir::func::FuncOp kernel);
} // namespace perpend::tile

#endif
