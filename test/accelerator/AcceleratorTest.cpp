//===- AcceleratorTest.cpp - a machine that is no processor ---------------===//
//
// Its numbers and memories, which stand here, and what it does in one piece, in
// Inputs/intrinsics.mlir, are all that there is of it. Models go through the
// phases of every compilation, up to loops on memory with calls of its intrinsics.
// The interpreter runs them, by what the intrinsics describe.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Pipeline.h"

#include "tile/Attributes.h"
#include "tile/Scratch.h"
#include "tile/intrinsics/Intrinsic.h"
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
struct Machine {
  /// Of the product that it computes at once, and of its vectors.
  unsigned extent = 16;
  uint64_t inputBytes = 8192, accumulatorBytes = 4096;
  /// Its product reads the right operand column by column.
  bool readsColumns = false;

  target::TargetInfo target() const {
    target::TargetInfo info;
    info.name = "accelerator";
    info.vectorBytes = extent * sizeof(float);
    info.vectorRegisters = 32;
    info.fmaPerCycle = 1;
    info.l1Bytes = info.l2Bytes = info.l3Bytes = 1 << 20;
    info.bytesPerSecond = 1e10;
    info.cyclesPerSecond = 1e9;
    info.memories = {{"local"}, {"input", inputBytes}, {"accumulator", accumulatorBytes}};
    return info;
  }
  std::string intrinsics() const;
};

std::string textOf(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(PERPEND_SOURCE_DIR "/test/accelerator/Inputs/") + file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

void replace(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string Machine::intrinsics() const {
  std::string text = textOf("intrinsics.mlir");
  replace(text, "16", std::to_string(extent));
  if (readsColumns)
    replace(text, "%b[%vk, %vj]", "%b[%vj, %vk]");
  return text;
}

using Names = std::set<std::string>;

/// A model on its way through the phases.
class Compilation {
public:
  Compilation(const std::string &model, const Machine &machine) : target(machine.target()), module(model) {
    EXPECT_TRUE(succeeded(intrinsics->add(&module.context, "intrinsics.mlir", machine.intrinsics(), &target)))
        << module.messages;
  }

  /// `n`: what a dimension is that has no number. Returns the intrinsics that compute the kernels.
  Names run(Random &random, int64_t n = 1) {
    std::vector<Tensor> inputs = drawInputs(random, n), expected = module.run(inputs);
    EXPECT_EQ(expected.size(), 1u) << module.messages;
    runPhasesTo("", "schedule");
    Names used = tensorized();
    expectResult(inputs, expected);
    runPhasesTo("tile", "tile");
    EXPECT_EQ(called(), used);
    expectFits();
    expectResult(inputs, expected);
    return used;
  }

  /// What is no intrinsic's runs on the vector unit.
  bool hasVectors() {
    return module.module
        ->walk([](mlir::Operation *op) {
          bool isVector = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<mlir::VectorType>);
          return isVector ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
        })
        .wasInterrupted();
  }

private:
  void runPhasesTo(const char *first, const char *last) {
    auto go = [](const Phase &, double) { return mlir::success(); };
    EXPECT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, first, last, go))) << module.messages;
  }

  std::vector<Tensor> drawInputs(Random &random, int64_t n) {
    std::vector<Tensor> inputs;
    for (mlir::Type type : module.main().getArgumentTypes()) {
      std::vector<int64_t> shape;
      for (int64_t extent : mlir::cast<mlir::RankedTensorType>(type).getShape())
        shape.push_back(mlir::ShapedType::isDynamic(extent) ? n : extent);
      inputs.push_back(random.floats(module.type("f32"), shape));
    }
    return inputs;
  }

  void expectResult(const std::vector<Tensor> &inputs, const std::vector<Tensor> &expected) {
    std::vector<Tensor> results = module.run(inputs);
    ASSERT_EQ(results.size(), 1u) << module.messages;
    ASSERT_EQ(results[0].shape, expected[0].shape);
    for (auto [got, wanted] : llvm::zip_equal(results[0].elements<float>(), expected[0].elements<float>()))
      ASSERT_NEAR(got, wanted, 1e-5f * std::max(1.0f, std::abs(wanted)));
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

  const target::TargetInfo target;
  Module module;
  std::shared_ptr<tile::IntrinsicLibrary> intrinsics = std::make_shared<tile::IntrinsicLibrary>();
  tile::IntrinsicScope scope{&module.context, intrinsics};
};

struct Case {
  const char *name, *model;
  Names used;
  int64_t n = 1;
  Machine machine = {};
};

