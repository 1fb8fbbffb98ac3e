//===- AcceleratorTest.cpp - a machine that is no processor ---------------===//
//
// Its machine model (target/Machine.h), which stands here, and what it does in one piece, in
// Inputs/intrinsics.mlir, are all that there is of it: it has no caches and no code generator. Models go through the
// phases of every compilation, up to loops on memory with calls of its intrinsics.
// The interpreter runs them, by what the intrinsics describe.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Pipeline.h"
#include "compiler/Description.h"

#include "tile/Attributes.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/kernel/Scratch.h"
#include "tile/passes/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MemoryBuffer.h"

#include <array>
#include <set>

using namespace perpend;
using interp::listText;
using interp::mainOf;
using interp::Module;
using interp::Random;
using interp::Tensor;
using interp::tensorText;
using mlir::succeeded;

namespace {
struct Accelerator {
  /// Of the product that it computes at once, and of its vectors.
  unsigned extent = 16;
  uint64_t inputBytes = 8192, accumulatorBytes = 4096;
  /// Its product reads the right operand column by column.
  bool readsColumns = false;
  /// Its product reads the right operand where it is.
  bool readsDirectly = false;
  /// Its product adds to sums in the memory of its caller.
  bool addsOutside = false;
  /// Its product begins with zeros.
  bool beginsSums = false;
  /// Without, a vector is one element.
  bool hasVectors = true;
  std::string element = "f32";

  target::Machine target() const {
    target::Machine machine;
    machine.name = "accelerator";
    machine.features = {"matrix-unit"};
    machine.levels = {{"cluster", 4}, {"core", 8}};
    machine.memories = {{"local"},
                        {.name = "input", .bytes = inputBytes, .level = "core", .bytesPerSecond = 1e11},
                        {.name = "accumulator", .bytes = accumulatorBytes, .level = "core", .bytesPerSecond = 1e11}};
    machine.global.bytesPerSecond = 1e10;
    machine.units = {"elementwise", "matrix", "mover"};
    machine.links = {{"global", "input", /*isAsynchronous=*/true}, {"accumulator", "global", true}};
    machine.vectorBytes = hasVectors ? extent * sizeof(float) : 0;
    machine.vectorRegisters = 32;
    machine.fmaPerCycle = 1;
    machine.cyclesPerSecond = 1e9;
    return machine;
  }
  std::string intrinsics() const;
  /// Whether its memories hold the operands of one product.
  bool holdsProduct() const {
    uint64_t bytes = sizeof(float) * extent * extent;
    return 2 * bytes <= inputBytes && bytes <= accumulatorBytes;
  }
};

std::string textOf(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(PERPEND_SOURCE_DIR "/test/accelerator/Inputs/") + file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

void replace(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string Accelerator::intrinsics() const {
  std::string text = textOf("intrinsics.mlir");
  const std::string sums = "!tile.buffer<[16, 16] x f32, accumulator>", sum = "      %sum = tile.load";
  if (beginsSums)
    replace(text, sum,
            "      tile.init {\n        %zero = arith.constant 0.0 : f32\n        tile.store %zero, %c[%vi, %vj] : " +
                sums + "\n      }\n      %total = tile.load");
  replace(text, "%sum,", beginsSums ? "%total," : "%sum,");
  if (readsDirectly)
    for (const char *at : {"%b: ", "%b[%vk, %vj] : "})
      replace(text, at + std::string("!tile.buffer<[16, 16] x f32, input>"),
              at + std::string("!tile.buffer<[16, 16] x f32>"));
  if (addsOutside)
    replace(text, sums, "!tile.buffer<[16, 16] x f32>");
  replace(text, "16", std::to_string(extent));
  replace(text, "f32", element);
  if (readsColumns)
    replace(text, "%b[%vk, %vj]", "%b[%vj, %vk]");
  return text;
}

using Names = std::set<std::string>;

/// A model on its way through the phases.
class Compilation {
public:
  /// With the machine's intrinsics, or the compiler's.
  Compilation(const std::string &model, const Accelerator &machine, bool hasIntrinsics = true)
      : target(machine.target()), module(model) {
    if (!hasIntrinsics)
      return;
    scope.emplace(&module.context, intrinsics);
    EXPECT_TRUE(succeeded(intrinsics->add(&module.context, "intrinsics.mlir", machine.intrinsics(), &target,
                                          /*needsCode=*/false)))
        << module.messages;
  }

  /// `n`: what a dimension is that has no number. Returns the intrinsics that compute the kernels.
  Names run(Random &random, int64_t n = 1) {
    std::vector<Tensor> inputs = drawInputs(random, n), expected = module.run(inputs);
    EXPECT_EQ(expected.size(), 1u) << module.messages;
    runPhasesTo("", "schedule");
    Names used = tensorized();
    for (auto kernel : module.module->getOps<mlir::func::FuncOp>())
      llvm::raw_string_ostream(rules) << kernel->getAttr(tile::rulesAttribute);
    expectResult(inputs, expected);
    runPhasesTo("tile", "tile");
    EXPECT_TRUE(called() == used || !scope); // of the compiler's own, some are code by now
    expectFits();
    expectResult(inputs, expected);
    return used;
  }

  /// Of kernels: which rules were refused, and why.
  std::string rules;

  /// The bytes of the vectors on which the vector unit computes what is no intrinsic's.
  std::set<unsigned> vectorBytes() {
    std::set<unsigned> bytes;
    module.module->walk([&](mlir::Operation *op) {
      for (mlir::Type type : op->getOperandTypes())
        if (auto vector = mlir::dyn_cast<mlir::VectorType>(type); vector && !vector.getElementType().isInteger(1))
          bytes.insert(vector.getNumElements() * vector.getElementTypeBitWidth() / 8);
    });
    return bytes;
  }

private:
  void runPhasesTo(const char *first, const char *last) {
    auto go = [](const Phase &, double) { return mlir::success(); };
    EXPECT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, first, last, go))) << module.messages;
  }

