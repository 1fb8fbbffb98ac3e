//===- Builder.h - builds graphs; the only place of shape inference -*- C++ -*-===//
//
// All front ends build graphs through this class. It deduces result shapes,
// applies broadcasting, and tracks the contents of small integer tensors
// symbolically, so that a shape computed by the model becomes a symbolic shape.
//
// Errors: a method that cannot build emits one diagnostic at the current
// location ("expected ..., got ..., hint: ...") and returns a null Value; a
// method given a null Value returns one, silently. Check hasFailed() at the end.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_GRAPH_BUILDER_H
#define PERPEND_GRAPH_BUILDER_H

#include "graph/Minifloats.h"
#include "graph/Shapes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace perpend::graph {

/// Window geometry of conv and window_reduce: one entry per window dimension.
struct Window {
  llvm::SmallVector<int64_t> strides, padLow, padHigh, dilations, inputDilation;
  int64_t groups = 1;
  bool channelsLast = false;
  /// Pooling only: round the number of positions up instead of down (windows may then start in the padding's end).
  bool ceilMode = false;
};

/// Conditions of a loop: it continues while the iteration's number is below `limit` (one integer, or null) and
/// `condition` holds (one boolean, or null for true). Each iteration yields a new condition.
struct Iterations {
  mlir::Value limit, condition;
};

/// What the body of a loop yields. A null condition is true.
struct Iteration {
  mlir::Value condition;
  llvm::SmallVector<mlir::Value> carried, elements;
};

/// Relation of a boolean to symbols: it is true if all of `allHold` are >= 0, and false if one of `oneHolds` is.
struct Comparison {
  llvm::SmallVector<SymbolicInt, 2> allHold, oneHolds;
};

/// One result of a library call. A poison extent becomes a new symbol, which the call defines.
struct CallResult {
  Shape shape;
  mlir::Type elementType;
  /// Base names of these symbols, by dimension; without them, the function's name.
  llvm::SmallVector<std::string> names = {};
};