const Case cases[] = {
    {"product", "product", {"load", "product", "store"}},
    {"noRows", "layer", {"load", "product"}, 0},
    {"oneRow", "layer", {"load", "product"}, 1},
    {"rows", "layer", {"load", "product"}, 37},
    {"wholeRows", "layer", {"load", "product"}, 32},
    {"columnsFirst", "layer", {"load", "product"}, 37, {16, 8192, 4096, true}},
    {"convolution", "convolution", {"load", "product", "store"}},
    {"attention", "attention", {"load", "product", "store"}},
    {"smallProduct", "product", {"load", "product", "store"}, 1, {4, 256, 128}},
    {"smallConvolution", "convolution", {"load", "product", "store"}, 1, {4, 256, 128}},
    {"smallAttention", "attention", {"load", "product", "store"}, 1, {4, 256, 128}},
    {"noRoomForOperands", "product", {}, 1, {16, 1024, 4096}},
    {"noRoomForSums", "attention", {}, 1, {16, 8192, 512}},
};

class Accelerator : public ::testing::TestWithParam<Case> {};
} // namespace

TEST_P(Accelerator, runs) {
  const Case &tried = GetParam();
  Compilation compilation(textOf(tried.model + std::string(".mlir")), tried.machine);
  Random random;
  EXPECT_EQ(compilation.run(random, tried.n), tried.used);
  EXPECT_TRUE(tried.used.empty() || compilation.hasVectors());
}

INSTANTIATE_TEST_SUITE_P(Models, Accelerator, ::testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

namespace {
/// On machines of random sizes. Returns how often a machine's product was taken.
int64_t runRandomly(int rounds, llvm::function_ref<std::string(Random &)> drawModel) {
  Random random;
  int64_t taken = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string model = drawModel(random);
    Machine machine{unsigned(1) << random.integer(1, 3), uint64_t(64) << random.integer(0, 5),
                    uint64_t(64) << random.integer(0, 4), random.integer(0, 1) != 0};
    SCOPED_TRACE(model + std::to_string(machine.extent) + " " + std::to_string(machine.inputBytes) + " " +
                 std::to_string(machine.accumulatorBytes));
    taken += static_cast<int64_t>(Compilation(model, machine).run(random).count("product"));
  }
  return taken;
}
} // namespace

/// With batches, and operands that lie across.
TEST(RandomAccelerators, runProducts) {
  EXPECT_GT(runRandomly(40,
                        [](Random &random) {
                          auto extent = [&] { return random.integer(1, 19); };
                          int64_t m = extent(), k = extent(), n = extent(), batch = random.integer(1, 3);
                          bool isLeftAcross = random.integer(0, 1), isRightAcross = random.integer(0, 1);
                          std::string a = tensorText({batch, isLeftAcross ? k : m, isLeftAcross ? m : k}, "f32"),
                                      b = tensorText({batch, isRightAcross ? n : k, isRightAcross ? k : n}, "f32"),
                                      y = tensorText({batch, m, n}, "f32");
                          std::string over =
                              "over " + listText({isLeftAcross ? 1 : 2}) + " x " + listText({isRightAcross ? 2 : 1});
                          return mainOf(
                              {a, b},
                              "graph.contract %a, %b batch [0] x [0] " + over + " : (" + a + ", " + b + ") -> " + y, y);
                        }),
            20);
}

/// Of all windows, in groups, too.
TEST(RandomAccelerators, runConvolutions) {
  EXPECT_GT(runRandomly(30,
                        [](Random &random) {
                          auto draw = [&](int64_t low, int64_t high) { return random.integer(low, high); };
                          int64_t groups = draw(0, 3) ? 1 : 2, in = draw(1, 6), out = groups * draw(1, 6),
                                  images = draw(1, 2);
                          std::array<int64_t, 2> size, window, stride, pad, dilation, result;
                          for (int i = 0; i < 2; ++i) {
                            window[i] = draw(1, 3), stride[i] = draw(1, 2), pad[i] = draw(0, 1),
                            dilation[i] = draw(1, 2);
                            size[i] = (window[i] - 1) * dilation[i] + draw(1, 8);
                            result[i] = (size[i] + 2 * pad[i] - (window[i] - 1) * dilation[i] - 1) / stride[i] + 1;
                          }
                          std::string x = tensorText({images, groups * in, size[0], size[1]}, "f32"),
                                      w = tensorText({out, in, window[0], window[1]}, "f32"),
                                      y = tensorText({images, out, result[0], result[1]}, "f32");
                          return mainOf({x, w},
                                        "graph.conv %a, %b strides " + listText(stride) + " pad " + listText(pad) +
                                            " dilations " + listText(dilation) + " input_dilation [1, 1] groups " +
                                            std::to_string(groups) + " : (" + x + ", " + w + ") -> " + y,
                                        y);
                        }),
            10);
}

TEST(AcceleratorErrors, scheduleThatNeedsMoreMemory) {
  const target::TargetInfo target = Machine().target();
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

TEST(AcceleratorErrors, memoriesThatItHasNot) {
  Module module("");
  const target::TargetInfo target;
  EXPECT_FALSE(succeeded(tile::IntrinsicLibrary().add(&module.context, "text", Machine().intrinsics(), &target)));
  EXPECT_NE(module.messages.find("intrinsic 'product': expected one of the target's memories local, got 'input'"),
            std::string::npos)
      << module.messages;
}