  std::vector<Tensor> drawInputs(Random &random, int64_t n) {
    std::vector<Tensor> inputs;
    for (mlir::Type type : module.main().getArgumentTypes()) {
      auto tensor = mlir::cast<mlir::RankedTensorType>(type);
      std::vector<int64_t> shape;
      for (int64_t extent : tensor.getShape())
        shape.push_back(mlir::ShapedType::isDynamic(extent) ? n : extent);
      inputs.push_back(*Tensor::allocate(tensor.getElementType(), shape));
      auto fill = [&](auto elements) {
        for (auto &value : elements)
          value = static_cast<std::decay_t<decltype(value)>>(random.integer(-8, 8));
      };
      tensor.getElementType().isF64() ? fill(inputs.back().mutableElements<double>())
                                      : fill(inputs.back().mutableElements<float>());
    }
    return inputs;
  }

  void expectResult(const std::vector<Tensor> &inputs, const std::vector<Tensor> &expected) {
    std::vector<Tensor> results = module.run(inputs);
    ASSERT_EQ(results.size(), 1u) << module.messages;
    ASSERT_EQ(results[0].shape, expected[0].shape);
    auto compare = [](auto found, auto wanted) {
      for (auto [a, b] : llvm::zip_equal(found, wanted))
        ASSERT_NEAR(a, b, 1e-5 * std::max(1.0, std::abs(double(b))));
    };
    results[0].elementType.isF64() ? compare(results[0].elements<double>(), expected[0].elements<double>())
                                   : compare(results[0].elements<float>(), expected[0].elements<float>());
  }

  Names tensorized() {
    Names names;
    module.module->walk([&](tile::BlockOp block) {
      if (auto name = block.getAnnotations().getAs<mlir::StringAttr>(tile::tensorizedAnnotation))
        names.insert(name.str());
    });
    return names;
  }

  /// Nothing else reads what is loaded, not even at edges.
  Names called() {
    Names names;
    module.module->walk([&](tile::CallIntrinsicOp call) {
      names.insert(call.getName().str());
      auto isCopied = llvm::IsaPred<tile::CallIntrinsicOp, mlir::memref::CastOp>;
      EXPECT_TRUE(call.getName() != "load" || llvm::all_of(call.getBuffers().front().getUsers(), isCopied));
    });
    return names;
  }

  /// The machine's memories hold what kernels of loops on memory have there.
  void expectFits() {
    for (auto kernel : module.module->getOps<mlir::func::FuncOp>()) {
      std::map<std::string, uint64_t> bytes;
      kernel.walk([&](mlir::memref::AllocaOp alloca) {
        auto space = mlir::dyn_cast_or_null<mlir::StringAttr>(alloca.getType().getMemorySpace());
        bytes[space ? space.str() : "local"] += alloca.getType().getNumElements() * sizeof(float);
      });
      for (const target::Memory &memory : target.memories)
        EXPECT_TRUE(memory.bytes == 0 || bytes[memory.name] <= memory.bytes) << memory.name;
    }
  }

