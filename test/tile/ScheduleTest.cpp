//===- ScheduleTest.cpp - no schedule changes a result --------------------===//
//
// Random traces of primitives, with random operands, on small kernels: whatever
// a primitive does not refuse must leave every bit of the result as it was. A
// refusal leaves the kernel as it was. PERPEND_LONG runs 10,000 traces.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Workloads.h"

#include "tile/passes/Passes.h"
#include "tile/schedule/Schedule.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

using namespace perpend;
using namespace perpend::tile;
using interp::Module;
using interp::Random;
using interp::Tensor;
using mlir::failed;
using mlir::LogicalResult;

namespace {
//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct Primitive {
  const char *name, *operands, *results, *sentence;
};
const Primitive primitives[] = {
#define PRIMITIVE(name, operands, results, sentence) {name, operands, results, sentence},
#include "tile/schedule/Primitives.def"
};

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

LogicalResult buildBlocks(mlir::ModuleOp module) {
  TileBuildBlocksOptions options;
  options.all = true;
  return run(module, createTileBuildBlocks(options));
}

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

//===----------------------------------------------------------------------===//
// Random operands
//===----------------------------------------------------------------------===//

class Driver {
public:
  Driver(mlir::func::FuncOp kernel, Random &random) : kernel(kernel), random(random), schedule(kernel) {}

  LogicalResult apply(llvm::StringRef primitive);

  mlir::func::FuncOp kernel;
  Random &random;
  KernelSchedule schedule;

private:
  using Block = KernelSchedule::Block;
  using Loop = KernelSchedule::Loop;

  template <typename List> auto pick(const List &list) { return list[random.integer(0, list.size() - 1)]; }

  Block block() {
    std::vector<BlockOp> blocks;
    kernel.walk([&](BlockOp op) { blocks.push_back(op); });
    return *schedule.getBlock(pick(blocks).getName());
  }
  std::optional<Loop> loop() {
    auto loops = schedule.getLoops(block());
    return loops.empty() ? std::nullopt : std::optional(pick(loops));
  }
  std::string scope() { return random.integer(0, 3) ? "local" : "global"; }

  LogicalResult split(Loop loop) {
    llvm::SmallVector<std::optional<int64_t>> factors;
    for (int64_t i = 0, count = random.integer(1, 3); i < count; ++i)
      factors.push_back(random.integer(1, 4));
    if (random.integer(0, 5))
      factors[random.integer(0, factors.size() - 1)] = std::nullopt;
    return schedule.split(loop, factors);
  }

  LogicalResult reorder() {
    llvm::SmallVector<Loop> loops = schedule.getLoops(block());
    std::shuffle(loops.begin(), loops.end(), random.engine);
    if (loops.size() > 2)
      loops.truncate(random.integer(2, loops.size()));
    return schedule.reorder(loops);
  }

  LogicalResult fuse() {
    llvm::SmallVector<Loop> loops = schedule.getLoops(block());
    size_t first = loops.empty() ? 0 : random.integer(0, loops.size() - 1);
    llvm::ArrayRef<Loop> rest = llvm::ArrayRef(loops).drop_front(first);
    return schedule.fuse(rest.take_front(random.integer(1, 3)));
  }
};
} // namespace

LogicalResult Driver::apply(llvm::StringRef name) {
  using Apply = std::function<LogicalResult(Driver &, Loop)>;
  auto key = [](Driver &d) { return std::string(d.random.integer(0, 1) ? "a" : "b"); };
  static const std::map<llvm::StringRef, Apply> table = {
      {"get_block", [](Driver &d, Loop) { return d.schedule.getBlock("nothing"); }},
      {"get_loops", [](Driver &d, Loop) { return d.schedule.getLoops(d.block()), mlir::success(); }},
      {"get_child_blocks", [](Driver &d, Loop l) { return d.schedule.getChildBlocks(l); }},
      {"get_producers", [](Driver &d, Loop) { return d.schedule.getProducers(d.block()); }},
      {"get_consumers", [](Driver &d, Loop) { return d.schedule.getConsumers(d.block()); }},
      {"get_output_blocks", [](Driver &d, Loop) { return d.schedule.getOutputBlocks(), mlir::success(); }},
      {"split", [](Driver &d, Loop l) { return d.split(l); }},
      {"fuse", [](Driver &d, Loop) { return d.fuse(); }},
      {"reorder", [](Driver &d, Loop) { return d.reorder(); }},
      {"add_unit_loop",
       [](Driver &d, Loop l) {
         return d.random.integer(0, 1) ? d.schedule.addUnitLoop(l) : d.schedule.addUnitLoop(d.block());
       }},
      {"parallel", [](Driver &d, Loop l) { return d.schedule.parallel(l); }},
      {"vectorize", [](Driver &d, Loop l) { return d.schedule.vectorize(l); }},
      {"unroll", [](Driver &d, Loop l) { return d.schedule.unroll(l); }},
      {"compute_at", [](Driver &d, Loop l) { return d.schedule.computeAt(d.block(), l); }},
      {"reverse_compute_at", [](Driver &d, Loop l) { return d.schedule.reverseComputeAt(d.block(), l); }},
      {"compute_inline", [](Driver &d, Loop) { return d.schedule.computeInline(d.block()); }},
      {"reverse_compute_inline", [](Driver &d, Loop) { return d.schedule.reverseComputeInline(d.block()); }},
      {"cache_read",
       [](Driver &d, Loop) { return d.schedule.cacheRead(d.block(), d.random.integer(0, 2), d.scope()); }},
      {"cache_write", [](Driver &d, Loop) { return d.schedule.cacheWrite(d.block(), d.scope()); }},
      {"set_scope", [](Driver &d, Loop) { return d.schedule.setScope(d.block(), d.scope()); }},
      {"decompose_reduction",
       [](Driver &d, Loop) {
         Block block = d.block();
         auto loops = d.schedule.getLoops(block);
         return loops.empty() ? mlir::FailureOr<Block>(mlir::failure())
                              : d.schedule.decomposeReduction(block, d.pick(loops));
       }},
      {"rfactor", [](Driver &d, Loop l) { return d.schedule.rfactor(l, d.random.integer(0, 2)); }},
      {"annotate",
       [key](Driver &d, Loop l) { return d.schedule.annotate(l, key(d), mlir::UnitAttr::get(d.kernel.getContext())); }},
      {"unannotate",
       [key](Driver &d, Loop l) {
         if (d.random.integer(0, 1)) { // mostly there is nothing to take away
           (void)d.schedule.annotate(l, "a", mlir::UnitAttr::get(d.kernel.getContext()));
           return d.schedule.unannotate(l, "a");
         }
         return d.schedule.unannotate(l, key(d));
       }},
  };
  auto known = table.find(name);
  if (known == table.end()) {
    ADD_FAILURE() << "no random operands for " << name.str();
    return mlir::failure();
  }
  std::optional<Loop> loop = this->loop();
  return loop ? known->second(*this, *loop) : mlir::failure();
}

