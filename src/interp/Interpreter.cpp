//===- Interpreter.cpp - executes graphs and kernels ----------------------===//

#include "interp/Interpreter.h"
#include "graph/Attributes.h"

#include "interp/Environment.h"
#include "interp/Evaluate.h"
#include "interp/FunctionRun.h"
#include "interp/HostRun.h"

#include "graph/Repeats.h"
#include "graph/Requirements.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"
#include "support/Inequality.h"
#include "support/ReadableText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

void registerDialects(DialectRegistry &registry) {
  registry.insert<GraphDialect, tile::TileDialect, host::HostDialect, arith::ArithDialect, math::MathDialect,
                  func::FuncDialect, scf::SCFDialect, memref::MemRefDialect, vector::VectorDialect>();
}

//===----------------------------------------------------------------------===//
// One operator
//===----------------------------------------------------------------------===//

static Evaluated evaluateConstant(Operation *op, Operands, const Environment &) {
  auto constant = dyn_cast<ConstantOp>(op);
  if (!constant)
    return std::nullopt;
  if (std::optional<Tensor> tensor = Tensor::fromAttribute(constant.getValue()))
    return *tensor;
  return constant.emitError("expected dense elements or a resource with as many bytes as the type ")
         << constant.getType() << " needs";
}

/// One evaluator per kind of operator.
static constexpr auto evaluators = {evaluateConstant, evaluateMove,     evaluateBody,  evaluateReduction,
                                    evaluateWindow,   evaluateSequence, evaluatePacked};

FailureOr<Tensor> evaluatePrimitive(Operation *op, ArrayRef<Tensor> operands, const Environment &environment) {
  for (auto evaluator : evaluators)
    if (Evaluated result = evaluator(op, operands, environment))
      return *result;
  return op->emitError("the interpreter does not know '") << op->getName() << "'";
}

//===----------------------------------------------------------------------===//
// Binding symbols to extents
//===----------------------------------------------------------------------===//

namespace {
class SymbolBinder {
public:
  SymbolBinder(func::FuncOp main, ArrayRef<Tensor> inputs, Environment &environment)
      : main(main), inputs(inputs), environment(environment), repeats(repeatsOf(main)) {}
  LogicalResult bind();
  /// The inputs in the form that main expects; call after bind().
  FailureOr<Tensors> repeated();

private:
  LogicalResult checkTypes();
  LogicalResult checkExtents();
  LogicalResult checkRequirements();
  void solve(const SymbolicInt &extent, int64_t value);
  void solveRepeats();
  InFlightDiagnostic fail(size_t input) {
    return main.emitError("input ") << input << " of '" << main.getSymName() << "': ";
  }

  func::FuncOp main;
  ArrayRef<Tensor> inputs;
  Environment &environment;
  std::vector<Repeat> repeats;
};
} // namespace

LogicalResult SymbolBinder::checkTypes() {
  if (inputs.size() != main.getNumArguments())
    return main.emitError("expected ") << support::counted(main.getNumArguments(), "input") << ", got "
                                       << inputs.size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto type = dyn_cast<RankedTensorType>(main.getArgumentTypes()[i]);
    if (!type)
      return fail(i) << "expected an argument that is a tensor, got " << main.getArgumentTypes()[i];
    if (type.getElementType() != inputs[i].elementType)
      return fail(i) << "expected elements of type " << type.getElementType() << ", got " << inputs[i].elementType;
    if (type.getRank() != static_cast<int64_t>(inputs[i].shape.size()))
      return fail(i) << "expected " << type.getRank() << " dimensions, got " << inputs[i].shape.size();
  }
  return success();
}

/// Binds the symbol of an extent a * symbol + b, unless it has a value already.
void SymbolBinder::solve(const SymbolicInt &extent, int64_t value) {
  std::set<std::string> names;
  extent.symbols(names);
  if (names.size() != 1 || environment.symbols.contains(*names.begin()))
    return;
  int64_t factor = 0, rest = value;
  for (const auto &term : extent.terms()) {
    bool isSymbol = term.factors.size() == 1 && term.factors[0].power == 1 &&
                    term.factors[0].atom.kind() == support::SymbolicAtomKind::Symbol;
    if (!isSymbol && !term.factors.empty())
      return;
    (isSymbol ? factor : rest) = isSymbol ? term.coefficient : rest - term.coefficient;
  }
  if (factor != 0 && rest % factor == 0 && rest / factor >= 0)
    environment.symbols[*names.begin()] = rest / factor;
}

LogicalResult SymbolBinder::checkExtents() {
  for (size_t i = 0; i < inputs.size(); ++i) {
    Shape shape = shapeOf(cast<RankedTensorType>(main.getArgumentTypes()[i]));
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      int64_t got = inputs[i].shape[dim];
      std::optional<int64_t> expected = shape[dim].evaluate(environment.symbols);
      if (expected == got || repeatingDims(repeats, i) >> dim & 1)
        continue;
      InFlightDiagnostic error = fail(i);
      error << "expected dimension " << dim << " to be " << shape[dim].str();
      if (expected && !shape[dim].isConstant())
        error << " = " << *expected;
      error << ", got " << got;
      if (!expected)
        error << "\nhint: symbols are at least 0, and each must be an extent of some input";
      return error;
    }
  }
  return success();
}