  const target::Machine target;
  Module module;
  std::shared_ptr<tile::IntrinsicLibrary> intrinsics = std::make_shared<tile::IntrinsicLibrary>();
  std::optional<tile::IntrinsicScope> scope;
};

struct Case {
  const char *name, *model;
  Names used;
  int64_t n = 1;
  Accelerator machine = {};
  /// What is in the way of an intrinsic with memories of its own.
  const char *obstacle = "";
};

const Case cases[] = {
    {"product", "product", {"load", "product", "store"}},
    {"noRows", "layer", {"load", "product"}, 0},
    {"oneRow", "layer", {"load", "product"}, 1},
    {"rows", "layer", {"load", "product"}, 37},
    {"wholeRows", "layer", {"load", "product"}, 32},
    {"columnsFirst", "layer", {"load", "product"}, 37, {.readsColumns = true}},
    {"noSum", "sum", {"load", "product", "store"}, 0},
    {"sumOfOne", "sum", {"load", "product", "store"}, 1},
    {"longSum", "sum", {"load", "product", "store"}, 37},
    {"noBatch", "batches", {"load", "product", "store"}, 0},
    {"batches", "batches", {"load", "product", "store"}, 3},
    {"empty", "empty", {}},
    {"square", "square", {}, 1, {}, "'product' reads a buffer twice"},
    {"readsDirectly", "product", {"load", "product", "store"}, 1, {.readsDirectly = true}},
    {"readsRowsDirectly", "layer", {"load", "product"}, 37, {.readsDirectly = true}},
    {"addsOutside", "product", {"load", "product"}, 1, {.addsOutside = true}},
    {"addsRowsOutside", "layer", {"load", "product"}, 37, {.addsOutside = true}},
    {"readsAndAddsOutside", "layer", {"load", "product"}, 37, {.readsDirectly = true, .addsOutside = true}},
    {"beginsSums", "attention", {"load", "product", "store"}, 1, {.beginsSums = true}},
    {"beginsLongSums", "product", {}, 1, {.beginsSums = true}, "'product' would begin its sum more than once"},
    {"noVectors", "attention", {"load", "product", "store"}, 1, {.hasVectors = false}},
    {"wideElements", "wide", {"load", "product"}, 1, {.element = "f64"}},
    {"convolution", "convolution", {"load", "product", "store"}},
    {"attention", "attention", {"load", "product", "store"}},
    {"smallProduct", "product", {"load", "product", "store"}, 1, {4, 256, 128}},
    {"smallConvolution", "convolution", {"load", "product", "store"}, 1, {4, 256, 128}},
    {"smallAttention", "attention", {"load", "product", "store"}, 1, {4, 256, 128}},
    {"noRoomForOperands", "product", {}, 1, {16, 1024, 4096}, "'product' has no room for a call in its memories"},
    {"noRoomForSums", "attention", {}, 1, {16, 8192, 512}},
};

class Accelerators : public ::testing::TestWithParam<Case> {};
} // namespace

TEST_P(Accelerators, runs) {
  const Case &tried = GetParam();
  Compilation compilation(textOf(tried.model + std::string(".mlir")), tried.machine);
  Random random;
  EXPECT_EQ(compilation.run(random, tried.n), tried.used);
  EXPECT_TRUE(llvm::StringRef(compilation.rules).contains(tried.obstacle)) << compilation.rules;
  const std::set<unsigned> bytes = compilation.vectorBytes();
  const unsigned most = tried.machine.target().vectorBytes;
  EXPECT_TRUE(llvm::all_of(bytes, [&](unsigned each) { return each <= most; }));
  EXPECT_TRUE(tried.used.empty() || bytes.count(most) == tried.machine.hasVectors);
}

