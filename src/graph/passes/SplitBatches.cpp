//===- SplitBatches.cpp - chains of kernels run part by part --------------===//
//
// A near memory often holds the values between kernels for some images of a batch, but not for all of them. A chain of
// kernels of which each computes the indices of the first dimension independently (Parts.h) then runs for a part of
// them, from its first kernel to its last, before the next part begins. Only what enters or leaves a group of kernels
// lies in far memory as a whole; parts are slices in its memory, and results are assembled in theirs.
//
// Runs behind fusion, because kernels are what values go between. A chain is cut into groups, and each group's batch
// into parts, by dynamic programming: the fewest bytes to and from far memory, where weights are read again for each
// part, and a launch counts as the option launch-bytes (docs/decisions/0072-batches-in-parts.md). Values that near
// memory does not hold while other members run go to far memory and back.
//
//   %b = call_kernel @f(%a) : [16, m]        %a0 = slice %a [0] {in_place}   %b0 = call_kernel @f8(%a0) : [8, m]
//   %c = call_kernel @g(%b) : [16, m]   =>   %c0 = call_kernel @g8(%b0)      … the same of rows 8 to 15 …
//                                            %c = concat %c0, %c1 {graph.assembled}
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Parts.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/StoredElements.h"
#include "graph/passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHSPLITBATCHES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {
/// Calls, and what stays in its operand's memory between them, each of which keeps the first dimension of the others'
/// results.
struct Chain {
  int64_t rows = 0;
  SmallVector<Operation *> members;
  llvm::DenseMap<Operation *, unsigned> numbers;

  void add(Operation *op) {
    numbers[op] = members.size();
    members.push_back(op);
  }
  bool contains(Value value) const { return value.getDefiningOp() && numbers.contains(value.getDefiningOp()); }
  bool isReadBy(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) { return contains(operand); });
  }
};

/// Which members run part by part: [first, end).
struct Group {
  unsigned first = 0, end = 0;
  int64_t parts = 1;
};
} // namespace

