//===- MainProgram.cpp - main and kernels in terms of Quoin ---------------===//
#include "target/quoin/compile/MainProgram.h"

namespace perpend::quoin {

static Opcode opcodeOf(accelerator::Function function) {
  switch (function) {
#define ACCELERATOR_FUNCTION(name)                                                                                     \
  case accelerator::Function::name:                                                                                    \
    return Opcode::name;
#include "target/accelerator/Functions.def"
  }
  llvm_unreachable("a function of Functions.def");
}

/// The types of all accelerators are this machine's, in the same order.
static DType typeOf(accelerator::DType type) {
  static_assert(static_cast<int>(accelerator::DType::Pred8) == static_cast<int>(DType::Pred8) &&
                static_cast<int>(accelerator::DType::F32) == static_cast<int>(DType::F32) &&
                static_cast<int>(accelerator::DType::I8) == static_cast<int>(DType::I8));
  return static_cast<DType>(type);
}

static Spot spotOf(const accelerator::Spot &spot) { return {spot.isNear ? Space::LLB : Space::DDR, spot.byte}; }

static Node nodeOf(accelerator::Node node) {
  Node made;
  made.kind = static_cast<Node::Kind>(node.kind);
  made.type = typeOf(node.type);
  made.access = std::move(node.access);
  made.number = node.number;
  made.opcode = opcodeOf(node.function);
  made.operands = std::move(node.operands);
  return made;
}

static Nest nestOf(accelerator::Nest nest) {
  Nest made;
  made.name = std::move(nest.name);
  made.loops = std::move(nest.loops);
  for (accelerator::Node &node : nest.nodes)
    made.nodes.push_back(nodeOf(std::move(node)));
  made.value = nest.value;
  made.store = std::move(nest.store);
  if (nest.combine)
    made.combine = opcodeOf(*nest.combine);
  made.initial = nest.initial;
  made.continues = nest.continues;
  made.type = typeOf(nest.type);
  made.borders = std::move(nest.borders);
  made.rows = nest.rows;
  return made;
}

Kernel unitsKernel(accelerator::Kernel kernel) {
  Kernel made;
  for (accelerator::Buffer &buffer : kernel.buffers)
    made.buffers.push_back({typeOf(buffer.type), buffer.elements, buffer.elementBytes, std::move(buffer.contents)});
  made.arguments = kernel.arguments;
  for (accelerator::Nest &nest : kernel.nests)
    made.nests.push_back(nestOf(std::move(nest)));
  for (accelerator::Nest &nest : kernel.bordered)
    made.bordered.push_back(nestOf(std::move(nest)));
  return made;
}

static std::vector<Value> valuesOf(const std::vector<accelerator::Value> &values) {
  std::vector<Value> made;
  for (const accelerator::Value &value : values)
    made.push_back({value.type, spotOf(value.spot), value.contents, value.arena});
  return made;
}

static Step stepOf(accelerator::Step step) {
  Step made;
  made.kernel = std::move(step.kernel);
  made.call = std::move(step.call);
  made.inputs = valuesOf(step.inputs);
  made.outputs = valuesOf(step.outputs);
  made.symbols = std::move(step.symbols);
  made.units = step.units;
  made.near = std::move(step.near);
  made.number = step.number;
  made.scratchArena = step.scratchArena;
  if (step.scratch)
    made.scratch = spotOf(*step.scratch);
  made.location = std::move(step.location);
  return made;
}

static DynamicMain dynamicOf(accelerator::DynamicMain dynamic) {
  DynamicMain made;
  made.cause = std::move(dynamic.cause);
  made.outputs = std::move(dynamic.outputs);
  made.ranks = std::move(dynamic.ranks);
  for (const accelerator::Spot &buffer : dynamic.buffers)
    made.buffers.push_back(spotOf(buffer));
  made.symbols = dynamic.symbols;
  made.growing = dynamic.growing;
  made.functions = std::move(dynamic.functions);
  return made;
}

MainProgram unitsMain(accelerator::MainProgram main) {
  MainProgram made;
  if (main.dynamic)
    made.dynamic = dynamicOf(std::move(*main.dynamic));
  for (accelerator::Step &step : main.steps)
    made.steps.push_back(stepOf(std::move(step)));
  made.inputs = std::move(main.inputs);
  made.outputs = std::move(main.outputs);
  made.scalars = std::move(main.scalars);
  made.weights = main.weights;
  made.arena = main.arena;
  made.near = main.near;
  for (const accelerator::Arena &arena : main.arenas)
    made.arenas.push_back({spotOf(arena.spot), arena.bytes, arena.first, arena.last, arena.mayBeNear});
  made.end = main.end;
  made.heapBytes = main.heapBytes;
  return made;
}

uint64_t Value::bytes() const { return accelerator::Value{type, {}}.bytes(); }

} // namespace perpend::quoin
