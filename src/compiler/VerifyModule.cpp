//===- VerifyModule.cpp - checks what passes rely on ----------------------===//
//
// Modules come from front ends, programs and text files. This file checks what
// passes rely on beyond the verifiers of operators.
//
//===----------------------------------------------------------------------===//

#include "compiler/VerifyModule.h"

#include "compiler/UserOperators.h"
#include "graph/Assets.h"
#include "graph/Attributes.h"
#include "graph/Entries.h"
#include "graph/Repeats.h"
#include "graph/Shapes.h"
#include "graph/States.h"
#include "graph/Symbols.h"
#include "host/VerifyProgram.h"
#include "tile/ir/VerifyKernel.h"
#include "tile/kernel/Variants.h"

#include "perpend.h"
#include "runtime/Types.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace perpend {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static LogicalResult verifyTensor(Operation *main, Type type, const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return main->emitError(what) << ": expected a ranked tensor, got " << type
                                 << "\nhint: pass a scalar as a tensor of rank 0";
  perpend_type known;
  if (!runtime::findType(graph::nameOf(tensor.getElementType()).c_str(), known))
    return main->emitError(what) << ": elements of type " << tensor.getElementType()
                                 << " cannot be passed\nhint: use f32, f64, f16, bf16, !graph.minifloat, i1, i2, i4, "
                                    "i8 ... i64, ui2 ... ui64";
  if (tensor.getRank() > PERPEND_MAX_RANK)
    return main->emitError(what) << ": expected at most " << PERPEND_MAX_RANK << " dimensions, got " << tensor.getRank()
                                 << "\nhint: merge dimensions before the model's boundary";
  for (const graph::SymbolicInt &extent : graph::shapeOf(tensor))
    if (extent.isPoison())
      return main->emitError(what) << ": a dimension of " << type
                                   << " has no expression\nhint: write tensor<?xf32, #graph.shape<[\"n\"]>>";
  return success();
}

