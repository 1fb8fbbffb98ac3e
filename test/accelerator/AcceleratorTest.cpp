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

#include <set>

using namespace perpend;
using interp::Module;
using interp::Random;
using interp::Tensor;
using mlir::succeeded;

namespace {
target::TargetInfo accelerator(unsigned lanes, uint64_t inputBytes, uint64_t accumulatorBytes) {
  target::TargetInfo info;
  info.name = "accelerator";
  info.vectorBytes = lanes * sizeof(float);
  info.vectorRegisters = 32;
  info.fmaPerCycle = 1;
  info.l1Bytes = info.l2Bytes = info.l3Bytes = 1 << 20;
  info.bytesPerSecond = 1e10;
  info.cyclesPerSecond = 1e9;
  info.memories = {{"local"}, {"input", inputBytes}, {"accumulator", accumulatorBytes}};
  return info;
}

std::string textOf(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(PERPEND_SOURCE_DIR "/test/accelerator/Inputs/") + file);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

using Names = std::set<std::string>;

struct Case {
  const char *name, *model;
  Names used;
  /// What a dimension of the model is that has no number.
  int64_t n = 1;
  /// Of the product that the machine computes at once, and of its vectors.
  unsigned extent = 16;
  uint64_t inputBytes = 8192, accumulatorBytes = 4096;
};

const Case cases[] = {
    {"product", "product", {"load", "product", "store"}},
    {"noRows", "layer", {"load", "product"}, 0},
    {"oneRow", "layer", {"load", "product"}, 1},
    {"rows", "layer", {"load", "product"}, 37},
    {"wholeRows", "layer", {"load", "product"}, 32},
    {"convolution", "convolution", {"load", "product", "store"}},
    {"attention", "attention", {"load", "product", "store"}},
    {"smallProduct", "product", {"load", "product", "store"}, 1, 4, 256, 128},
    {"smallConvolution", "convolution", {"load", "product", "store"}, 1, 4, 256, 128},
    {"smallAttention", "attention", {"load", "product", "store"}, 1, 4, 256, 128},
    {"noRoomForOperands", "product", {}, 1, 16, 1024},
    {"noRoomForSums", "attention", {}, 1, 16, 8192, 512},
};

class Accelerator : public ::testing::TestWithParam<Case> {
protected:
  Accelerator()
      : target(accelerator(GetParam().extent, GetParam().inputBytes, GetParam().accumulatorBytes)),
        module(textOf(GetParam().model + std::string(".mlir"))) {
    std::string text = textOf("intrinsics.mlir");
    for (size_t at; (at = text.find("16")) != std::string::npos && GetParam().extent != 16;)
      text.replace(at, 2, std::to_string(GetParam().extent));
    EXPECT_TRUE(succeeded(intrinsics->add(&module.context, "intrinsics.mlir", text, &target))) << module.messages;
  }

  void runPhasesTo(const char *first, const char *last) {
    auto go = [](const Phase &, double) { return mlir::success(); };
    ASSERT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, first, last, go))) << module.messages;
  }

  void runBlockPasses() {
    mlir::PassManager passes(&module.context);
    passes.addPass(tile::createTileBuildBlocks({target, /*all=*/false, /*schedules=*/true}));
    passes.addPass(tile::createTileScheduleBlocks({target}));
    ASSERT_TRUE(succeeded(passes.run(*module.module))) << module.messages;
    if (std::getenv("PERPEND_SHOW"))
      module.module->print(llvm::errs());
  }

  std::vector<Tensor> drawInputs() {
    Random random;
    std::vector<Tensor> inputs;
    for (mlir::Type type : module.main().getArgumentTypes()) {
      std::vector<int64_t> shape;
      for (int64_t extent : mlir::cast<mlir::RankedTensorType>(type).getShape())
        shape.push_back(mlir::ShapedType::isDynamic(extent) ? GetParam().n : extent);
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

  /// What is no intrinsic's runs on the vector unit.
  bool hasVectors() {
    return module.module
        ->walk([](mlir::Operation *op) {
          bool isVector = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<mlir::VectorType>);
          return isVector ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
        })
        .wasInterrupted();
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
} // namespace

TEST_P(Accelerator, runs) {
  std::vector<Tensor> inputs = drawInputs(), expected = module.run(inputs);
  ASSERT_EQ(expected.size(), 1u) << module.messages;
  runPhasesTo("", "schedule");
  runBlockPasses();
  Names used, called;
  module.module->walk([&](tile::BlockOp block) {
    if (auto name = block.getAnnotations().getAs<mlir::StringAttr>(tile::tensorizedAnnotation))
      used.insert(name.str());
  });
  EXPECT_EQ(used, GetParam().used);
  expectResult(inputs, expected);
  runPhasesTo("tile", "tile");
  module.module->walk([&](tile::CallIntrinsicOp call) {
    called.insert(call.getName().str());
    if (call.getName() == "load") // edges are loaded as well
      EXPECT_TRUE(llvm::all_of(call.getBuffers().front().getUsers(),
                               llvm::IsaPred<tile::CallIntrinsicOp, mlir::memref::CastOp>));
  });
  EXPECT_EQ(called, GetParam().used);
  EXPECT_TRUE(called.empty() || hasVectors());
  expectFits();
  expectResult(inputs, expected);
}

INSTANTIATE_TEST_SUITE_P(Models, Accelerator, ::testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(AcceleratorErrors, scheduleThatNeedsMoreMemory) {
  const target::TargetInfo target = accelerator(16, 8192, 4096);
  Module module(textOf("product.mlir"));
  auto go = [](const Phase &, double) { return mlir::success(); };
  ASSERT_TRUE(succeeded(runPhases(*module.module, PhaseContext{target}, "", "schedule", go))) << module.messages;
  mlir::Builder builder(&module.context);
  for (auto kernel : module.module->getOps<mlir::func::FuncOp>())
    if (kernel.isPrivate())
      kernel->setAttr(tile::traceAttribute, builder.getStrArrayAttr({"%product = get_block \"contract\"",
                                                                     "%copy = cache_read %product, 0, \"input\""}));
  EXPECT_FALSE(succeeded(runPhases(*module.module, PhaseContext{target}, "tile", "tile", go)));
  EXPECT_NE(module.messages.find("the memory 'input' of 8192 bytes is too small for 16384\nhint: "), std::string::npos)
      << module.messages;
}

TEST(AcceleratorErrors, memoriesThatItHasNot) {
  Module module("");
  const target::TargetInfo target;
  EXPECT_FALSE(succeeded(tile::IntrinsicLibrary().add(&module.context, "text", textOf("intrinsics.mlir"), &target)));
  EXPECT_NE(module.messages.find("intrinsic 'product': expected one of the target's memories local, got 'input'"),
            std::string::npos)
      << module.messages;
}
