//===- Repeats.cpp - inputs that may be 1 where others are larger ---------===//
//
// A candidate is an input dimension whose extent is a symbol that no other input dimension uses. The analysis compares
// two runs: ONNX's, in which some candidates are 1 and broadcast; and Perpend's, in which these inputs are repeated
// before the run, to the extent n of the dimensions with which operators combine them. Invariant: each value of
// Perpend's run equals ONNX's, repeated along the dimensions that are 1 in ONNX's ("thin" dimensions), and no result
// of the model is thin. For each dimension that may be thin, the analysis records the candidates that were combined in
// it: the dimension is thin only if all of these are 1.
//
// An operator that keeps a thin dimension (DimensionFlowInterface) preserves the invariant. A dimension must not be
// thin if another operator reads it or if the model returns it, and a candidate must not be used as a number.
// Candidates that could violate this are dropped, and the analysis restarts, until none is dropped.
//
//===----------------------------------------------------------------------===//

#include "graph/Repeats.h"
#include "graph/Attributes.h"
#include "graph/ErrorKind.h"

#include "graph/Shapes.h"
#include "graph/SubstituteSymbols.h"
#include "graph/Symbols.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace perpend::graph {
namespace {

class RepeatAnalysis {
public:
  explicit RepeatAnalysis(func::FuncOp main) : main(main), dataSymbols(dataSymbolsOf(main)) { findCandidates(); }

  void run() {
    for (hasChanged = llvm::any_of(candidates, isAlive); hasChanged;) {
      hasChanged = false;
      visitAll();
      checkNeeds();
      checkGroups();
    }
  }
  void declare();

private:
  struct Candidate {
    unsigned input, dim;
    std::string symbol;
    bool isAlive;
    SmallVector<SymbolicInt> limits; ///< other extents that it meets
  };
  /// Thin only if all these candidates are 1; nullopt: never thin.
  using Thin = std::optional<llvm::SmallBitVector>;
  struct Need {
    llvm::SmallBitVector met;
    unsigned candidate;
  };

  static bool isAlive(const Candidate &candidate) { return candidate.isAlive; }
  void findCandidates();
  void giveUp(unsigned candidate) {
    hasChanged |= candidates[candidate].isAlive;
    candidates[candidate].isAlive = false;
  }
  void giveUp(const std::set<std::string> &symbols);
  void giveUpSymbols(ArrayRef<SymbolicInt> values);
  /// The candidate with this symbol, unless it has been given up.
  std::optional<unsigned> candidateOf(const SymbolicInt &extent) const;
  void need(const llvm::SmallBitVector &met, const SymbolicInt &extent) {
    needs.push_back({met, numberOf.lookup(extent.str())});
  }
  Thin thinness(Value value, unsigned dim) const;

  void visitAll();
  void visit(Operation &op);
  void visitUse(Value value);
  void visitFlow(DimensionFlowInterface op);
  void visitResultDim(DimensionFlowInterface op, unsigned dim, ArrayRef<std::pair<Value, unsigned>> sources);
  void meet(const SymbolicInt &a, const SymbolicInt &b);
  void checkNeeds();
  void checkGroups();
  bool isOneGroup(unsigned a, unsigned b) const { return groups[a] == groups[b]; }
  SmallVector<SymbolicInt> limitsOf(unsigned candidate) const;

  func::FuncOp main;
  std::vector<std::string> dataSymbols;
  std::vector<Candidate> candidates;
  llvm::StringMap<unsigned> numberOf; ///< index of each candidate, by symbol
  bool hasChanged = false;

  // Results of one pass over main.
  DenseMap<Value, SmallVector<Thin>> thin; ///< only values with a thin dimension
  llvm::IntEqClasses groups;               ///< classes of candidates that meet
  std::vector<Need> needs;
};
} // namespace

static std::optional<std::string> bareSymbol(const SymbolicInt &extent) {
  std::set<std::string> names;
  extent.symbols(names);
  if (names.size() == 1 && extent == SymbolicInt::symbol(*names.begin()))
    return *names.begin();
  return std::nullopt;
}

