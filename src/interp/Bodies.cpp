//===- Bodies.cpp - map and generate --------------------------------------===//

#include "interp/Program.h"

using namespace mlir;
using namespace perpend::graph;

namespace perpend::interp {

static void runBlocks(const Program &program, Executor &executor, Tensor &result, bool &isGood,
                      llvm::function_ref<void(int64_t first, int64_t count)> prepare) {
  int64_t total = result.elementCount();
  unsigned bytes = result.format().bytes();
  for (int64_t first = 0; first < total && isGood; first += program.blockSize) {
    executor.count = std::min(program.blockSize, total - first);
    prepare(first, executor.count);
    isGood = executor.run(program.code);
    writeElements(result.format(), executor.registers(program.code.yields[0]), executor.count,
                  result.mutableData() + first * bytes);
  }
}

static LogicalResult runBody(MapOp op, const Program &program, Executor &executor, ArrayRef<Tensor> inputs,
                             Tensor &result) {
  for (const Tensor &input : inputs)
    if (input.shape != result.shape)
      return op.emitError("expected inputs of shape ") << describe(result.shape) << ", got " << describe(input.shape);
  bool isGood = true;
  runBlocks(program, executor, result, isGood, [&](int64_t first, int64_t count) {
    for (auto [slot, input] : llvm::zip_equal(program.code.arguments, inputs))
      readElements(slot.format, input.data() + first * slot.format.bytes(), count, executor.registers(slot));
  });
  return success(isGood);
}

static LogicalResult runBody(GenerateOp, const Program &program, Executor &executor, ArrayRef<Tensor> inputs,
                             Tensor &result) {
  size_t rank = result.shape.size();
  ArrayRef<Slot> arguments = program.code.arguments;
  for (auto [slot, input] : llvm::zip_equal(arguments.drop_front(rank), inputs))
    executor.memory(slot) = {input.bytes.get(), input.format(), input.shape, input.bytes};
  Extents index(rank, 0);
  bool isGood = true;
  runBlocks(program, executor, result, isGood, [&](int64_t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      for (size_t dim = 0; dim < rank; ++dim)
        (&executor.integer(arguments[dim]))[i] = index[dim];
      for (size_t dim = rank; dim-- > 0;) {
        if (++index[dim] < result.shape[dim])
          break;
        index[dim] = 0;
      }
    }
  });
  return success(isGood);
}

Evaluated evaluateBody(Operation *op, Operands operands, const Environment &environment) {
  return evaluateOneOf<MapOp, GenerateOp>(op, [&](auto specific) -> FailureOr<Tensor> {
    FailureOr<Tensor> result = environment.allocateResult(op);
    std::unique_ptr<Program> program = Program::compile(op->getRegion(0).front(), environment, nullptr);
    if (failed(result) || !program)
      return failure();
    Executor executor(*program, environment, nullptr);
    return failed(runBody(specific, *program, executor, operands, *result)) ? FailureOr<Tensor>(failure()) : result;
  });
}
} // namespace perpend::interp
