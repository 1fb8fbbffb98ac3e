//===- ScheduleCase.cpp - a kernel whose schedules are compared -----------===//

#include "ScheduleCase.h"
#include "RandomSteps.h"

#include "tile/Attributes.h"
#include "tile/passes/Passes.h"
#include "tile/schedule/TraceText.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>

using namespace perpend;
using namespace perpend::tile;
using interp::Module;
using interp::Random;
using interp::Tensor;
using mlir::LogicalResult;

namespace {
std::string textOf(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

Tensor randomTensor(Module &module, const TensorText &type, int64_t n, Random &random) {
  std::vector<int64_t> shape;
  for (const std::string &dim : type.dims)
    shape.push_back(dim == "n" ? n : std::stoll(dim));
  Tensor tensor = *Tensor::allocate(module.type(type.element), shape);
  auto fill = [&](auto elements) {
    for (auto &value : elements)
      value = static_cast<std::decay_t<decltype(value)>>(random.integer(type.low, type.high));
  };
  if (type.element == "f32")
    fill(tensor.mutableElements<float>());
  else if (type.element == "i32")
    fill(tensor.mutableElements<int32_t>());
  else
    fill(tensor.mutableElements<int64_t>());
  return tensor;
}

template <typename T> bool equalBits(const Tensor &a, const Tensor &b) {
  auto x = a.elements<T>(), y = b.elements<T>();
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(T)) == 0;
}

bool equalBits(const Tensor &a, const Tensor &b, const std::string &element) {
  return a.shape == b.shape && (element == "f32" ? equalBits<float>(a, b) : equalBits<int32_t>(a, b));
}

mlir::func::FuncOp kernelOf(mlir::ModuleOp module) { return module.lookupSymbol<mlir::func::FuncOp>("k"); }

LogicalResult run(mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass) {
  mlir::PassManager passes(module.getContext());
  passes.addPass(std::move(pass));
  return passes.run(module);
}

LogicalResult buildBlocks(mlir::ModuleOp module) { return run(module, createTileBuildBlocks()); }

/// Local buffers lie on the stack, whose size is a number; here n is known.
void bindSizes(mlir::func::FuncOp kernel, int64_t n) {
  llvm::StringMap<SymbolicInt> values;
  values["n"] = SymbolicInt(n);
  kernel.walk([&](AllocOp alloc) {
    BufferType type = alloc.getBuffer().getType();
    Shape shape = type.extents();
    for (SymbolicInt &extent : shape)
      extent = extent.substitute(values);
    alloc.getBuffer().setType(
        BufferType::get(type.getContext(), shape, type.getElementType(), type.getScope().getValue()));
  });
}

std::string textOf(llvm::ArrayRef<TraceInstruction> trace) {
  std::string text;
  for (const TraceInstruction &instruction : trace)
    text += instruction.str() + "\n";
  return text;
}

/// The trace without queries.
std::string changesOf(const KernelSchedule &schedule) {
  std::string text = "\n";
  for (const TraceInstruction &instruction : schedule.trace())
    if (!llvm::StringRef(instruction.primitive).starts_with("get_"))
      text += "  " + instruction.str() + "\n";
  return text;
}
} // namespace

ScheduleCase::ScheduleCase(const Workload &given) : workload(given), module(workload.text()) {
  Random random;
  for (int64_t n : workload.sizes) {
    Run &run = runs.emplace_back();
    run.n = n;
    for (const TensorText &input : workload.inputs)
      run.inputs.push_back(randomTensor(module, input, n, random));
    run.expected = module.run(run.inputs);
    EXPECT_EQ(run.expected.size(), 1u) << workload.name << ": " << module.messages;
  }
  EXPECT_TRUE(mlir::succeeded(buildBlocks(*module.module))) << module.messages;
}

std::string ScheduleCase::apply(llvm::function_ref<void(KernelSchedule &)> steps) {
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.module->clone());
  KernelSchedule schedule(kernelOf(*copy));
  steps(schedule);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*copy))) << module.messages;
  replay(*copy, schedule);
  check(*copy, schedule);
  return textOf(kernelOf(*copy));
}

