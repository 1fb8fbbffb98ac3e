//===- KernelModel.cpp - a kernel as a model of its own -------------------===//

#include "tuning/KernelModel.h"

#include "graph/Attributes.h"
#include "graph/Graph.h"
#include "graph/KernelSymbols.h"
#include "graph/Shapes.h"
#include "graph/Symbols.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace perpend {

/// Name of an input of the kernel's model; the same as in the full model if the operand is an input there.
static std::string inputName(Value operand, unsigned number) {
  auto argument = dyn_cast_or_null<BlockArgument>(operand);
  auto main = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto name = main ? main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), graph::nameAttribute) : StringAttr();
  return name ? name.str() : "input" + std::to_string(number);
}

/// Some symbols of a kernel are the extent of no input: t, for example, if only floordiv(t + 1, 2) occurs. Each gets an
/// input of its own name with shape [t, 0], which takes no memory.
static void addInputsOfSymbols(func::FuncOp main, func::FuncOp kernel) {
  std::vector<std::string> known = graph::symbolsOf(main);
  auto sources = graph::symbolSourcesOf(main);
  mlir::Builder builder(main.getContext());
  llvm::StringSet<> names;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    names.insert(main.getArgAttrOfType<StringAttr>(i, graph::nameAttribute).getValue());
  for (StringRef symbol : graph::symbolsOfKernel(kernel)) {
    auto found = llvm::find(known, symbol);
    if (found != known.end() && sources[found - known.begin()])
      continue;
    std::string name = symbol.str();
    while (!names.insert(name).second)
      name += "_";
    Type type = graph::tensorType({graph::SymbolicInt::symbol(symbol), graph::SymbolicInt(0)}, builder.getI8Type());
    unsigned number = main.getNumArguments();
    main.insertArgument(number, type, {}, main.getLoc());
    main.setArgAttr(number, graph::nameAttribute, builder.getStringAttr(name));
  }
}

OwningOpRef<ModuleOp> kernelModelOf(func::FuncOp kernel) {
  auto original = kernel->getParentOfType<ModuleOp>();
  graph::CallKernelOp first;
  original.walk([&](graph::CallKernelOp call) {
    if (!first && call.getKernel() == kernel.getSymName())
      first = call;
  });
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  (*module)->setAttr(graph::modelNameAttribute, StringAttr::get(kernel.getContext(), kernel.getSymName()));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto main = builder.create<func::FuncOp>(kernel.getLoc(), "main", kernel.getFunctionType());
  builder.insert(kernel.clone());
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToStart(body);
  SmallVector<Value> operands;
  BitVector isConstant(kernel.getNumArguments());
  for (BlockArgument argument : body->getArguments()) {
    unsigned number = argument.getArgNumber();
    Value given = first ? first.getInputs()[number] : Value();
    auto constant = given ? given.getDefiningOp<graph::ConstantOp>() : graph::ConstantOp();
    if (constant)
      isConstant.set(number);
    else
      main.setArgAttr(number, graph::nameAttribute, builder.getStringAttr(inputName(given, number)));
    operands.push_back(constant ? Value(builder.clone(*constant)->getResult(0)) : Value(argument));
  }
  auto call =
      builder.create<graph::CallKernelOp>(kernel.getLoc(), kernel.getResultTypes(), kernel.getSymName(), operands);
  if (kernel->hasAttr(graph::symbolsAttribute) && !graph::symbolsOfKernel(kernel).empty())
    graph::setSymbolValuesAt(call, graph::symbolsOfKernel(kernel));
  builder.create<func::ReturnOp>(kernel.getLoc(), call.getResults());
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    main.setResultAttr(i, graph::nameAttribute, builder.getStringAttr("output" + std::to_string(i)));
  main.eraseArguments(isConstant);
  addInputsOfSymbols(main, kernel);
  return module;
}
} // namespace perpend
