//===- Control.cpp - control flow and calls in kernels --------------------===//

#include "interp/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace perpend::interp {

/// Deeper calls are taken for endless recursion.
static constexpr unsigned maxCallDepth = 64;

static bool executeFor(Executor &executor, const Instruction &instruction) {
  ArrayRef<Slot> operands = instruction.operands, initial = operands.drop_front(3);
  const CodeBlock &body = instruction.regions[0];
  ArrayRef<Slot> carried = ArrayRef(body.arguments).drop_front();
  int64_t upper = executor.integer(operands[1]), step = executor.integer(operands[2]);
  if (step < 1) {
    instruction.op->emitError("expected a step of at least 1, got ") << step;
    return false;
  }
  executor.copy(carried, initial);
  for (int64_t i = executor.integer(operands[0]); i < upper; i += step) {
    executor.integer(body.arguments[0]) = i;
    if (!executor.run(body))
      return false;
    executor.copy(carried, body.yields);
  }
  executor.copy(instruction.results, carried);
  return true;
}

static bool executeIf(Executor &executor, const Instruction &instruction) {
  const CodeBlock &chosen = instruction.regions[executor.integer(instruction.operands[0]) ? 0 : 1];
  if (!executor.run(chosen))
    return false;
  executor.copy(instruction.results, chosen.yields);
  return true;
}

static bool executeWhile(Executor &executor, const Instruction &instruction) {
  const CodeBlock &before = instruction.regions[0], &after = instruction.regions[1];
  executor.copy(before.arguments, instruction.operands);
  while (true) {
    if (!executor.run(before))
      return false;
    ArrayRef<Slot> forwarded = ArrayRef(before.yields).drop_front();
    if (!executor.integer(before.yields[0])) {
      executor.copy(instruction.results, forwarded);
      return true;
    }
    executor.copy(after.arguments, forwarded);
    if (!executor.run(after))
      return false;
    executor.copy(before.arguments, after.yields);
  }
}

/// Runs the loops of an scf.parallel from `dim` on, in order.
static bool executeParallelDim(Executor &executor, const Instruction &instruction, size_t dim) {
  const CodeBlock &body = instruction.regions[0];
  size_t dims = body.arguments.size();
  if (dim == dims)
    return executor.run(body);
  ArrayRef<Slot> operands = instruction.operands;
  int64_t step = executor.integer(operands[2 * dims + dim]);
  if (step < 1 || operands.size() != 3 * dims) {
    instruction.op->emitError("expected steps of at least 1 and no reduction");
    return false;
  }
  for (int64_t i = executor.integer(operands[dim]); i < executor.integer(operands[dims + dim]); i += step) {
    executor.integer(body.arguments[dim]) = i;
    if (!executeParallelDim(executor, instruction, dim + 1))
      return false;
  }
  return true;
}

static bool executeParallel(Executor &executor, const Instruction &instruction) {
  return executeParallelDim(executor, instruction, 0);
}

static bool executeCall(Executor &executor, const Instruction &instruction) {
  auto call = cast<func::CallOp>(instruction.op);
  if (executor.depth >= maxCallDepth) {
    call.emitError("calls nested deeper than ") << maxCallDepth;
    return false;
  }
  Program *callee = executor.functions ? executor.functions->find(call, call.getCallee()) : nullptr;
  if (!callee)
    return false;
  Executor inner(*callee, executor.environment, executor.functions);
  inner.depth = executor.depth + 1;
  inner.accesses = executor.accesses;
  for (auto [argument, operand] : llvm::zip_equal(callee->code.arguments, instruction.operands))
    inner.copyFrom(argument, executor, operand);
  if (!inner.run(callee->code))
    return false;
  for (auto [result, yielded] : llvm::zip_equal(instruction.results, callee->code.yields))
    executor.copyFrom(result, inner, yielded);
  return true;
}

Execute findControlOperation(Operation *op) {
  return llvm::TypeSwitch<Operation *, Execute>(op)
      .Case([](scf::ForOp) { return executeFor; })
      .Case([](scf::IfOp) { return executeIf; })
      .Case([](scf::WhileOp) { return executeWhile; })
      .Case([](scf::ParallelOp) { return executeParallel; })
      .Case([](func::CallOp) { return executeCall; })
      .Default([](Operation *) { return nullptr; });
}
} // namespace perpend::interp