INSTANTIATE_TEST_SUITE_P(Models, Accelerators, ::testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

namespace {
struct DrawnModel {
  std::string text;
  /// More than one element along each iterator of a product.
  bool isProduct;
};

/// On machines of random sizes; whether a machine computes the product is known.
void runRandomly(int rounds, llvm::function_ref<DrawnModel(Random &)> drawModel) {
  Random random;
  for (int round = 0; round < rounds; ++round) {
    DrawnModel model = drawModel(random);
    Accelerator machine{unsigned(1) << random.integer(1, 3), uint64_t(64) << random.integer(0, 5),
                        uint64_t(64) << random.integer(0, 4), random.integer(0, 1) != 0};
    SCOPED_TRACE(model.text + std::to_string(machine.extent) + " " + std::to_string(machine.inputBytes) + " " +
                 std::to_string(machine.accumulatorBytes));
    EXPECT_EQ(Compilation(model.text, machine).run(random).count("product"),
              model.isProduct && machine.holdsProduct() ? 1u : 0u);
  }
}
} // namespace

/// With batches, and operands that lie across.
TEST(RandomAccelerators, runProducts) {
  runRandomly(40, [](Random &random) {
    auto extent = [&] { return random.integer(1, 19); };
    int64_t m = extent(), k = extent(), n = extent(), batch = random.integer(1, 3);
    bool isLeftAcross = random.integer(0, 1), isRightAcross = random.integer(0, 1);
    std::string a = tensorText({batch, isLeftAcross ? k : m, isLeftAcross ? m : k}, "f32"),
                b = tensorText({batch, isRightAcross ? n : k, isRightAcross ? k : n}, "f32"),
                y = tensorText({batch, m, n}, "f32"),
                over = "over " + listText({isLeftAcross ? 1 : 2}) + " x " + listText({isRightAcross ? 2 : 1});
    return DrawnModel{
        mainOf({a, b}, "graph.contract %a, %b batch [0] x [0] " + over + " : (" + a + ", " + b + ") -> " + y, y),
        m > 1 && k > 1 && n > 1};
  });
}

/// Of all windows, in groups, too.
TEST(RandomAccelerators, runConvolutions) {
  runRandomly(30, [](Random &random) {
    auto draw = [&](int64_t low, int64_t high) { return random.integer(low, high); };
    int64_t groups = draw(0, 3) ? 1 : 2, in = draw(1, 6), out = groups * draw(1, 6), images = draw(1, 2);
    std::array<int64_t, 2> size, window, stride, pad, dilation, result;
    for (int i = 0; i < 2; ++i) {
      window[i] = draw(1, 3), stride[i] = draw(1, 2), pad[i] = draw(0, 1), dilation[i] = draw(1, 2);
      size[i] = (window[i] - 1) * dilation[i] + draw(1, 8);
      result[i] = (size[i] + 2 * pad[i] - (window[i] - 1) * dilation[i] - 1) / stride[i] + 1;
    }
    std::string x = tensorText({images, groups * in, size[0], size[1]}, "f32"),
                w = tensorText({out, in, window[0], window[1]}, "f32"),
                y = tensorText({images, out, result[0], result[1]}, "f32");
    return DrawnModel{mainOf({x, w},
                             "graph.conv %a, %b strides " + listText(stride) + " pad " + listText(pad) + " dilations " +
                                 listText(dilation) + " input_dilation [1, 1] groups " + std::to_string(groups) +
                                 " : (" + x + ", " + w + ") -> " + y,
                             y),
                      groups == 1 && images * result[0] * result[1] > 1 && out > 1 && in * window[0] * window[1] > 1};
  });
}

/// It has no vectors and no intrinsics; the compiler's ask for nothing that it has not.
TEST(PlainMachine, runs) {
  for (const char *name : {"product.mlir", "layer.mlir", "attention.mlir", "convolution.mlir"}) {
    SCOPED_TRACE(name);
    Compilation compilation(textOf(name), Accelerator{.hasVectors = false}, /*hasIntrinsics=*/false);
    Random random;
    compilation.run(random, 37);
    EXPECT_TRUE(compilation.vectorBytes().empty());
  }
}

TEST(AcceleratorErrors, scheduleThatNeedsMoreMemory) {
  const target::Machine target = Accelerator().target();
  Module module(textOf("product.mlir"));
  auto go = [](const Phase &, double) { return mlir::success(); };
  ASSERT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, "", "fuse", go))) << module.messages;
  mlir::Builder builder(&module.context);
  for (auto kernel : module.module->getOps<mlir::func::FuncOp>())
    if (kernel.isPrivate())
      kernel->setAttr(tile::traceAttribute, builder.getStrArrayAttr({"%product = get_block \"contract\"",
                                                                     "%copy = cache_read %product, 0, \"input\""}));
  EXPECT_FALSE(succeeded(runPhases(*module.module, PhaseContext{target}, "schedule", "schedule", go)));
  EXPECT_NE(module.messages.find("the memory 'input' of 8192 bytes is too small for 16384\nhint: "), std::string::npos)
      << module.messages;
}

