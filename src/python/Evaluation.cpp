//===- Evaluation.cpp - runs the interpreter for Python -------------------===//

#include "python/Evaluation.h"

#include "python/ProgramState.h"

#include "compiler/UserOperators.h"
#include "host/Host.h"
#include "interp/Boundary.h"
#include "interp/Interpreter.h"
#include "support/ReadableText.h"

using namespace mlir;

namespace perpend::python {

struct Evaluation::State {
  State(ModuleOp module, func::FuncOp main, host::EntryOp entry)
      : module(module), main(main), entry(entry), boundary(entry ? interp::Boundary(entry) : interp::Boundary(main)),
        inputs(boundary.inputs().begin(), boundary.inputs().end()) {}

  ModuleOp module;
  func::FuncOp main;
  host::EntryOp entry; ///< instead of main, in a module behind memory planning
  interp::Boundary boundary;
  std::vector<perpend_tensor_info> inputs;
  llvm::SmallVector<interp::Tensor> results;
  std::vector<perpend_tensor> outputs;
};

Evaluation::Evaluation(std::unique_ptr<State> state) : state(std::move(state)) {}
Evaluation::~Evaluation() = default;

const std::vector<perpend_tensor_info> &Evaluation::inputs() const { return state->inputs; }
const std::vector<perpend_tensor> &Evaluation::outputs() const { return state->outputs; }

std::unique_ptr<Evaluation> Evaluation::of(Program &program, size_t inputCount, std::string &error) {
  ModuleOp module = *program.internals().module;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto entry = module.lookupSymbol<host::EntryOp>("main");
  if (!main && !entry) {
    error = "the module has no function main";
    return nullptr;
  }
  unsigned expected = entry ? entry.inputCount() : main.getNumArguments();
  if (expected != inputCount) {
    error = "expected " + support::counted(expected, "input") + ", got " + std::to_string(inputCount);
    return nullptr;
  }
  return std::unique_ptr<Evaluation>(new Evaluation(std::make_unique<State>(module, main, entry)));
}

bool Evaluation::run(const std::vector<perpend_tensor> &given, std::string &error) {
  ErrorText errors(*state->module.getContext());
  auto refuse = [&](StringRef otherwise) {
    error = errors.take(otherwise);
    return false;
  };
  if (failed(loadOperators(state->module)))
    return refuse("the operators could not be loaded");
  SmallVector<interp::Tensor> tensors;
  for (size_t i = 0; i < given.size(); ++i) {
    FailureOr<interp::Tensor> tensor = state->boundary.take(i, given[i]);
    if (failed(tensor))
      return refuse("an input does not fit");
    tensors.push_back(*tensor);
  }
  interp::InterpreterOptions options;
  options.lists = state->boundary.listTable();
  auto results = state->entry ? interp::interpret(state->entry, tensors, options)
                              : interp::interpret(state->main, tensors, options);
  if (failed(results))
    return refuse("the interpreter failed");
  state->results = std::move(*results);
  for (const interp::Tensor &result : state->results)
    state->outputs.push_back(state->boundary.give(result));
  return true;
}
} // namespace perpend::python