namespace {
/// Those that change much more often than those that do not.
const Primitive &randomPrimitive(Random &random) {
  while (true) {
    const Primitive &primitive = primitives[random.integer(0, std::size(primitives) - 1)];
    llvm::StringRef name = primitive.name;
    bool changesLittle = name.starts_with("get_") || name.contains("annotate") || name == "set_scope" ||
                         name == "add_unit_loop" || name == "vectorize";
    if (!changesLittle || random.integer(0, 3) == 0)
      return primitive;
  }
}

/// A workload, what its operators give, and its loops around blocks.
class Case {
public:
  explicit Case(const Workload &workload) : workload(workload), module(workload.text()) {
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

  /// Applies about `steps` primitives. Returns the trace.
  void trace(Random &random, int64_t steps, std::map<std::string, std::pair<int, int>> &counts) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(module.module->clone());
    Driver driver(kernelOf(*copy), random);
    for (int64_t i = 0; i < steps; ++i) {
      const Primitive &primitive = randomPrimitive(random);
      std::string before = textOf(driver.kernel);
      bool applies = mlir::succeeded(driver.apply(primitive.name));
      ++(applies ? counts[primitive.name].first : counts[primitive.name].second);
      if (!applies)
        ASSERT_EQ(textOf(driver.kernel), before) << primitive.name << " was refused, but did something";
      ASSERT_TRUE(mlir::succeeded(mlir::verify(*copy)))
          << workload.name << ": " << module.messages << traceOf(driver) << textOf(driver.kernel);
    }
    check(*copy, driver);
  }

private:
  struct Run {
    int64_t n = 1;
    std::vector<Tensor> inputs, expected;
  };

  static std::string traceOf(Driver &driver) {
    std::string text = "\n";
    for (const TraceInstruction &instruction : driver.schedule.trace())
      if (!llvm::StringRef(instruction.primitive).starts_with("get_"))
        text += "  " + instruction.str() + "\n";
    return text;
  }

  void check(mlir::ModuleOp scheduled, Driver &driver) {
    std::string text = textOf(driver.kernel);
    if (std::getenv("PERPEND_SHOW"))
      std::cerr << "---- " << workload.name << traceOf(driver) << text << "\n";
    for (const Run &run : runs) {
      mlir::OwningOpRef<mlir::ModuleOp> flat(scheduled.clone());
      bindSizes(kernelOf(*flat), run.n);
      ASSERT_TRUE(mlir::succeeded(::run(*flat, createTileFlattenBlocks()))) << module.messages << text;
      for (unsigned parts : {1u, 3u}) {
        interp::InterpreterOptions options;
        options.kernelParts = parts;
        auto results = interp::interpret(flat->lookupSymbol<mlir::func::FuncOp>("main"), run.inputs, options);
        ASSERT_TRUE(mlir::succeeded(results))
            << workload.name << " n = " << run.n << ": " << module.messages << traceOf(driver) << text;
        ASSERT_TRUE(equalBits(results->front(), run.expected.front(), workload.result.element))
            << workload.name << " n = " << run.n << ": other values" << traceOf(driver) << text;
      }
    }
  }

  const Workload &workload;
  Module module;
  std::vector<Run> runs;
};
} // namespace

TEST(Schedule, keepsEveryBit) {
  std::vector<Workload> list = workloads();
  int64_t total = std::getenv("PERPEND_LONG") ? 10000 : 400;
  if (const char *count = std::getenv("PERPEND_TRACES"))
    total = std::atoll(count);
  Random random;
  if (const char *seed = std::getenv("PERPEND_SEED"))
    random.engine.seed(std::atoi(seed));
  std::map<std::string, std::pair<int, int>> counts;
  std::vector<std::unique_ptr<Case>> cases;
  for (const Workload &workload : list)
    cases.push_back(std::make_unique<Case>(workload));
  for (int64_t i = 0; i < total && !HasFailure(); ++i)
    cases[i % cases.size()]->trace(random, random.integer(2, 24), counts);
  for (const auto &[name, count] : counts)
    std::cout << name << ": " << count.first << " applied, " << count.second << " refused\n";
  for (const Primitive &primitive : primitives)
    if (std::string(primitive.name) != "get_block")
      EXPECT_GT(counts[primitive.name].first, 0) << primitive.name << " was never applied";
}