/// Checks the operand and result types of an operator. Values inside main cannot be named at the interface, but must
/// have types that it supports.
static LogicalResult verifyTensors(Operation &op) {
  for (Type type : op.getResultTypes())
    if (failed(verifyTensor(&op, type, "a result")))
      return failure();
  for (Region &region : op.getRegions())
    if (isa<graph::SymbolInterface>(op))
      for (Type type : region.front().getArgumentTypes())
        if (failed(verifyTensor(&op, type, "a value of its region")))
          return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Checks the body of a map or generate.
static LogicalResult verifyScalarCode(Operation &op) {
  WalkResult result = op.walk([&](Operation *inner) {
    bool isScalar = inner == &op || isa<graph::LoadOp, graph::ExtentOp, graph::YieldOp>(inner) ||
                    isa_and_nonnull<arith::ArithDialect, math::MathDialect, scf::SCFDialect>(inner->getDialect());
    if (isScalar)
      return WalkResult::advance();
    inner->emitError("'") << inner->getName() << "' is no scalar code\nhint: the body of graph.map and graph.generate "
                          << "is of operations of arith and math";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Main and the regions of its control flow may contain graph operators only.
static LogicalResult verifyOperators(Block &block) {
  for (Operation &op : block) {
    StringRef dialect = op.getName().getDialectNamespace();
    if (!isa<func::ReturnOp>(op) && dialect != "graph" && dialect != "tile")
      return op.emitError("'") << op.getName()
                               << "' is not an operator of the graph level\nhint: scalar code goes into the "
                               << "body of graph.map";
    if (failed(verifyTensors(op)))
      return failure();
    if (!isa<graph::SymbolInterface>(op)) {
      if (failed(verifyScalarCode(op)))
        return failure();
      continue;
    }
    for (Region &region : op.getRegions())
      if (failed(verifyOperators(region.front())))
        return failure();
  }
  return success();
}

/// Functions that callers do not run must be kernels: others have no meaning here, and their names could clash with the
/// runtime's.
static LogicalResult verifyKernels(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (isa<host::EntryOp, host::SegmentOp, host::StateOp>(op))
      continue;
    auto function = dyn_cast<func::FuncOp>(op);
    bool isEntry = function && function.isPublic() && !function.isExternal();
    if (!function || (!isEntry && function.getSymName() != "main" && !function->hasAttr(graph::kernelAttribute)))
      return op.emitError("expected functions only, @main and kernels (tile.kernel), got '")
             << op.getName() << "'\nhint: a module is one function @main of graph operators, and kernels that it calls";
    if (!function->hasAttr(graph::kernelAttribute))
      continue;
    if (function.getSymName() == "main")
      return function.emitError("@main is no kernel\nhint: leave tile.kernel out");
    if (failed(tile::verifyKernel(function)) || failed(tile::verifyVariants(function)))
      return failure();
    if (!tile::isOnBuffers(function) && failed(verifyOperators(function.getBody().front())))
      return failure();
  }
  return success();
}

static LogicalResult verifyCalls(func::FuncOp main) {
  WalkResult result = main.walk([](graph::CallKernelOp call) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getKernelAttr());
    if (!kernel || !kernel->hasAttr(graph::kernelAttribute)) {
      call.emitError("'") << call.getKernel() << "' is no kernel\nhint: a kernel has the attribute tile.kernel";
      return WalkResult::interrupt();
    }
    if (tile::isVariant(kernel)) {
      call.emitError("'") << call.getKernel() << "' is a variant\nhint: main calls the kernel that it is one of";
      return WalkResult::interrupt();
    }
    bool fits = !tile::isOnBuffers(kernel) || succeeded(tile::verifyBuffers(call, kernel));
    return fits ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static LogicalResult verifySymbols(func::FuncOp main) {
  std::vector<std::string> symbols = graph::symbolsOf(main), dataSymbols = graph::dataSymbolsOf(main);
  for (auto [symbol, source] : llvm::zip(symbols, graph::symbolSourcesOf(main)))
    if (!source && !llvm::is_contained(dataSymbols, symbol))
      return main.emitError("no input has a dimension that gives '")
             << symbol << "'\nhint: one dimension of an input must be " << symbol
             << ", or a multiple of it plus a number";
  for (Type type : main.getResultTypes())
    for (const graph::SymbolicInt &extent : graph::shapeOf(cast<RankedTensorType>(type))) {
      std::set<std::string> names;
      extent.symbols(names);
      for (const std::string &name : names)
        if (!llvm::is_contained(symbols, name))
          return main.emitError("an output's shape uses '")
                 << name << "', which no input has and no operator defines\nhint: name a symbol of an input";
    }
  return success();
}

/// Checks list attributes that later code reads without checking.
static LogicalResult verifyAttributes(func::FuncOp main) {
  auto areTexts = [](Attribute list) {
    auto array = dyn_cast_or_null<ArrayAttr>(list);
    return !list || (array && llvm::all_of(array, llvm::IsaPred<StringAttr>));
  };
  auto areLabels = [](Attribute list) {
    auto array = dyn_cast_or_null<ArrayAttr>(list);
    return !list || (array && llvm::all_of(array, llvm::IsaPred<StringAttr, IntegerAttr>));
  };
  bool fits = areTexts(main->getAttr(graph::requirementSubjectsAttribute));
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    fits &= areLabels(main.getArgAttr(i, graph::labelsAttribute));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    fits &= areLabels(main.getResultAttr(i, graph::labelsAttribute));
  if (fits)
    return success();
  return main.emitError(
      "expected graph.requirement_subjects to hold lists of strings, and graph.labels lists of strings or "
      "integers\nhint: leave these attributes out");
}

/// Behind memory planning, entries are host programs.
static LogicalResult verifyHostModule(ModuleOp module) {
  for (host::EntryOp entry : host::entriesOf(module))
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (failed(verifyTensor(entry, entry.tensorOf(i), "argument " + Twine(i))))
        return failure();
  return failure(failed(verifyKernels(module)) || failed(host::verifyPrograms(module)));
}

static LogicalResult verifyEntry(func::FuncOp main) {
  if (!main.getBody().hasOneBlock())
    return main.emitError("expected one block in @")
           << main.getSymName() << "\nhint: control flow between blocks is not supported";
  for (auto [number, type] : llvm::enumerate(main.getArgumentTypes()))
    if (failed(verifyTensor(main, type, "input " + Twine(number))))
      return failure();
  for (auto [number, type] : llvm::enumerate(main.getResultTypes()))
    if (failed(verifyTensor(main, type, "output " + Twine(number))))
      return failure();
  if (failed(verifyOperators(main.getBody().front())) || failed(verifyCalls(main)) || failed(verifySymbols(main)) ||
      failed(graph::checkSymbolOrder(main)) || failed(graph::verifyRepeats(main)) || failed(graph::verifyStates(main)))
    return failure();
  return verifyAttributes(main);
}

LogicalResult verifyModule(ModuleOp module) {
  if (failed(graph::verifyAssets(module)))
    return failure();
  if (!host::entriesOf(module).empty())
    return verifyHostModule(module);
  SmallVector<func::FuncOp, 2> entries = graph::entriesOf(module);
  if (entries.empty())
    return module.emitError(
        "the module has no function @main\nhint: a module is one function @main of graph operators");
  return failure(failed(verifyKernels(module)) ||
                 llvm::any_of(entries, [](func::FuncOp entry) { return failed(verifyEntry(entry)); }));
}

//===----------------------------------------------------------------------===//
// Object files
//===----------------------------------------------------------------------===//

LogicalResult verifyObjects(ModuleOp module, ArrayRef<std::string> named) {
  for (const std::string &object : operatorObjects(module))
    if (!llvm::is_contained(named, object))
      return module.emitError("the module wants the native code of '")
             << object << "' (graph.objects), which the command line does not name\nhint: if you trust that file, add "
             << "--operators FILE.json that describes its operators; else take graph.objects out of the module";
  return success();
}
} // namespace perpend