class Builder {
public:
  using Values = llvm::ArrayRef<mlir::Value>;
  using Ints = llvm::ArrayRef<int64_t>;
  using Extents = llvm::ArrayRef<SymbolicInt>;
  /// Scalar code of map: block arguments in, scalar out.
  using ScalarBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
  /// Scalar code of generate: the index, then the captured tensors (read them with load()).
  using ElementBody = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange index,
                                                     mlir::ValueRange tensors)>;

  Builder(mlir::OpBuilder &operations, mlir::Location location) : operations(operations), location(location) {}
  ~Builder();

  mlir::OpBuilder &operations;
  /// Location of the following operations: the model's node.
  mlir::Location location;
  /// Start of error messages: "node 'conv1' (Conv): ".
  std::string subject;
  /// End of error messages: "inputs: 'x' f32 [2, 3], 'w' f32 [4, 5]".
  std::string operands;
  /// If set, a contradiction in a branch removes that branch instead of being an error.
  bool leavesOutBranches = false;

  /// Of front ends: following operations are an operator of the model, which comes from `node`; error messages begin
  /// with `text`. f16 and bf16 values are rounded to their types between operators of the model, not inside of one.
  void beginOperator(mlir::Location node, std::string text);
  /// Whether an operation is a part of the operator of the model that is being made.
  bool isOfThisOperator(mlir::Operation *op) const { return inserted && inserted->operations.contains(op); }

  /// Emits the subject, `message` and the operands as an error at the current location, unless an earlier error has
  /// led to this one. Always returns null.
  mlir::Value fail(const llvm::Twine &message);
  /// Like fail(), for shapes that contradict each other: no run could compute this, though others may.
  mlir::Value contradict(const llvm::Twine &message);
  bool hasFailed() const { return failed; }
  mlir::MLIRContext *context() { return operations.getContext(); }
  mlir::Type f32() { return operations.getF32Type(); }
  mlir::Type i64() { return operations.getI64Type(); }

  // Constants. splat() makes one value of any shape; integers() a vector of i64.
  mlir::Value constant(mlir::ElementsAttr value);
  mlir::Value scalar(double value, mlir::Type elementType) { return splat({}, value, elementType); }
  mlir::Value splat(Extents shape, double value, mlir::Type elementType);
  mlir::Value integers(Ints values);
  /// A vector of i64 (or a scalar) of symbolic values.
  mlir::Value dims(Extents values, bool isScalar = false);

  // Known elements of a small integer tensor, row-major.
  std::optional<Shape> contents(mlir::Value tensor);
  void recordContents(mlir::Value tensor, Extents values);
  /// Records the meaning of a tensor with one boolean that symbols decide.
  void recordComparison(mlir::Value condition, Comparison meaning);
  /// The elements as numbers, if all are known constants.
  std::optional<llvm::SmallVector<int64_t>> constantContents(mlir::Value tensor);

  // Primitives (Ops.td), with their result shapes deduced.
  mlir::Value map(Values inputs, mlir::Type elementType, ScalarBody body);
  mlir::Value generate(Values inputs, Extents shape, mlir::Type elementType, ElementBody body);
  mlir::Value broadcast(mlir::Value input, Ints dims, Extents shape);
  mlir::Value transpose(mlir::Value input, Ints permutation);
  mlir::Value reshape(mlir::Value input, Extents shape);
  mlir::Value slice(mlir::Value input, Extents starts, Extents sizes, Ints steps);
  mlir::Value pad(mlir::Value input, Extents low, Extents high, mlir::TypedAttr value);
  mlir::Value concat(Values inputs, int64_t axis);
  mlir::Value gather(mlir::Value input, mlir::Value indices, int64_t axis);
  mlir::Value reduce(ReductionKind kind, mlir::Value input, Ints dims, bool keepDims);
  mlir::Value contract(mlir::Value lhs, mlir::Value rhs, Ints lhsBatch, Ints rhsBatch, Ints lhsContracted,
                       Ints rhsContracted, mlir::Type elementType = {});
  /// Channels-first unless window.channelsLast; result extent = floor((x + low + high - d*(k-1) - 1) / s) + 1.
  mlir::Value conv(mlir::Value input, mlir::Value filter, const Window &window, mlir::Type elementType = {});
  /// As conv, with the result's window extents given (transposed convolutions with output padding).
  mlir::Value conv(mlir::Value input, mlir::Value filter, const Window &window, Extents windowExtents,
                   mlir::Type elementType = {});
  /// Window entries for the dimensions 2, 3, ... of a channels-first tensor.
  mlir::Value windowReduce(ReductionKind kind, mlir::Value input, Ints size, const Window &window);
  /// A copy of `input` with updates written, or combined, at index tuples; those outside are dropped.
  mlir::Value scatter(mlir::Value input, mlir::Value indices, mlir::Value updates,
                      std::optional<ReductionKind> kind = std::nullopt);
  /// Positions (i64) in stable sorted order; lexicographic: the last dimension holds the keys of an element. count:
  /// only the first ones, of which the caller has required that there are as many.
  mlir::Value sort(mlir::Value input, int64_t dim, bool isDescending, bool isLexicographic = false,
                   std::optional<SymbolicInt> count = std::nullopt);
  mlir::Value scan(ReductionKind kind, mlir::Value input, int64_t dim);

  // Control flow, and sizes that depend on data.
  /// The value of a tensor with one integer: its known contents, otherwise a new symbol (`base` and a number) that gets
  /// the value at run time. Poison after an error.
  SymbolicInt measure(mlir::Value scalar, llvm::StringRef base);
  /// As measure(), for a value that may be negative: the difference of two symbols.
  SymbolicInt measureSigned(mlir::Value scalar, llvm::StringRef base);
  /// The elements of a vector as scalars; its extent must be a number.
  std::optional<llvm::SmallVector<mlir::Value>> scalars(mlir::Value vector);
  /// measure() of each element of a vector.
  std::optional<Shape> sizes(mlir::Value vector, llvm::StringRef base);
  /// Ends the run with `message` if the expression is negative. Null if its sign is known.
  RequireOp require(const SymbolicInt &value, llvm::StringRef message);
  using Branch = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  /// Extents that differ between the branches become symbols. A known condition keeps only its branch. With
  /// leavesOutBranches, a contradiction in one branch keeps the other: a run that chooses the former ends with an
  /// error, and the operator that raises it has the string attribute leftOutAttribute. If ranks differ, one branch is
  /// kept: the one chosen by earlier requirements, the one with `declaredRanks` (of some results), or the one with the
  /// lower rank.
  llvm::SmallVector<mlir::Value> ifThenElse(mlir::Value condition, Branch thenBody, Branch elseBody,
                                            llvm::ArrayRef<std::optional<int64_t>> declaredRanks = {});
  using Body = llvm::function_ref<Iteration(mlir::Value number, mlir::ValueRange carried)>;
  /// Returns the last carried values, then the stacked elements. Extents of carried values that change become symbols,
  /// and `body` is called again for them.
  llvm::SmallVector<mlir::Value> loop(const Iterations &iterations, Values initial, Body body);

  // Library calls.
  /// A constant of strings: a vector, or a scalar.
  mlir::Value texts(llvm::ArrayRef<llvm::StringRef> values, bool isScalar = false);
  /// One value per result; null if an input is null.
  llvm::SmallVector<mlir::Value> callLibrary(llvm::StringRef function, Values inputs,
                                             llvm::ArrayRef<CallResult> results,
                                             llvm::ArrayRef<mlir::NamedAttribute> parameters = {});
  /// The same identities or handles as elements of another type.
  mlir::Value retype(mlir::Value input, mlir::Type elementType);

  // Numpy-style conveniences built from the primitives.
  /// The shape two tensors broadcast to; nullopt (with an error) when they do not.
  std::optional<Shape> broadcastShapes(Values inputs);
  /// Broadcasts to a shape of at least the same rank, aligned at the last dimension.
  mlir::Value broadcastTo(mlir::Value input, Extents shape);
  /// map() after broadcasting all inputs to their common shape.
  mlir::Value mapBroadcast(Values inputs, mlir::Type elementType, ScalarBody body);
  /// Converts numbers like graph::convert, and strings like string.from_number and string.to_number.
  mlir::Value cast(mlir::Value input, mlir::Type elementType, MinifloatRounding rounding = {});
  /// A cast that is meant to round: its operand and its result are rounded to their types, unlike those around formulas
  /// that compute f16 and bf16 in f32.
  mlir::Value roundingCast(mlir::Value input, mlir::Type elementType, MinifloatRounding rounding = {});
  mlir::Value unsqueeze(mlir::Value input, Ints axes);
  mlir::Value squeeze(mlir::Value input, Ints axes);
  /// numpy.matmul, accumulating in the result's element type.
  mlir::Value matmul(mlir::Value lhs, mlir::Value rhs, mlir::Type elementType = {});