LogicalResult SymbolBinder::checkRequirements() {
  auto given = main->getAttrOfType<ShapeAttr>(graph::requirementsAttribute);
  std::vector<std::string> texts = describeRequirements(main, /*eachEquationOnce=*/false);
  Shape all = given ? given.values() : Shape();
  for (auto [number, requirement] : llvm::enumerate(all))
    if (std::optional<int64_t> rest = requirement.evaluate(environment.symbols); rest && *rest < 0) {
      support::Inequality inequality(requirement, llvm::is_contained(all, -requirement));
      std::optional<int64_t> got = inequality.left.evaluate(environment.symbols);
      return main.emitError("inputs: their shapes do not fit together: ")
             << texts[number] << ", got " << got.value_or(*rest);
    }
  return success();
}

/// Resolves extents of 1 that stand for other extents, from the extents as given.
void SymbolBinder::solveRepeats() {
  llvm::StringMap<int64_t> given = environment.symbols;
  for (const Repeat &repeat : repeats)
    for (const SymbolicInt &other : repeat.others)
      if (int64_t &value = environment.symbols[repeat.symbol]; value == 1)
        value = other.evaluate(given).value_or(1);
}

FailureOr<Tensors> SymbolBinder::repeated() {
  Tensors all(inputs);
  for (const Repeat &repeat : repeats) {
    Tensor &tensor = all[repeat.input];
    int64_t wanted = environment.symbols[repeat.symbol];
    if (tensor.shape[repeat.dim] == wanted)
      continue;
    SmallVector<int64_t> shape = tensor.shape, strides = rowMajorStrides(shape);
    shape[repeat.dim] = wanted;
    strides[repeat.dim] = 0;
    FailureOr<Tensor> larger = environment.allocate(main, tensor.elementType, shape);
    if (failed(larger))
      return failure();
    copyStrided(larger->mutableData(), rowMajorStrides(shape), tensor.data(), strides, shape, tensor.format().bytes());
    tensor = *larger;
  }
  return all;
}

LogicalResult SymbolBinder::bind() {
  if (failed(checkTypes()))
    return failure();
  // First extents that are a symbol by themselves, then those that must be solved for one.
  for (bool wantsPlain : {true, false})
    for (auto [type, input] : llvm::zip_equal(main.getArgumentTypes(), inputs))
      for (auto [extent, value] : llvm::zip_equal(shapeOf(cast<RankedTensorType>(type)), input.shape)) {
        std::set<std::string> names;
        extent.symbols(names);
        bool isPlain = names.size() == 1 && extent == SymbolicInt::symbol(*names.begin());
        if (isPlain == wantsPlain)
          solve(extent, value);
      }
  solveRepeats();
  return failure(failed(checkExtents()) || failed(checkRequirements()));
}

static Environment environmentOf(const InterpreterOptions &options) {
  Environment environment(options.memoryLimitBytes);
  environment.kernelParts = options.kernelParts;
  environment.checksInstances = options.checksInstances;
  if (options.lists)
    environment.lists = options.lists;
  return environment;
}

FailureOr<Tensors> interpret(func::FuncOp main, ArrayRef<Tensor> inputs, const InterpreterOptions &options) {
  Environment environment = environmentOf(options);
  if (main.isExternal())
    return main.emitError("expected a function with a body");
  SymbolBinder binder(main, inputs, environment);
  if (failed(binder.bind()))
    return failure();
  FailureOr<Tensors> repeated = binder.repeated();
  if (failed(repeated))
    return failure();
  return FunctionRun(environment, options).run(main, *repeated);
}

FailureOr<Tensors> interpret(host::EntryOp entry, ArrayRef<Tensor> inputs, const InterpreterOptions &options) {
  Environment environment = environmentOf(options);
  LateDriver late;
  return HostRun(entry, environment, options.driver ? *options.driver : late).run(inputs);
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

LogicalResult evaluate(Operation *op, ArrayRef<Attribute> constantOperands, SmallVectorImpl<Attribute> &results,
                       uint64_t memoryLimitBytes) {
  if (isa<CallKernelOp>(op) || constantOperands.size() != op->getNumOperands())
    return op->emitError("cannot be evaluated with ") << constantOperands.size() << " constants";
  Tensors operands;
  for (auto [index, attribute] : llvm::enumerate(constantOperands)) {
    auto elements = dyn_cast_or_null<ElementsAttr>(attribute);
    std::optional<Tensor> tensor = elements ? Tensor::fromAttribute(elements) : std::nullopt;
    if (!tensor)
      return op->emitError("operand ") << index << ": expected dense elements";
    operands.push_back(*tensor);
  }
  Environment environment(memoryLimitBytes);
  auto call = dyn_cast<CallLibraryOp>(op);
  FailureOr<Tensors> computed =
      call ? callLibrary(LibraryCall(call), operands, environment) : FailureOr<Tensors>(Tensors());
  FailureOr<Tensor> result = call ? FailureOr<Tensor>(failure()) : evaluatePrimitive(op, operands, environment);
  if (failed(call ? LogicalResult(computed) : LogicalResult(result)))
    return failure();
  for (const Tensor &tensor : call ? *computed : Tensors{*result})
    results.push_back(tensor.toAttribute());
  return success();
}
} // namespace perpend::interp
