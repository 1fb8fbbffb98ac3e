//===- FirstDifference.cpp - finds an operator with a wrong value ---------===//
//
// Truncates the model after operator k, makes its value the only output, erases operators that it does not need, and
// compares the compiled result with the interpreter's. Bisects over k: if both agree, the first wrong operator comes
// later. If several operators are wrong, the search finds one of them, not necessarily the first.
//
//===----------------------------------------------------------------------===//

#include "arrays/Compare.h"
#include "cli/References.h"
#include "cli/Session.h"
#include "graph/Attributes.h"
#include "graph/States.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

using namespace mlir;

namespace perpend::cli {

static func::FuncOp mainOf(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("main"); }

/// The operators of main that compute something.
static llvm::SmallVector<Operation *> operatorsOf(ModuleOp module) {
  llvm::SmallVector<Operation *> operators;
  for (Operation &op : mainOf(module).getBody().front())
    if (op.getNumResults() == 1 && !op.hasTrait<OpTrait::ConstantLike>())
      operators.push_back(&op);
  return operators;
}

/// The module up to operator `index`, whose value is returned.
static OwningOpRef<ModuleOp> cutBehind(ModuleOp module, size_t index) {
  OwningOpRef<ModuleOp> part = module.clone();
  func::FuncOp main = mainOf(*part);
  Value value = operatorsOf(*part)[index]->getResult(0);
  Block &block = main.getBody().front();
  block.getTerminator()->setOperands(value);
  Builder builder(part->getContext());
  main.setFunctionType(builder.getFunctionType(main.getArgumentTypes(), value.getType()));
  auto name = builder.getNamedAttr(graph::nameAttribute, builder.getStringAttr("value"));
  main.setResAttrsAttr(builder.getArrayAttr(builder.getDictionaryAttr(name)));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return part;
}

/// Advice for rounded values: the last bits of a sum, which depend on the order of additions, may decide to which of
/// two integers a value is rounded. Empty if the values are not multiples of the difference, or most of them differ.
static std::string adviceOnSteps(const arrays::Comparison &comparison, const Array &array, const Array &reference) {
  constexpr double roundings = 1e-3; // tolerance, relative to one step
  double step = comparison.maxAbsolute, least = INFINITY, most = -INFINITY;
  bool mayBeRounded = array.isFloat() || array.type == PERPEND_U8 || array.type == PERPEND_I8;
  if (!mayBeRounded || comparison.firstBad < 0 || !std::isfinite(step))
    return "";
  int64_t count = 0, all = reference.elementCount();
  for (int64_t i = 0; i < all; ++i) {
    double wanted = reference.at(i) / step, got = array.at(i) / step;
    for (double value : {wanted, got})
      if (!(std::fabs(value - std::round(value)) <= roundings)) // also rejects NaN
        return "";
    count += std::round(wanted) != std::round(got);
    least = std::fmin(least, wanted);
    most = std::fmax(most, wanted);
  }
  constexpr double fewSteps = 2; // the values of a mask are, too
  if (2 * count > all || most - least <= fewSteps)
    return "";
  return "\nhint: " + std::to_string(count) + " of " + std::to_string(all) + " elements differ, each by one step of " +
         arrays::shortText(step) +
         ": values half-way between two steps, up to the last bits of a sum, may be rounded either way. Later nodes " +
         "inherit these differences; judge them by the model's results";
}

namespace {
class Search {
public:
  Search(ModuleOp module, const CompileOptions &options, ArrayRef<Array> inputs)
      : module(module), options(options), inputs(inputs) {
    this->options.overridePhase.clear(); // they apply to the whole model only
    this->options.schedules.clear();
  }

  /// What is wrong with the value of an operator; empty if nothing.
  std::string problemOf(size_t index);

private:
  ModuleOp module;
  CompileOptions options;
  ArrayRef<Array> inputs;
  TemporaryFolder folder;
};
} // namespace

std::string Search::problemOf(size_t index) {
  OwningOpRef<ModuleOp> part = cutBehind(module, index);
  std::optional<std::vector<Array>> reference = interpretModule(*part, inputs);
  if (!reference)
    return "the interpreter cannot compute it";
  ModelOwner model = loadCompiled(*part, options, folder);
  std::unique_ptr<Session> session = model ? Session::create(model.get(), 1) : nullptr;
  std::optional<std::vector<Array>> outputs = session ? session->run(inputs) : std::nullopt;
  if (!outputs)
    return "the model up to there does not compile or run";
  arrays::Comparison comparison = arrays::compare(outputs->front(), reference->front(), options.precision);
  if (comparison.isGood)
    return "";
  return describe("value", comparison, outputs->front(), reference->front()) +
         adviceOnSteps(comparison, outputs->front(), reference->front());
}

std::string findFirstDifference(const ModelSource &source, const CompileOptions &options, ArrayRef<Array> inputs) {
  Workspace workspace(/*isSilent=*/true);
  OwningOpRef<ModuleOp> module = workspace.loadEntry(source);
  if (!module)
    return "";
  if (!mainOf(*module))
    return "not known, since the model is a host program";
  if (!graph::statesOf(mainOf(*module)).empty())
    return "not known, since the model has states: --against plan tells whether the plan of memory is wrong";
  llvm::SmallVector<Operation *> operators = operatorsOf(*module);
  Search search(*module, options, inputs);
  size_t low = 0, high = operators.size();
  std::string problem;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    std::string found = search.problemOf(middle);
    if (found.empty()) {
      low = middle + 1;
      continue;
    }
    high = middle;
    problem = found;
  }
  if (low == operators.size())
    return "no operator differs when it is the only output: the error depends on what is compiled together";
  return describeLocation(operators[low]->getLoc()) + " (" + operators[low]->getName().getStringRef().str() +
         ", operator " + std::to_string(low + 1) + " of " + std::to_string(operators.size()) + "): " + problem;
}
} // namespace perpend::cli