/// Candidates are symbols that are the extent of exactly one dimension of one input, and occur in no other input.
void RepeatAnalysis::findCandidates() {
  llvm::StringMap<unsigned> mentions;
  for (BlockArgument argument : main.getArguments())
    for (const SymbolicInt &extent : shapeOf(argument)) {
      std::set<std::string> names;
      extent.symbols(names);
      for (const std::string &name : names)
        ++mentions[name];
    }
  for (BlockArgument argument : main.getArguments())
    for (auto [dim, extent] : llvm::enumerate(shapeOf(argument)))
      if (std::optional<std::string> symbol = bareSymbol(extent); symbol && mentions[*symbol] == 1) {
        numberOf[*symbol] = candidates.size();
        candidates.push_back({argument.getArgNumber(), static_cast<unsigned>(dim), *symbol, true, {}});
      }
}

std::optional<unsigned> RepeatAnalysis::candidateOf(const SymbolicInt &extent) const {
  std::optional<std::string> symbol = extent.isConstant() ? std::nullopt : bareSymbol(extent);
  auto found = symbol ? numberOf.find(*symbol) : numberOf.end();
  if (found == numberOf.end() || !candidates[found->second].isAlive)
    return std::nullopt;
  return found->second;
}

void RepeatAnalysis::giveUpSymbols(ArrayRef<SymbolicInt> values) {
  std::set<std::string> names;
  for (const SymbolicInt &value : values)
    value.symbols(names);
  giveUp(names);
}

void RepeatAnalysis::giveUp(const std::set<std::string> &symbols) {
  for (const std::string &name : symbols)
    if (auto found = numberOf.find(name); found != numberOf.end())
      giveUp(found->second);
}

RepeatAnalysis::Thin RepeatAnalysis::thinness(Value value, unsigned dim) const {
  auto found = thin.find(value);
  return found == thin.end() ? Thin() : found->second[dim];
}

//===----------------------------------------------------------------------===//
// One pass over main
//===----------------------------------------------------------------------===//

void RepeatAnalysis::visitAll() {
  thin.clear();
  needs.clear();
  groups = llvm::IntEqClasses(candidates.size());
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    candidate.limits.clear();
    if (!candidate.isAlive)
      continue;
    BlockArgument argument = main.getArgument(candidate.input);
    auto &dims = thin.try_emplace(argument, shapeOf(argument).size()).first->second;
    dims[candidate.dim].emplace(candidates.size()).set(number);
  }
  if (auto given = main->getAttrOfType<ShapeAttr>(requirementsAttribute))
    giveUpSymbols(given.values());
  for (Operation &op : main.getBody().front())
    visit(op);
  groups.compress();
}

/// Requires that no dimension of the value is thin.
void RepeatAnalysis::visitUse(Value value) {
  auto found = thin.find(value);
  if (found == thin.end())
    return;
  for (auto [extent, met] : llvm::zip_equal(shapeOf(value), found->second))
    if (met)
      need(*met, extent);
}

/// Whether a view takes several operands along one dimension: they must have the same extent there, as nothing repeats
/// them.
static bool isSideBySide(DimensionFlowInterface op) {
  llvm::SmallBitVector taken(shapeOf(op->getResult(0)).size());
  auto element = dyn_cast<ElementInterface>(op.getOperation());
  if (!element || element.elementKind() != ElementKind::View)
    return false;
  for (OpOperand &operand : op->getOpOperands())
    for (unsigned dim = 0, rank = shapeOf(operand.get()).size(); dim < rank; ++dim)
      if (std::optional<unsigned> next = op.followingDim(operand, dim)) {
        if (operand.getOperandNumber() > 0 && taken.test(*next))
          return true;
        taken.set(*next);
      }
  return false;
}

void RepeatAnalysis::visit(Operation &op) {
  for (NamedAttribute attribute : op.getAttrs())
    if (auto values = dyn_cast<ShapeAttr>(attribute.getValue()))
      giveUpSymbols(values.values());
  std::set<std::string> numbers;
  for (Region &region : op.getRegions())
    collectSymbols(region, numbers);
  auto flow = dyn_cast<DimensionFlowInterface>(op);
  if (flow && isSideBySide(flow))
    flow = {};
  if (!flow) {
    llvm::SetVector<Value> used(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), used);
    llvm::for_each(used, [&](Value value) { visitUse(value); });
    collectSymbols(&op, numbers);
  }
  giveUp(numbers);
  if (flow)
    visitFlow(flow);
}