/// In a memory that has no size of its own: the host's scratch memory is not where the intrinsics read.
TEST(AcceleratorErrors, buffersOfUnknownSizeInItsMemories) {
  const target::Machine target = Accelerator{.inputBytes = 0}.target();
  Module module(textOf("layer.mlir"));
  auto go = [](const Phase &, double) { return mlir::success(); };
  ASSERT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, "", "fuse", go))) << module.messages;
  mlir::Builder builder(&module.context);
  for (auto kernel : module.module->getOps<mlir::func::FuncOp>())
    if (kernel.isPrivate())
      kernel->setAttr(tile::traceAttribute, builder.getStrArrayAttr({"%product = get_block \"contract\"",
                                                                     "%copy = cache_read %product, 0, \"input\""}));
  EXPECT_FALSE(succeeded(runPhases(*module.module, PhaseContext{target}, "schedule", "schedule", go)));
  EXPECT_NE(module.messages.find("the memory 'input' holds buffers of known sizes, and not 200*n bytes\nhint: "),
            std::string::npos)
      << module.messages;
}

/// A level of this machine that no target divides kernels among is an error, and no loop that runs in order.
TEST(AcceleratorErrors, loopsBoundToLevels) {
  struct Bound {
    const char *trace, *message;
  };
  const std::string before = "%product = get_block \"contract\"\n%i, %j, %k = get_loops %product\n";
  for (const Bound &bound :
       {Bound{"bind %i, \"cluster\"", ""},
        {"bind %i, \"core\"", "bind %i: expected an extent of at most 8, as many as 'core' has, got 64"},
        {"%o, %p = split %i, [_, 8]\nbind %p, \"core\"", "the target runs units of kernels at 'cluster' only\nhint: "},
        {"bind %j, \"cluster\"", "is not the kernel's only outermost loop\nhint: "},
        {"bind %i, \"thread\"", "expected one of the target's levels cluster, core, got 'thread'"},
        {"bind %i, \"cluster\"\nbind %j, \"cluster\"", "the loop 'i0', which is bound to cluster, is around it"}}) {
    const target::Machine target = Accelerator().target();
    Module module(textOf("product.mlir"));
    auto go = [](const Phase &, double) { return mlir::success(); };
    ASSERT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, "", "fuse", go))) << module.messages;
    llvm::SmallVector<llvm::StringRef> lines;
    std::string trace = before + bound.trace;
    llvm::StringRef(trace).split(lines, '\n');
    for (auto kernel : module.module->getOps<mlir::func::FuncOp>())
      if (kernel.isPrivate())
        kernel->setAttr(tile::traceAttribute, mlir::Builder(&module.context).getStrArrayAttr(lines));
    bool isRun = succeeded(runPhases(*module.module, PhaseContext{target}, "schedule", "tile", go));
    EXPECT_EQ(isRun, !*bound.message) << trace << module.messages;
    EXPECT_NE(module.messages.find(bound.message), std::string::npos) << trace << "\n" << module.messages;
  }
}

/// A processor of another architecture than the compiler's host: what its runtime cannot find is missing there, and an
/// artifact that asks for nothing would run anywhere.
TEST(Descriptor, hasEveryInstructionSet) {
  target::TargetInfo target;
  target.features = {"sve2", "matrix-unit"};
  std::string text = descriptorOf(ModelDescription(), target);
  EXPECT_NE(text.find(R"("isa":["sve2","matrix-unit"])"), std::string::npos) << text;
}

/// A file of several machines' intrinsics is read; those of others are named, and a schedule cannot use them.
TEST(AcceleratorErrors, memoriesAndUnitsThatItHasNot) {
  const target::Machine whole = Accelerator().target();
  target::Machine withoutMemories = whole, withoutUnits = whole;
  withoutMemories.memories = {{"local"}};
  withoutUnits.units = {"mover"};
  for (const auto &[machine, missing] :
       {std::pair(&withoutMemories, "memory 'input'"), std::pair(&withoutUnits, "unit 'matrix'")}) {
    Module module("");
    tile::IntrinsicLibrary library;
    ASSERT_TRUE(
        succeeded(library.add(&module.context, "text", Accelerator().intrinsics(), machine, /*needsCode=*/false)));
    EXPECT_NE(module.messages.find(std::string("intrinsic 'product' is not used: the target has no ") + missing),
              std::string::npos)
        << module.messages;
    EXPECT_EQ(library.find("product")->missingOn(*machine), missing);
    EXPECT_EQ(library.find("product")->missingOn(whole), "");
  }
}
