//===- InferRequirements.cpp - what symbols must satisfy ---------------------===//
//
// Operators on symbolic shapes assume what cannot be proved: that two extents
// are equal (broadcasting [n] with [m]), that none is negative (a window larger
// than a small input), that a dimension that is indexed is not empty. Each
// assumption becomes an expression that must be >= 0, in the attribute
// graph.requirements of main, and binding the inputs checks it. One that mentions
// a symbol that an operator defines, or that holds only where a region runs, is a
// graph.require in front of the operator that assumes it.
// Runs first, on the graph as it was imported.
//
//   map(x : [n], y : [m])  =>  graph.requirements = #graph.shape<[m - n, n - m]>
//
//===----------------------------------------------------------------------===//

#include "graph/Graph.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "graph/passes/Passes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace perpend::graph {
#define GEN_PASS_DEF_GRAPHINFERREQUIREMENTS
#include "graph/GraphPasses.h.inc"
} // namespace perpend::graph

using namespace mlir;
using namespace perpend::graph;

namespace {
class Requirements {
public:
  void addAll(Operation *op) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        for (const SymbolicInt &extent : shapeOf(result)) {
          addDivisors(extent);
          addNonNegative(extent);
        }
    if (auto given = dyn_cast<RequireOp>(op)) // inferred before
      known.insert(given.getValue().values()[0].str());
    llvm::TypeSwitch<Operation *>(op)
        .Case<MapOp, BroadcastOp, ReshapeOp, SliceOp, ConcatOp, ContractOp, ConvOp, GatherOp, GenerateOp, ScatterOp>(
            [&](auto typed) { add(typed); })
        .Default([](Operation *) {});
  }

  void addNonNegative(const SymbolicInt &value) {
    if (!value.isPoison() && !value.knownNonNegative() && known.insert(value.str()).second)
      list.push_back(value);
  }

  SmallVector<SymbolicInt> list;
  llvm::StringSet<> known;

private:
  void addEqual(const SymbolicInt &a, const SymbolicInt &b) {
    addNonNegative(a - b);
    addNonNegative(b - a);
  }

  /// A quotient by 0 is no extent.
  void addDivisors(const SymbolicInt &value) {
    using perpend::support::SymbolicAtomKind;
    for (const auto &term : value.terms())
      for (const auto &factor : term.factors) {
        ArrayRef<SymbolicInt> operands = factor.atom.operands();
        bool divides = factor.atom.kind() == SymbolicAtomKind::FloorDiv || factor.atom.kind() == SymbolicAtomKind::Mod;
        if (divides && operands[1].knownNonNegative())
          addNonNegative(operands[1] - SymbolicInt(1));
        for (const SymbolicInt &operand : operands)
          addDivisors(operand);
      }
  }

  /// Where any of `count` elements is read from a tensor, the tensor has this dimension.
  void addReads(const SymbolicInt &extent, const SymbolicInt &count) {
    SymbolicInt last = extent - SymbolicInt(1);
    addNonNegative(count.knownPositive() ? last : max(last, -count));
  }

  void add(MapOp op) {
    for (Value input : op.getInputs())
      for (auto [extent, wanted] : llvm::zip(shapeOf(input), shapeOf(op.getResult())))
        addEqual(extent, wanted);
  }
  void add(BroadcastOp op) {
    Shape result = shapeOf(op.getResult());
    for (auto [extent, dim] : llvm::zip(shapeOf(op.getInput()), op.getDims()))
      if (extent != SymbolicInt(1))
        addEqual(extent, result[dim]);
  }
  void add(ReshapeOp op) { addEqual(elementCount(shapeOf(op.getInput())), elementCount(shapeOf(op.getResult()))); }
  void add(SliceOp op) {
    for (auto [start, step, extent, count] :
         llvm::zip(op.getStarts().values(), op.getSteps(), shapeOf(op.getInput()), shapeOf(op.getResult()))) {
      SymbolicInt last = start + (count - SymbolicInt(1)) * SymbolicInt(step);
      addNonNegative(step > 0 ? start : last);
      addNonNegative(extent - SymbolicInt(1) - (step > 0 ? last : start));
    }
  }
  void add(ConcatOp op) {
    Shape first = shapeOf(op.getInputs().front());
    for (Value input : op.getInputs().drop_front())
      for (auto [dim, extent] : llvm::enumerate(shapeOf(input)))
        if (dim != op.getAxis())
          addEqual(extent, first[dim]);
  }
  void add(ContractOp op) {
    Shape lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
    for (auto [l, r] : llvm::zip(op.getLhsBatch(), op.getRhsBatch()))
      addEqual(lhs[l], rhs[r]);
    for (auto [l, r] : llvm::zip(op.getLhsContracted(), op.getRhsContracted()))
      addEqual(lhs[l], rhs[r]);
  }
  void add(GatherOp op) { addReads(shapeOf(op.getInput())[op.getAxis()], elementCount(shapeOf(op.getIndices()))); }
  void add(GenerateOp op) {
    Shape result = shapeOf(op.getResult());
    for (Value input : op.getInputs())
      for (const SymbolicInt &extent : shapeOf(input))
        if (!extent.knownPositive() && !llvm::is_contained(result, extent))
          addReads(extent, elementCount(result));
  }
  void add(ScatterOp op) {
    Shape indices = shapeOf(op.getIndices()), input = shapeOf(op.getInput()),
          expected(indices.begin(), indices.end() - 1);
    expected.append(input.begin() + op.indexedDims(), input.end());
    for (auto [extent, wanted] : llvm::zip(shapeOf(op.getUpdates()), expected))
      addEqual(extent, wanted);
  }
  void add(ConvOp op) {
    addEqual(shapeOf(op.getInput())[op.channelDim()],
             shapeOf(op.getFilter())[op.filterInputDim()] * SymbolicInt(op.getGroups()));
  }
};

struct InferRequirements : perpend::graph::impl::GraphInferRequirementsBase<InferRequirements> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<mlir::func::FuncOp>("main");
    if (!main)
      return;
    Requirements requirements;
    if (auto given =
            main->getAttrOfType<ShapeAttr>("graph.requirements")) // limits of the front end, or inferred before
      for (const SymbolicInt &value : given.values())
        requirements.addNonNegative(value);
    addBlock(main.getBody().front(), requirements, dataSymbolsOf(main));
    if (!requirements.list.empty())
      main->setAttr("graph.requirements", ShapeAttr::get(&getContext(), requirements.list));
  }

  /// Leaves in `requirements` what binding can check; the rest becomes operators.
  static void addBlock(Block &block, Requirements &requirements, ArrayRef<std::string> dataSymbols) {
    bool isMain = isa<mlir::func::FuncOp>(block.getParentOp());
    for (Operation &op : llvm::make_early_inc_range(block)) {
      size_t before = requirements.list.size();
      requirements.addAll(&op);
      OpBuilder builder(&op);
      for (size_t i = before; i < requirements.list.size();) {
        SymbolicInt value = requirements.list[i];
        if (isMain && !mentionsAny(value, dataSymbols)) {
          ++i;
          continue;
        }
        requirements.list.erase(requirements.list.begin() + i);
        builder.create<RequireOp>(op.getLoc(), ShapeAttr::get(op.getContext(), value), "the sizes do not fit");
      }
      for (Region &region : op.getRegions())
        if (isa<SymbolInterface>(op)) {
          llvm::StringSet<> outside = requirements.known;
          addBlock(region.front(), requirements, dataSymbols);
          requirements.known = std::move(outside);
        }
    }
  }
};
} // namespace