void RepeatAnalysis::visitFlow(DimensionFlowInterface op) {
  Value result = op->getResult(0);
  SmallVector<SmallVector<std::pair<Value, unsigned>>> sources(shapeOf(result).size());
  for (OpOperand &operand : op->getOpOperands())
    for (unsigned dim = 0, rank = shapeOf(operand.get()).size(); dim < rank; ++dim) {
      if (std::optional<unsigned> next = op.followingDim(operand, dim))
        sources[*next].push_back({operand.get(), dim});
      else if (Thin met = thinness(operand.get(), dim))
        need(*met, shapeOf(operand.get())[dim]);
    }
  for (auto [dim, list] : llvm::enumerate(sources))
    visitResultDim(op, dim, list);
}

void RepeatAnalysis::visitResultDim(DimensionFlowInterface op, unsigned dim,
                                    ArrayRef<std::pair<Value, unsigned>> sources) {
  Value result = op->getResult(0);
  SymbolicInt extent = shapeOf(result)[dim];
  bool isThin = true, isFollowed = op.repeatsOperands();
  llvm::SmallBitVector met(candidates.size());
  for (auto [value, sourceDim] : sources) {
    SymbolicInt own = shapeOf(value)[sourceDim];
    if (own == SymbolicInt(1))
      continue; // a new dimension of a broadcast
    isFollowed = true;
    meet(own, extent);
    if (Thin source = thinness(value, sourceDim))
      met |= *source;
    else
      isThin = false;
  }
  if (!candidateOf(extent) || !isFollowed)
    return giveUpSymbols(bareSymbol(extent) && isFollowed ? ArrayRef<SymbolicInt>() : ArrayRef(extent));
  if (isThin)
    thin.try_emplace(result, shapeOf(result).size()).first->second[dim] = met;
}

/// Two extents that the model treats as equal, unless one is 1.
void RepeatAnalysis::meet(const SymbolicInt &a, const SymbolicInt &b) {
  if (a == b)
    return;
  std::optional<unsigned> left = candidateOf(a), right = candidateOf(b);
  if (!left && !right)
    return;
  if (left && right)
    return static_cast<void>(groups.join(*left, *right));
  candidates[left ? *left : *right].limits.push_back(left ? b : a);
}

//===----------------------------------------------------------------------===//
// Giving up candidates
//===----------------------------------------------------------------------===//

SmallVector<SymbolicInt> RepeatAnalysis::limitsOf(unsigned candidate) const {
  SmallVector<SymbolicInt> limits;
  for (auto [number, other] : llvm::enumerate(candidates))
    if (isOneGroup(number, candidate))
      for (const SymbolicInt &limit : other.limits)
        if (!llvm::is_contained(limits, limit))
          limits.push_back(limit);
  return limits;
}

/// If a dimension has met all candidates of its group, it is thin only if nothing is repeated: then n is 1, unless
/// another extent determines n.
void RepeatAnalysis::checkNeeds() {
  for (const Need &need : needs) {
    bool isSafe = limitsOf(need.candidate).empty();
    for (unsigned number = 0; number < candidates.size(); ++number)
      isSafe &= !candidates[number].isAlive || !isOneGroup(number, need.candidate) || need.met.test(number);
    if (isSafe)
      continue;
    int first = need.met.find_first(); // the first: masks and biases come after the tensors that they are added to
    giveUp(first < 0 ? need.candidate : first);
  }
}