private:
  template <typename Op, typename... Arguments>
  mlir::Value create(Extents extents, mlir::Type elementType, Arguments &&...arguments);
  mlir::Value bodyOp(llvm::StringRef name, Values inputs, Extents shape, mlir::Type elementType,
                     llvm::ArrayRef<mlir::Type> argumentTypes,
                     llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Block &)> body);
  bool checkAxis(int64_t axis, int64_t rank, llvm::StringRef what);
  mlir::StringAttr freshSymbol(llvm::StringRef base);
  mlir::Value castText(mlir::Value input, mlir::Type elementType);
  mlir::Value oneElement(mlir::Value tensor, mlir::Type elementType, llvm::StringRef what);
  std::string completed(const llvm::Twine &message) const;
  std::string behindGuess(llvm::StringRef text) const;
  void raise(const std::string &text, bool isContradiction);
  void keepRounded(mlir::Value value);
  struct BuiltBranch;
  BuiltBranch buildBranch(mlir::Region &region, Branch body);
  bool chooseRank(IfOp draft, mlir::Value condition, Values thenValues, Values elseValues,
                  llvm::ArrayRef<std::optional<int64_t>> declaredRanks);
  void requireBranch(bool isThen, IfOp draft, mlir::Value condition, llvm::StringRef problem);
  void keepOnly(bool isThen, IfOp draft, mlir::Value condition, const BuiltBranch (&branches)[2]);
  llvm::SmallVector<mlir::Value> finishIf(IfOp draft, Values thenValues, Values elseValues);
  friend class LoopBuilder;

  /// Contents are tracked for tensors of up to this many elements, enough for all shape computations.
  static constexpr int64_t maxFollowedElements = 128;

  bool failed = false;
  /// The contradiction found in the innermost branch; null outside branches that can be removed.
  std::string *contradiction = nullptr;
  llvm::DenseMap<mlir::Value, Shape> knownContents;
  llvm::DenseMap<mlir::Value, Comparison> comparisons;
  /// A branch that was chosen as a guess, and what would decide; later errors mention it.
  struct Choice {
    std::string text, hint;
  };
  std::optional<Choice> guess;
  struct InsertedOperations : mlir::OpBuilder::Listener {
    void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override { operations.insert(op); }
    llvm::DenseSet<mlir::Operation *> operations;
  };
  /// By the operator of the model that is being made; null: by no front end.
  std::unique_ptr<InsertedOperations> inserted;
  /// The names of symbols that are taken; filled when the first one is invented.
  llvm::StringSet<> symbolNames;
};

/// Reads an element of a tensor captured by generate().
mlir::Value load(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor, mlir::ValueRange index);
/// The value of a symbolic expression as an index inside generate().
mlir::Value extent(mlir::OpBuilder &builder, mlir::Location loc, const SymbolicInt &value);
} // namespace perpend::graph

#endif
