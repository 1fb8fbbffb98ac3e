//===- Program.cpp - compiles and executes scalar code --------------------===//

#include "interp/Program.h"

#include "graph/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"

#include <cstring>

using namespace mlir;

namespace perpend::interp {

static bool executeScalar(Executor &executor, const Instruction &instruction) {
  std::array<const void *, 3> operands = {};
  for (size_t i = 0; i < instruction.operands.size(); ++i)
    operands[i] = executor.registers(instruction.operands[i]);
  const Slot &result = instruction.results[0];
  instruction.scalar.apply(executor.registers(result), operands, executor.count * result.lanes);
  return true;
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

namespace {
/// Scalar and vector constants as register contents.
struct ConstantLane {
  int64_t integer = 0;
  double floating = 0;
};
} // namespace

class ProgramCompiler {
public:
  ProgramCompiler(Program &program, const Environment &environment) : program(program), environment(environment) {}
  LogicalResult compileBlock(Block &block, CodeBlock &code);

private:
  FailureOr<Slot> slotFor(Value value);
  LogicalResult compileConstant(arith::ConstantOp op);
  LogicalResult compileExtent(graph::ExtentOp op);
  LogicalResult compileOperation(Operation &op, CodeBlock &code);
  LogicalResult checkScalar(Operation &op, const Instruction &instruction);
  void fill(const Slot &slot, ArrayRef<ConstantLane> lanes);

  Program &program;
  const Environment &environment;
  llvm::DenseMap<Value, Slot> slots;
};

FailureOr<Slot> ProgramCompiler::slotFor(Value value) {
  if (auto known = slots.find(value); known != slots.end())
    return known->second;
  Slot slot;
  if (isa<MemRefType, RankedTensorType, tile::BufferType>(value.getType())) {
    slot.isMemory = true;
    slot.position = program.memoryCount++;
    return slots[value] = slot;
  }
  std::optional<ElementFormat> format = formatOf(value.getType());
  if (!format) {
    emitError(value.getLoc(), "the interpreter has no scalars of type ") << value.getType();
    return failure();
  }
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    slot.lanes = static_cast<uint32_t>(vector.getNumElements());
  slot.format = *format;
  slot.position = static_cast<uint32_t>(program.image.size() * 8);
  program.image.resize(program.image.size() + slot.lanes * program.blockSize);
  return slots[value] = slot;
}

void ProgramCompiler::fill(const Slot &slot, ArrayRef<ConstantLane> lanes) {
  auto *memory = reinterpret_cast<std::byte *>(program.image.data()) + slot.position;
  for (int64_t i = 0; i < slot.lanes * program.blockSize; ++i) {
    const ConstantLane &lane = lanes[static_cast<size_t>(i) % lanes.size()];
    float single = static_cast<float>(lane.floating);
    const void *source = slot.format.kind == RegisterKind::Integer  ? static_cast<const void *>(&lane.integer)
                         : slot.format.kind == RegisterKind::Single ? static_cast<const void *>(&single)
                                                                    : &lane.floating;
    std::memcpy(memory + i * slot.format.registerBytes(), source, slot.format.registerBytes());
  }
}

static ConstantLane laneOf(Attribute value) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return {integer.getValue().getSExtValue(), 0};
  APFloat number = cast<FloatAttr>(value).getValue();
  bool losesInfo = false;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return {0, number.convertToDouble()};
}

LogicalResult ProgramCompiler::compileConstant(arith::ConstantOp op) {
  FailureOr<Slot> slot = slotFor(op.getResult());
  if (failed(slot))
    return failure();
  SmallVector<ConstantLane> lanes;
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()))
    lanes = llvm::map_to_vector(dense.getValues<Attribute>(), laneOf);
  else if (isa<IntegerAttr, FloatAttr>(op.getValue()))
    lanes = {laneOf(op.getValue())};
  else
    return op.emitError("the interpreter has no constant ") << op.getValue();
  fill(*slot, lanes);
  return success();
}

LogicalResult ProgramCompiler::compileExtent(graph::ExtentOp op) {
  FailureOr<Slot> slot = slotFor(op.getResult());
  std::string error;
  std::optional<graph::SymbolicInt> expression = graph::SymbolicInt::parse(op.getExpression(), &error);
  if (!expression)
    return op.emitError("not a symbolic integer: ") << error;
  FailureOr<int64_t> value = environment.evaluate(op, *expression);
  if (failed(slot) || failed(value))
    return failure();
  fill(*slot, {{*value, 0}});
  return success();
}

LogicalResult ProgramCompiler::checkScalar(Operation &op, const Instruction &instruction) {
  for (const Slot &operand : instruction.operands)
    if (operand.isMemory || operand.lanes != instruction.results[0].lanes)
      return op.emitError("the interpreter expects operands with as many lanes as the result");
  return success();
}