static int64_t bytesOf(Value value) {
  auto type = tensorTypeOf(value);
  return type.hasStaticShape() ? type.getNumElements() * llvm::divideCeil(bitWidth(type.getElementType()), 8) : 0;
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

namespace {
/// Finds the chains of a block. Several may be open at a time; one ends at an operator that reads it otherwise, so that
/// what lies between the members of a chain can run before it.
class ChainFinder {
public:
  explicit ChainFinder(DividedKernels &kernels) : kernels(kernels) {}

  std::vector<Chain> find(Block &block) {
    for (Operation &op : block)
      visit(op);
    closeIf([](const Chain &) { return true; });
    return std::move(chains);
  }

private:
  void closeIf(llvm::function_ref<bool(const Chain &)> ends) {
    for (Chain &chain : open)
      if (ends(chain) && chain.members.size() > 1)
        chains.push_back(chain);
    llvm::erase_if(open, ends);
  }

  void visit(Operation &op) {
    const bool hasOrder =
        !DividedKernels::isCall(&op) && !op.hasTrait<OpTrait::ConstantLike>() && !isInOperandsMemory(&op);
    const std::optional<int64_t> rows = rowsOf(op);
    closeIf([&](const Chain &chain) {
      return hasOrder || (chain.isReadBy(&op) && (chain.rows != rows || readsWhole(op, chain)));
    });
    if (!rows)
      return;
    // What has as many rows by chance, such as the channels of a bias, is no member.
    Chain joined;
    joined.rows = *rows;
    for (const Chain &chain : open)
      if (chain.isReadBy(&op))
        llvm::append_range(joined.members, chain.members);
    llvm::sort(joined.members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    for (auto [number, member] : llvm::enumerate(joined.members))
      joined.numbers[member] = number;
    llvm::erase_if(open, [&](const Chain &chain) { return chain.isReadBy(&op); });
    joined.add(&op);
    open.push_back(std::move(joined));
  }

  /// Of what an operator computes index by index.
  std::optional<int64_t> rowsOf(Operation &op) {
    if (const Parts *parts = kernels.partsOf(&op))
      return parts->extent;
    auto flow = dyn_cast<DimensionFlowInterface>(op);
    if (!flow || !isInOperandsMemory(&op) || !isInChain(op.getOperand(0)) || shapeOf(op.getResult(0)).empty() ||
        shapeOf(op.getOperand(0)).empty() || flow.followingDim(op.getOpOperand(0), 0) != 0u)
      return std::nullopt;
    return shapeOf(op.getResult(0))[0].constant();
  }

  bool isInChain(Value value) {
    return llvm::any_of(open, [&](const Chain &chain) { return chain.contains(value); });
  }

  bool readsWhole(Operation &op, const Chain &chain) {
    return kernels.partsOf(&op) && llvm::any_of(op.getOpOperands(), [&](OpOperand &operand) {
             return chain.contains(operand.get()) && !kernels.isDivided(operand);
           });
  }

  DividedKernels &kernels;
  std::vector<Chain> open, chains;
};

//===----------------------------------------------------------------------===//
// Groups and parts
//===----------------------------------------------------------------------===//

/// Cuts a chain into groups.
class ChainPlanner {
public:
  ChainPlanner(const Chain &chain, DividedKernels &kernels, const GraphSplitBatchesOptions &options)
      : chain(chain), kernels(kernels), options(options), count(chain.members.size()) {
    collectValues();
    for (int64_t parts = 1; parts <= chain.rows; ++parts)
      if (partCounts.empty() || rowsOf(parts) != rowsOf(partCounts.back()))
        partCounts.push_back(parts);
  }

  SmallVector<Group> plan() {
    for (auto &costs : best)
      costs.resize(count + 1);
    best[0][0].bytes = 0;
    for (unsigned first = 0; first < count; ++first)
      visitFrom(first);
    SmallVector<Group> groups;
    for (Cut cut{count, 0}; cut.member > 0; cut = best[cut.isNear][cut.member].before)
      groups.push_back({best[cut.isNear][cut.member].before.member, cut.member, best[cut.isNear][cut.member].parts});
    return groups;
  }

private:
  static constexpr int64_t tooMuch = std::numeric_limits<int64_t>::max();

  /// A value with rows: the number of the member that makes it (-1: another operator), and of those that read it.
  struct Divided {
    int64_t bytes = 0;
    int def = -1;
    SmallVector<int> readers; ///< `count`: others
    bool isOver = false;      ///< it may lie where an operand did, up to the member that makes it
    int last() const { return readers.empty() ? def : readers.back(); }
  };

  /// In front of a member; whether what goes on behind it lies in near memory.
  struct Cut {
    unsigned member = 0;
    bool isNear = false;
  };
  struct Best {
    int64_t bytes = tooMuch;
    Cut before;
    int64_t parts = 1;
  };

  int64_t rowsOf(int64_t parts) const { return llvm::divideCeil(chain.rows, parts); }

  /// Whether the member that makes a value reads one that may lie there, for the last time.
  bool overwrites(Operation *op) {
    return options.overwrites && DividedKernels::isCall(op) &&
           llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
             Value origin = originOf(operand.get());
             SmallVector<int> readers;
             if (!chain.contains(origin) || bytesOf(origin) != bytesOf(operand.get()) || !kernels.mayOverwrite(operand))
               return false;
             collectReaders(origin, readers);
             const int number = static_cast<int>(chain.numbers.lookup(op));
             return llvm::all_of(readers, [&](int reader) { return reader <= number; });
           });
  }

  /// The members that read a value, directly or in its memory.
  void collectReaders(Value value, SmallVector<int> &readers) {
    for (Operation *user : value.getUsers()) {
      auto number = chain.numbers.find(user);
      if (number == chain.numbers.end())
        readers.push_back(count);
      else if (isInOperandsMemory(user))
        collectReaders(user->getResult(0), readers);
      else
        readers.push_back(number->second);
    }
  }

  void collectValues() {
    wholeBytes.resize(count);
    llvm::SetVector<Value> outer;
    for (auto [number, op] : llvm::enumerate(chain.members)) {
      if (!DividedKernels::isCall(op))
        continue;
      for (OpOperand &operand : op->getOpOperands())
        if (!kernels.isDivided(operand))
          wholeBytes[number] += kernels.readsSome(operand) ? 0 : bytesOf(operand.get()); // however many parts
        else if (!chain.contains(operand.get()))
          outer.insert(operand.get());
      for (Value result : op->getResults())
        addValue(result, number);
      if (op->getNumResults() == 1)
        values.back().isOver = overwrites(op);
    }
    for (Value value : outer)
      addValue(value, -1);
  }

  void addValue(Value value, int def) {
    Divided &added = values.emplace_back();
    added.bytes = bytesOf(value);
    added.def = def;
    collectReaders(value, added.readers);
    if (def < 0)
      llvm::erase(added.readers, static_cast<int>(count));
    llvm::sort(added.readers);
  }

  void visitFrom(unsigned first) {
    for (int64_t parts : partCounts)
      for (unsigned end = first + 1; end <= count; ++end) {
        if (!visit({first, end, parts}))
          break;
      }
  }

  /// False: near memory does not hold what lies between the members of this group, nor of a larger one.
  bool visit(Group group) {
    const bool isAlone = group.end == group.first + 1 && group.parts == 1;
    if (!isAlone && !spilledBy(group, false, false))
      return false;
    for (bool isNear : {false, true})
      for (bool staysNear : {false, true}) {
        const Best &before = best[isNear][group.first];
        const bool isPlain = isAlone && !isNear && !staysNear;
        if (before.bytes == tooMuch || (staysNear && group.end == count))
          continue;
        const std::optional<int64_t> spilled = isPlain ? 0 : spilledBy(group, isNear, staysNear);
        if (!spilled)
          continue;
        Best &known = best[staysNear][group.end];
        int64_t bytes = movedBy(group, isNear, staysNear);
        if (bytes == tooMuch || before.bytes + bytes + *spilled >= known.bytes)
          continue;
        known = {before.bytes + bytes + *spilled, {group.first, isNear}, group.parts};
      }
    return true;
  }

  static bool isWithin(const Divided &value, const Group &group) {
    return value.def >= static_cast<int>(group.first) && value.last() < static_cast<int>(group.end);
  }
  static bool isOutside(const Divided &value, const Group &group) {
    return value.def >= static_cast<int>(group.end) || value.last() < static_cast<int>(group.first);
  }
  static bool isNearIn(const Divided &value, const Group &group, bool isNear, bool staysNear) {
    return isWithin(value, group) ||
           (!isOutside(value, group) && (isMade(value, group) ? staysNear : isNear && value.def >= 0));
  }
  static bool isMade(const Divided &value, const Group &group) { return value.def >= static_cast<int>(group.first); }

  /// What must move to far memory and back so that near memory holds the rest, in bytes to and from it: values that
  /// live while other members run. nullopt: it does not hold what one member touches. What kernels read as a whole
  /// passes through it, piece by piece.
  std::optional<int64_t> spilledBy(const Group &group, bool isNear, bool staysNear) const {
    int64_t spilled = 0;
    std::vector<bool> isFar(values.size());
    while (true) {
      const auto [most, number] = peakOf(group, isNear, staysNear, isFar);
      if (most <= options.nearBytes)
        return spilled;
      std::optional<size_t> best;
      int64_t least = tooMuch;
      for (auto [index, value] : llvm::enumerate(values)) {
        const auto at = static_cast<int>(number);
        const int64_t moved = value.bytes * static_cast<int64_t>(1 + value.readers.size());
        if (!isFar[index] && isNearIn(value, group, isNear, staysNear) && value.def < at && at < value.last() &&
            !llvm::is_contained(value.readers, at) && moved < least) {
          best = index;
          least = moved;
        }
      }
      if (!best)
        return std::nullopt;
      isFar[*best] = true;
      spilled += least;
    }
  }

  /// The most bytes of near memory at a time, and the member that runs then.
  std::pair<int64_t, unsigned> peakOf(const Group &group, bool isNear, bool staysNear,
                                      const std::vector<bool> &isFar) const {
    SmallVector<int64_t> changes(group.end - group.first + 1);
    int64_t resident = 0, most = 0, now = 0;
    unsigned at = group.first;
    for (auto [index, value] : llvm::enumerate(values)) {
      if (isOutside(value, group) || isFar[index])
        continue;
      if (isWithin(value, group)) {
        const int64_t bytes = value.bytes / chain.rows * rowsOf(group.parts);
        const int end = std::max(value.last() + 1, value.def + 1);
        const int begin = value.isOver ? std::min(value.def + 1, end) : value.def;
        changes[begin - group.first] += bytes;
        changes[end - group.first] -= bytes;
      } else if (isMade(value, group) ? staysNear : isNear && value.def >= 0) {
        resident += value.bytes;
      }
    }
    for (unsigned number = group.first; number < group.end; ++number) {
      now += changes[number - group.first];
      if (const int64_t bytes = now + std::min(wholeBytes[number], options.nearBytes / 4); bytes > most) {
        most = bytes;
        at = number;
      }
    }
    return {most + resident, at};
  }

  /// To and from far memory. Parts that would begin inside a line are refused.
  int64_t movedBy(const Group &group, bool isNear, bool staysNear) const {
    int64_t moved = 0;
    for (const Divided &value : values) {
      if (isOutside(value, group) || isWithin(value, group))
        continue;
      const int64_t step = chain.rows % group.parts ? 1 : chain.rows / group.parts; // parts begin at multiples
      if (group.parts > 1 && value.bytes / chain.rows * step % options.lineBytes != 0)
        return tooMuch;
      const bool isFar = isMade(value, group) ? !staysNear : !isNear || value.def < 0;
      if (!isFar)
        continue;
      moved += isMade(value, group) ? value.bytes : 0;
      for (int reader : value.readers)
        moved += reader >= static_cast<int>(group.first) && reader < static_cast<int>(group.end) ? value.bytes : 0;
    }
    for (unsigned number = group.first; number < group.end; ++number)
      if (DividedKernels::isCall(chain.members[number]))
        moved += group.parts * (wholeBytes[number] + options.launchBytes);
    return moved;
  }

  const Chain &chain;
  DividedKernels &kernels;
  const GraphSplitBatchesOptions &options;
  unsigned count;
  std::vector<Divided> values;
  std::vector<int64_t> wholeBytes; ///< of each member: operands without rows, which each part reads
  SmallVector<int64_t> partCounts; ///< with different rows
  std::vector<Best> best[2];       ///< by whether what goes on is near, and by the member behind the cut
};

//===----------------------------------------------------------------------===//
// Parts in main
//===----------------------------------------------------------------------===//

/// Makes the members of a group anew for each part.
class GroupSplitter {
public:
  GroupSplitter(ArrayRef<Operation *> members, int64_t rows, DividedKernels &kernels)
      : members(members), rows(rows), kernels(kernels), builder(members.back()->getContext()) {}

  void split(int64_t parts) {
    moveOthers();
    builder.setInsertionPointAfter(members.back());
    std::vector<IRMapping> made(parts);
    int64_t start = 0;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t size = rows / parts + (part < rows % parts);
      for (Operation *op : members)
        emit(op, start, size, made[part]);
      start += size;
    }
    for (Operation *op : members)
      for (Value result : op->getResults())
        assemble(result, made);
    for (Operation *op : llvm::reverse(members))
      op->erase();
  }

private:
  /// What lies between the members does not need them.
  void moveOthers() {
    SmallPtrSet<Operation *, 16> known(members.begin(), members.end());
    for (Operation *op = members.front(), *next; op != members.back(); op = next) {
      next = op->getNextNode();
      if (!known.contains(op))
        op->moveBefore(members.front());
    }
  }

  void emit(Operation *op, int64_t start, int64_t size, IRMapping &made) {
    const bool isCall = DividedKernels::isCall(op);
    for (OpOperand &operand : op->getOpOperands())
      if (!made.contains(operand.get()) && (!isCall || kernels.isDivided(operand)))
        made.map(operand.get(), partOf(builder, operand.get(), start, size));
    Operation *part = op->clone(made);
    if (isCall) {
      for (OpOperand &operand : op->getOpOperands())
        if (!kernels.isDivided(operand))
          part->setOperand(operand.getOperandNumber(), operand.get());
      kernels.runPart(part, op, size);
    }
    for (Value result : part->getResults())
      result.setType(withRows(tensorTypeOf(result), size));
    builder.insert(part);
  }

  void assemble(Value result, ArrayRef<IRMapping> made) {
    auto isOutside = [&](OpOperand &use) { return !llvm::is_contained(members, use.getOwner()); };
    if (llvm::none_of(result.getUses(), isOutside))
      return;
    SmallVector<Value> parts =
        llvm::map_to_vector(made, [&](const IRMapping &mapping) { return mapping.lookup(result); });
    result.replaceUsesWithIf(assembled(builder, tensorTypeOf(result), parts), isOutside);
  }

  ArrayRef<Operation *> members;
  int64_t rows;
  DividedKernels &kernels;
  OpBuilder builder;
};

struct SplitBatches : perpend::graph::impl::GraphSplitBatchesBase<SplitBatches> {
  using GraphSplitBatchesBase::GraphSplitBatchesBase;

  void runOnOperation() override {
    if (!nearBytes)
      return;
    const GraphSplitBatchesOptions options{nearBytes, lineBytes, launchBytes, overwrites};
    DividedKernels kernels;
    for (func::FuncOp main : entriesOf(getOperation()))
      for (const Chain &chain : ChainFinder(kernels).find(main.getBody().front()))
        for (const Group &group : ChainPlanner(chain, kernels, options).plan())
          if (group.parts > 1)
            GroupSplitter(ArrayRef(chain.members).slice(group.first, group.end - group.first), chain.rows, kernels)
                .split(group.parts);
    eraseUnused();
  }

  void eraseUnused() {
    llvm::StringSet<> called;
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(&getOperation().getBodyRegion());
    for (const SymbolTable::SymbolUse &use : *uses)
      called.insert(use.getSymbolRef().getLeafReference().getValue());
    for (auto kernel : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (kernel->hasAttr(kernelAttribute) && !called.contains(kernel.getSymName()))
        kernel.erase();
  }
};
} // namespace