/// Binding must be able to determine n from other input dimensions.
void RepeatAnalysis::checkGroups() {
  for (unsigned number = 0; number < candidates.size(); ++number) {
    if (!candidates[number].isAlive)
      continue;
    SmallVector<SymbolicInt> limits = limitsOf(number);
    bool isAlone = limits.empty();
    for (unsigned other = 0; other < candidates.size(); ++other)
      isAlone &= other == number || !candidates[other].isAlive || !isOneGroup(other, number);
    std::set<std::string> names;
    for (const SymbolicInt &limit : limits)
      limit.symbols(names);
    bool isUnknown = mentionsAny(limits, dataSymbols) || llvm::any_of(names, [&](const std::string &name) {
                       return candidateOf(SymbolicInt::symbol(name)).has_value();
                     });
    if (isAlone || isUnknown)
      giveUp(number);
  }
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

void RepeatAnalysis::declare() {
  MLIRContext *context = main.getContext();
  std::map<unsigned, SmallVector<Attribute>> declared;
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    if (!candidate.isAlive)
      continue;
    SmallVector<SymbolicInt> others = limitsOf(number);
    for (auto [other, inGroup] : llvm::enumerate(candidates))
      if (other != number && inGroup.isAlive && isOneGroup(other, number))
        others.push_back(SymbolicInt::symbol(inGroup.symbol));
    auto &list = declared[candidate.input];
    list.resize(shapeOf(main.getArgument(candidate.input)).size(), ShapeAttr::get(context, ArrayRef<SymbolicInt>()));
    list[candidate.dim] = ShapeAttr::get(context, others);
  }
  for (auto &[input, list] : declared)
    main.setArgAttr(input, repeatsAttribute, ArrayAttr::get(context, list));
}

void inferRepeats(func::FuncOp main) {
  RepeatAnalysis analysis(main);
  analysis.run();
  analysis.declare();
}

LogicalResult verifyRepeats(func::FuncOp main) {
  std::vector<std::string> symbols = symbolsOf(main), dataSymbols = dataSymbolsOf(main);
  auto sources = symbolSourcesOf(main);
  auto isSourceOf = [&](const SymbolicInt &extent, unsigned input, unsigned dim) {
    size_t number = llvm::find(symbols, bareSymbol(extent).value_or("")) - symbols.begin();
    const auto source = number < sources.size() ? sources[number] : std::nullopt;
    return source && source->input == input && source->dim == dim;
  };
  for (BlockArgument argument : main.getArguments()) {
    auto list = main.getArgAttr(argument.getArgNumber(), repeatsAttribute);
    Shape shape = shapeOf(argument);
    auto dims = dyn_cast_or_null<ArrayAttr>(list);
    bool fits = !list || (dims && dims.size() == shape.size() && llvm::all_of(dims, llvm::IsaPred<ShapeAttr>));
    for (unsigned dim = 0; list && fits && dim < shape.size(); ++dim) {
      Shape others = cast<ShapeAttr>(dims[dim]).values();
      std::set<std::string> names;
      for (const SymbolicInt &other : others)
        other.symbols(names);
      fits = others.empty() || (bareSymbol(shape[dim]) && isSourceOf(shape[dim], argument.getArgNumber(), dim) &&
                                !mentionsAny(others, dataSymbols));
      for (const std::string &name : names)
        fits &= llvm::is_contained(symbols, name);
    }
    if (!fits)
      return main.emitError("input ") << argument.getArgNumber() << ": '" << repeatsAttribute
                                      << "' does not fit its dimensions" << Hint("leave it out");
  }
  return success();
}

std::vector<Repeat> repeatsOf(func::FuncOp main) {
  std::vector<Repeat> repeats;
  for (BlockArgument argument : main.getArguments()) {
    unsigned input = argument.getArgNumber();
    auto list = main.getArgAttrOfType<ArrayAttr>(input, repeatsAttribute);
    for (auto [dim, others] : llvm::enumerate(list ? list.getValue() : ArrayRef<Attribute>()))
      if (SmallVector<SymbolicInt> values = cast<ShapeAttr>(others).values(); !values.empty())
        repeats.push_back(
            {input, static_cast<unsigned>(dim), bareSymbol(shapeOf(argument)[dim]).value_or(""), std::move(values)});
  }
  return repeats;
}

uint32_t repeatingDims(ArrayRef<Repeat> repeats, unsigned input) {
  uint32_t dims = 0;
  for (const Repeat &repeat : repeats)
    if (repeat.input == input)
      dims |= 1u << repeat.dim;
  return dims;
}

void forgetRepeats(func::FuncOp main) {
  for (unsigned input = 0; input < main.getNumArguments(); ++input)
    main.removeArgAttr(input, repeatsAttribute);
}
} // namespace perpend::graph