LogicalResult ProgramCompiler::compileOperation(Operation &op, CodeBlock &code) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return compileConstant(constant);
  if (auto extent = dyn_cast<graph::ExtentOp>(op))
    return compileExtent(extent);
  Instruction instruction;
  instruction.op = &op;
  for (Value operand : op.getOperands()) {
    FailureOr<Slot> slot = slotFor(operand);
    if (failed(slot))
      return failure();
    instruction.operands.push_back(*slot);
  }
  for (Value result : op.getResults()) {
    FailureOr<Slot> slot = slotFor(result);
    if (failed(slot))
      return failure();
    instruction.results.push_back(*slot);
  }
  for (Region &region : op.getRegions()) {
    instruction.regions.emplace_back();
    if (!region.empty() && failed(compileBlock(region.front(), instruction.regions.back())))
      return failure();
  }
  if (failed(compileExpressions(instruction, environment)))
    return failure();
  instruction.scalar = findScalarOperation(&op);
  instruction.execute = findMemoryOperation(&op);
  if (!instruction.execute)
    instruction.execute = findControlOperation(&op);
  if (!instruction.execute)
    instruction.execute = findBlockOperation(&op);
  if (instruction.scalar.function) {
    if (failed(checkScalar(op, instruction)))
      return failure();
    instruction.execute = executeScalar;
  }
  if (!instruction.execute)
    return op.emitError("the interpreter does not know '") << op.getName() << "' inside a body or kernel";
  code.instructions.push_back(std::move(instruction));
  return success();
}

LogicalResult ProgramCompiler::compileBlock(Block &block, CodeBlock &code) {
  if (!llvm::hasSingleElement(*block.getParent()))
    return block.getParentOp()->emitError("the interpreter expects structured control flow, got several blocks");
  for (Value argument : block.getArguments()) {
    FailureOr<Slot> slot = slotFor(argument);
    if (failed(slot))
      return failure();
    code.arguments.push_back(*slot);
  }
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(compileOperation(op, code)))
      return failure();
  for (Value operand : block.mightHaveTerminator() ? ValueRange(block.getTerminator()->getOperands()) : ValueRange()) {
    FailureOr<Slot> slot = slotFor(operand);
    if (failed(slot))
      return failure();
    code.yields.push_back(*slot);
  }
  return success();
}

std::unique_ptr<Program> Program::compile(Block &body, const Environment &environment, ProgramCache *functions) {
  auto program = std::make_unique<Program>();
  bool isStraight = !functions && llvm::all_of(body, [](Operation &op) { return op.getNumRegions() == 0; });
  program->blockSize = isStraight ? maxBlockSize : 1;
  ProgramCompiler compiler(*program, environment);
  return succeeded(compiler.compileBlock(body, program->code)) ? std::move(program) : nullptr;
}

Program *ProgramCache::compile(Operation *function) {
  auto [entry, isNew] = programs.try_emplace(function);
  if (isNew) {
    auto callee = cast<func::FuncOp>(function);
    std::unique_ptr<Program> program;
    if (callee.isExternal())
      callee.emitError("the interpreter cannot run function '") << callee.getSymName() << "': it has no body";
    else
      program = Program::compile(callee.getBody().front(), environment, this);
    programs[function] = std::move(program);
  }
  return programs[function].get();
}

Program *ProgramCache::find(Operation *caller, StringRef name) {
  auto function =
      SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(caller, StringAttr::get(caller->getContext(), name));
  if (function)
    return compile(function);
  caller->emitError("no function named '") << name << "' in this module";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Executing
//===----------------------------------------------------------------------===//

bool Executor::run(const CodeBlock &code) {
  for (const Instruction &instruction : code.instructions)
    if (!instruction.execute(*this, instruction))
      return false;
  return true;
}

void Executor::copyFrom(const Slot &target, Executor &other, const Slot &source) {
  if (target.isMemory)
    memory(target) = other.memory(source);
  else
    std::memcpy(registers(target), other.registers(source),
                static_cast<size_t>(count) * target.lanes * target.format.registerBytes());
}

void Executor::copy(ArrayRef<Slot> targets, ArrayRef<Slot> sources) {
  if (targets.size() == 1)
    return copyFrom(targets[0], *this, sources[0]);
  SmallVector<std::byte, 256> values;
  SmallVector<MemoryView> views;
  for (const Slot &source : sources) {
    auto *first = static_cast<std::byte *>(source.isMemory ? nullptr : registers(source));
    if (source.isMemory)
      views.push_back(memory(source));
    else
      values.append(first, first + static_cast<size_t>(source.lanes) * source.format.registerBytes());
  }
  std::byte *next = values.data();
  auto *nextView = views.begin();
  for (const Slot &target : targets) {
    size_t size = static_cast<size_t>(target.lanes) * target.format.registerBytes();
    if (target.isMemory)
      memory(target) = *nextView++;
    else
      std::memcpy(registers(target), std::exchange(next, next + size), size);
  }
}
} // namespace perpend::interp
