//===- ScheduleUpdates.cpp - runs readers of states before updates --------===//
//
// An update in place overwrites a part of its operand, unless it only appends. So every other reader of the old value
// must run before it. Runs after fusion, because a kernel reads its operands where it is called. Operators keep their
// order unless an update comes too early; those that depend on the update then move behind the reader. If the reader
// itself depends on the update, the old value would have to be copied, which is an error.
//
//   %k1 = graph.update %k, %row {graph.in_place}        %y = call_kernel @read(%k)
//   %y = call_kernel @read(%k)                     =>   %k1 = graph.update %k, %row {graph.in_place}
//
//===----------------------------------------------------------------------===//

#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/ErrorKind.h"
#include "graph/NodeNames.h"
#include "graph/Rows.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "graph/passes/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <queue>

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHSCHEDULEUPDATES
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {
/// The operators of main as a graph of what must come before what.
class Schedule {
public:
  explicit Schedule(Block &block) : block(block) {
    for (Operation &op : block) {
      numbers[&op] = operators.size();
      operators.push_back(&op);
    }
    followers.resize(operators.size());
    waitsFor.resize(operators.size());
  }

  LogicalResult run() {
    if (!addReaders())
      return success(); // all come in time
    addValues();
    addSymbols();
    return reorder();
  }

private:
  void addEdge(size_t first, size_t second) {
    if (first == second)
      return;
    followers[first].push_back(second);
    ++waitsFor[second];
  }
  size_t numberOf(Operation *op) const { return numbers.lookup(block.findAncestorOpInBlock(*op)); }

  /// Whether a block of the update may lie in what its first operand holds.
  static bool overwrites(UpdateInterface update) {
    SymbolicInt extent = shapeOf(update->getOperand(0))[update.updatedDim()];
    return llvm::any_of(update.updatedBlocks(),
                        [&](const UpdatedBlock &block) { return !(block.offset - extent).knownNonNegative(); });
  }

  /// Readers of a value and of its views.
  static void collectReaders(Value value, SmallVectorImpl<Operation *> &readers) {
    for (OpOperand &use : value.getUses()) {
      if (isInOperandsMemory(use.getOwner()))
        collectReaders(use.getOwner()->getResult(0), readers);
      else
        readers.push_back(use.getOwner());
    }
  }

  /// Whether one comes too late.
  bool addReaders() {
    bool areLate = false;
    for (Operation &op : block) {
      auto update = dyn_cast<UpdateInterface>(op);
      if (!update || !op.hasAttr(inPlaceAttribute) || !overwrites(update))
        continue;
      SmallVector<Operation *> readers;
      collectReaders(originOf(op.getOperand(0)), readers);
      for (Operation *reader : readers) {
        size_t number = numberOf(reader);
        areLate |= number > numbers[&op];
        addEdge(number, numbers[&op]);
        reads.push_back({number, numbers[&op]});
      }
    }
    return areLate;
  }

  void addValues() {
    for (auto [number, op] : llvm::enumerate(operators))
      op->walk([&, number = number](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
            addEdge(numbers[producer], number);
      });
  }

  /// Operators that define symbols, or may end the run, stay in order; those that use a symbol follow what defines it.
  void addSymbols() {
    llvm::StringMap<size_t> definitions;
    std::optional<size_t> latest;
    for (auto [number, op] : llvm::enumerate(operators)) {
      op->walk([&, number = number](Operation *inner) {
        for (const std::string &name : symbolsUsedBy(inner))
          if (auto found = definitions.find(name); found != definitions.end())
            addEdge(found->second, number);
      });
      if (!isMemoryEffectFree(op)) {
        if (latest)
          addEdge(*latest, number);
        latest = number;
      }
      op->walk([&, number = number](SymbolInterface inner) {
        for (StringAttr name : inner.definedSymbols())
          definitions[name] = number;
      });
    }
    for (size_t number = 0; number + 1 < operators.size(); ++number)
      addEdge(number, operators.size() - 1); // the terminator
  }

  LogicalResult reorder() {
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    std::vector<size_t> waiting = waitsFor;
    for (size_t number = 0; number < waiting.size(); ++number)
      if (!waiting[number])
        ready.push(number);
    std::vector<size_t> order;
    while (!ready.empty()) {
      size_t number = ready.top();
      ready.pop();
      order.push_back(number);
      for (size_t follower : followers[number])
        if (--waiting[follower] == 0)
          ready.push(follower);
    }
    if (order.size() != operators.size())
      return fail(waiting);
    for (size_t number : order)
      operators[number]->moveBefore(&block, block.end());
    return success();
  }

  /// Two operators wait for each other: one of them reads a value that the other has overwritten.
  LogicalResult fail(const std::vector<size_t> &waiting) {
    for (auto [reader, update] : reads)
      if (waiting[reader] && waiting[update] && reader > update) {
        std::string name = nodeName(operators[reader]).str();
        return operators[reader]->emitError(name.empty() ? "" : "node '" + name + "': ")
               << "expected a state that is read before it is updated, got a reader of its old value, "
               << typeText(operators[update]->getOperand(0)) << ", that needs the new one"
               << Hint(
                      "read the updated value here, or the part of it that did not change; a copy of the state in each "
                      "run would cost its whole size");
      }
    return emitInternalError(block.getParentOp()->getLoc()) << "the updates of states have no order";
  }

  Block &block;
  std::vector<Operation *> operators;
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<std::vector<size_t>> followers;
  std::vector<size_t> waitsFor;
  std::vector<std::pair<size_t, size_t>> reads; ///< reader, update
};

struct ScheduleUpdates : perpend::graph::impl::GraphScheduleUpdatesBase<ScheduleUpdates> {
  void runOnOperation() override {
    for (func::FuncOp main : entriesOf(getOperation()))
      if (failed(Schedule(main.getBody().front()).run()))
        signalPassFailure();
  }
};
} // namespace