void ScheduleCase::step(mlir::ModuleOp scheduled, KernelSchedule &schedule, Random &random,
                        std::map<std::string, std::pair<int, int>> &counts) {
  std::string name = randomPrimitive(random).name.str(), before = textOf(kernelOf(scheduled));
  size_t done = schedule.trace().size();
  bool succeeds = mlir::succeeded(applyRandomly(schedule, kernelOf(scheduled), name, random));
  bool applies = llvm::any_of(schedule.trace().drop_front(done),
                              [&](const TraceInstruction &instruction) { return instruction.primitive == name; });
  ++(applies ? counts[name].first : counts[name].second);
  if (!succeeds)
    ASSERT_EQ(textOf(kernelOf(scheduled)), before) << name << " was refused, but did something";
  ASSERT_TRUE(mlir::succeeded(mlir::verify(scheduled)))
      << workload.name << ": " << module.messages << changesOf(schedule) << textOf(kernelOf(scheduled));
}

void ScheduleCase::applyRandom(Random &random, int64_t steps, std::map<std::string, std::pair<int, int>> &counts) {
  mlir::OwningOpRef<mlir::ModuleOp> copy(module.module->clone());
  KernelSchedule schedule(kernelOf(*copy));
  for (int64_t i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i)
    step(*copy, schedule, random, counts);
  replay(*copy, schedule);
  check(*copy, schedule);
}

/// What the trace says, as text, is what was done.
void ScheduleCase::replay(mlir::ModuleOp scheduled, const KernelSchedule &done) {
  mlir::OwningOpRef<mlir::ModuleOp> again(module.module->clone());
  KernelSchedule schedule(kernelOf(*again));
  std::string text = textOf(done.trace());
  TextError error;
  std::optional<std::vector<TraceLine>> lines = parseTrace(text, error);
  ASSERT_TRUE(lines) << workload.name << ": " << error.message << text;
  ASSERT_TRUE(mlir::succeeded(tile::replay(schedule, *lines, error))) << workload.name << ": " << error.message << text;
  ASSERT_EQ(textOf(kernelOf(*again)), textOf(kernelOf(scheduled))) << workload.name << text;
  ASSERT_EQ(textOf(schedule.trace()), text);
}

void ScheduleCase::check(mlir::ModuleOp scheduled, const KernelSchedule &schedule) {
  std::string text = textOf(kernelOf(scheduled));
  if (std::getenv("PERPEND_SHOW"))
    std::cerr << "---- " << workload.name << changesOf(schedule) << text << "\n";
  for (const Run &run : runs) {
    mlir::OwningOpRef<mlir::ModuleOp> flat(scheduled.clone());
    bindSizes(kernelOf(*flat), run.n);
    kernelOf(*flat).walk([](ForOp loop) { // which a target may not be able to honour
      mlir::NamedAttrList annotations(loop.getAnnotations());
      annotations.erase(levelAnnotation);
      loop.setAnnotationsAttr(annotations.getDictionary(loop.getContext()));
    });
    ASSERT_TRUE(mlir::succeeded(::run(*flat, createTileFlattenBlocks()))) << module.messages << text;
    vectors += textOf(kernelOf(*flat)).find("vector<") != std::string::npos;
    for (unsigned parts : {1u, 3u}) {
      interp::InterpreterOptions options;
      options.kernelParts = parts;
      auto results = interp::interpret(flat->lookupSymbol<mlir::func::FuncOp>("main"), run.inputs, options);
      ASSERT_TRUE(mlir::succeeded(results))
          << workload.name << " n = " << run.n << ": " << module.messages << changesOf(schedule) << text;
      ASSERT_TRUE(equalBits(results->front(), run.expected.front(), workload.result.element))
          << workload.name << " n = " << run.n << ": other values" << changesOf(schedule) << text;
    }
  }
}
