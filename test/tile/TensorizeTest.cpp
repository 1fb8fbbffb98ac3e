//===- TensorizeTest.cpp - which nests intrinsics compute, and what they say of others --===//
//
// Legal cases run: as operators, and with the intrinsic's code in the nest's place, to the same bits. Others are
// refused by messages that say what differs.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Workloads.h"

#include "target/TargetInfo.h"
#include "tile/intrinsics/Intrinsic.h"
#include "tile/passes/Passes.h"
#include "tile/schedule/Schedule.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"

#include <atomic>
#include <thread>

using namespace perpend::tile;
using mlir::succeeded;
using perpend::interp::Module;
using perpend::interp::Random;
using perpend::interp::Tensor;

namespace {
using Loops = llvm::SmallVector<KernelSchedule::Loop>;

struct Case {
  const char *name, *workload;
  void (*apply)(KernelSchedule &);
  /// Of a refusal; empty: it is tensorized.
  const char *message;
  /// How many blocks of registers there are then: of whole nests, and of edges.
  int blocks = 1;
};

Loops loopsOf(KernelSchedule &s, const char *block) { return *s.getLoops(*s.getBlock(block)); }

// `matmul` is contract: 7 x 6 over 5, its right operand row-major; `packed` has panels of 4 columns: matmul, 7 x 7
// over 5.
const Case cases[] = {
    {"whole", "matmul", [](KernelSchedule &s) { (void)s.tensorize(loopsOf(s, "contract")[0], "f32.block"); }, ""},
    {"anyOrder", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       ASSERT_TRUE(succeeded(s.reorder({loops[2], loops[1], loops[0]})));
       (void)s.tensorize(loops[2], "f32.block");
     },
     ""},
    {"block", "matmul",
     [](KernelSchedule &s) { (void)s.tensorize(*s.blockize(loopsOf(s, "contract")[1]), "f32.block"); }, ""},
    {"fewerRows", "matmul",
     [](KernelSchedule &s) { (void)s.tensorize(s.split(loopsOf(s, "contract")[0], 4)->second, "f32.block"); }, "", 2},
    {"panels", "packed",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "matmul");
       auto columns = *s.split(loops[1], 4);
       ASSERT_TRUE(succeeded(s.reorder({columns.first, loops[0]})));
       (void)s.tensorize(loops[0], "f32.block");
     },
     ""},
    {"symbolicRows", "packedSymbolic",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "matmul");
       auto rows = *s.split(loops[0], 3);
       auto columns = *s.split(loops[1], 4);
       ASSERT_TRUE(succeeded(s.reorder({columns.first, rows.second})));
       (void)s.tensorize(rows.second, "f32.block");
     },
     "", 2},
    {"unknown", "matmul", [](KernelSchedule &s) { (void)s.tensorize(loopsOf(s, "contract")[0], "f80.block"); },
     "tensorize %i0, \"f80.block\": expected one of the intrinsics amx.bf16.block, amx.i8.block, bf16.block, "},
    {"acrossPanels", "packed", [](KernelSchedule &s) { (void)s.tensorize(loopsOf(s, "matmul")[0], "f32.block"); },
     "the position in the buffer %arg1 is no sum of the nest's loops"},
    {"partOfASum", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       auto depth = *s.split(loops[2], 5);
       ASSERT_TRUE(succeeded(s.reorder({depth.first, loops[0]})));
       (void)s.tensorize(*s.blockize(loops[0]), "f32.block");
     },
     ""},
    {"goesOn", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       auto depth = *s.split(loops[2], 2);
       ASSERT_TRUE(succeeded(s.reorder({depth.first, loops[0]})));
       (void)s.tensorize(loops[0], "f32.block");
     },
     "the iterator vk0 of the block 'contract' is one of a reduction that goes on outside of the nest; "
     "decompose_reduction before"},
    {"withoutInit", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("contract");
       Loops loops = *s.getLoops(block);
       ASSERT_TRUE(succeeded(s.decomposeReduction(block, loops[0])));
       (void)s.tensorize(loops[0], "f32.block");
     },
     "tensorize %i0, \"f32.block\": expected a sum from its init on"},
    {"twice", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.blockize(loopsOf(s, "contract")[0]);
       ASSERT_TRUE(succeeded(s.tensorize(block, "f32.block")));
       (void)s.tensorize(block, "f32.block");
     },
     "the block is computed by 'f32.block' already"},
    {"inside", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       ASSERT_TRUE(succeeded(s.tensorize(loops[0], "f32.block")));
       (void)s.split(loops[1], 2);
     },
     "%i1: it is inside of the block 'contract_o'; transform it before blockize"},
    {"annotated", "matmul",
     [](KernelSchedule &s) {
       (void)s.annotate(*s.getBlock("contract"), "tensorized", mlir::StringAttr::get(s.context(), "f32.block"));
     },
     "annotate %contract: 'tensorized' is what tensorize writes"},
    {"otherOperation", "softmax", [](KernelSchedule &s) { (void)s.tensorize(loopsOf(s, "reduce")[0], "f32.block"); },
     "expected another arith.constant, got one with other attributes or types"},
    {"otherMemory", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("contract");
       ASSERT_TRUE(succeeded(s.cacheRead(block, 1, "l1")));
       (void)s.tensorize((*s.getLoops(block))[0], "f32.block");
     },
     "tensorize %i0, \"f32.block\": expected the buffer 'contract_in1_l1' in the memory local, got l1"},
    {"twoNests", "packed",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "map");
       ASSERT_TRUE(succeeded(s.computeAt(*s.getBlock("matmul"), loops[0])));
       (void)s.blockize(loops[0]);
     },
     "blockize %i0: expected loops around a single block"},
};

class Tensorize : public ::testing::TestWithParam<Case> {};

void run(mlir::ModuleOp module, std::unique_ptr<mlir::Pass> pass) {
  mlir::PassManager passes(module.getContext());
  passes.addPass(std::move(pass));
  ASSERT_TRUE(succeeded(passes.run(module)));
}
} // namespace

TEST_P(Tensorize, computesTheSame) {
  std::vector<Workload> list = workloads();
  auto workload = llvm::find_if(list, [](const Workload &w) { return w.name == GetParam().workload; });
  ASSERT_NE(workload, list.end());
  Module module(workload->text());
  Random random;
  std::vector<std::vector<Tensor>> inputs, expected;
  for (int64_t n : workload->sizes) {
    inputs.emplace_back();
    for (const TensorText &input : workload->inputs) {
      std::vector<int64_t> shape;
      for (const std::string &dim : input.dims)
        shape.push_back(dim == "n" ? n : std::stoll(dim));
      inputs.back().push_back(random.floats(module.type("f32"), shape));
    }
    expected.push_back(module.run(inputs.back()));
  }
  run(*module.module, createTileBuildBlocks());
  perpend::target::Machine machine;
  machine.memories = {{"local"}, {"l1"}};
  machine.units = {"vectors"};
  KernelSchedule schedule(module.module->lookupSymbol<mlir::func::FuncOp>("k"), machine);
  GetParam().apply(schedule);
  if (*GetParam().message) {
    EXPECT_NE(schedule.refusal().find(GetParam().message), llvm::StringRef::npos) << schedule.refusal().str();
    return;
  }
  ASSERT_EQ(schedule.trace().back().primitive, "tensorize") << schedule.refusal().str();
  for (size_t i = 0; i < inputs.size(); ++i) { // the text of blocks means the same
    std::vector<Tensor> results = module.run(inputs[i]);
    ASSERT_EQ(results.size(), 1u) << module.messages;
    EXPECT_TRUE(results[0].elements<float>() == expected[i][0].elements<float>());
  }
  if (workload->isSymbolic()) // a local buffer has a number as its size
    module.module->walk([&](AllocOp alloc) {
      BufferType type = alloc.getBuffer().getType();
      Shape shape = type.extents();
      shape[0] = SymbolicInt(13);
      alloc.getBuffer().setType(BufferType::get(type.getContext(), shape, type.getElementType(), "local"));
    });
  run(*module.module, createTileFlattenBlocks());
  int blocks = 0;
  module.module->walk([&](CallIntrinsicOp) { ++blocks; });
  EXPECT_EQ(blocks, GetParam().blocks);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensor> results = module.run(inputs[i]);
    ASSERT_EQ(results.size(), 1u) << module.messages;
    EXPECT_TRUE(results[0].elements<float>() == expected[i][0].elements<float>());
  }
}

INSTANTIATE_TEST_SUITE_P(Nests, Tensorize, ::testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

// One that copies a number.
const char *const copyText = R"(
func.func private @copy(%a: !tile.buffer<[1] x f32>, %b: !tile.buffer<[1] x f32>)
    attributes {tile.intrinsic = {strides = [["1"], ["1"]], implementation = @copy.code}} {
  tile.for %i in 1 {
    tile.block "copy" spatial(%v in 1 = %i) {
      %x = tile.load %a[%v] : !tile.buffer<[1] x f32>
      tile.store %x, %b[%v] : !tile.buffer<[1] x f32>
    }
  }
  return
}
func.func private @copy.code(%a: memref<1xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>) {
  %i = arith.constant 0 : index
  %x = memref.load %a[%i] : memref<1xf32, strided<[1], offset: ?>>
  memref.store %x, %b[%i] : memref<1xf32, strided<[1], offset: ?>>
  return
})";
const char *const callText = R"(
func.func @main(%a: memref<?xf32>, %b: memref<?xf32>, %i: index) {
  tile.call_intrinsic "copy" %a, %b at(%i, %i) strides(%i, %i) extents() : memref<?xf32>, memref<?xf32>
  return
})";

TEST(CallIntrinsic, readsAllAndWritesTheLast) {
  Module module(callText);
  module.module->walk([](CallIntrinsicOp call) {
    auto effects = llvm::cast<mlir::MemoryEffectOpInterface>(call.getOperation());
    for (mlir::Value buffer : call.getBuffers()) {
      EXPECT_TRUE((effects.getEffectOnValue<mlir::MemoryEffects::Read>(buffer)));
      EXPECT_EQ((effects.getEffectOnValue<mlir::MemoryEffects::Write>(buffer).has_value()),
                buffer == call.getBuffers().back());
    }
  });
}

TEST(CallIntrinsic, isLoweredInOneModuleAfterAnother) {
  Module module(callText);
  auto library = std::make_shared<IntrinsicLibrary>();
  perpend::target::TargetInfo target = llvm::cantFail(perpend::target::resolveTarget("x86-64"));
  module.context.loadDialect<mlir::memref::MemRefDialect>();
  ASSERT_TRUE(succeeded(library->add(&module.context, "copy.mlir", copyText, &target))) << module.messages;
  IntrinsicScope scope(&module.context, library);
  mlir::PassManager passes(&module.context);
  passes.addPass(createTileLowerIntrinsics());
  for (int i = 0; i < 2; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.module->clone();
    ASSERT_TRUE(succeeded(passes.run(*copy))) << module.messages;
    EXPECT_TRUE(copy->lookupSymbol("intrinsic_copy"));
  }
}

/// Passes of several kernels run side by side, and the first that asks reads the intrinsics.
TEST(IntrinsicLibraryTest, IsReadOnceByManyThreads) {
  for (int round = 0; round < 10; ++round) {
    mlir::MLIRContext context;
    context.loadDialect<TileDialect, mlir::scf::SCFDialect, mlir::memref::MemRefDialect, mlir::math::MathDialect>();
    std::atomic<int> waiting = 8;
    std::vector<std::pair<IntrinsicLibrary *, size_t>> found(8);
    std::vector<std::thread> threads;
    for (auto &one : found)
      threads.emplace_back([&] {
        for (--waiting; waiting > 0;) {
        }
        IntrinsicLibrary &library = IntrinsicLibrary::of(&context);
        one = {&library, library.list().size()};
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const auto &[library, size] : found) {
      EXPECT_EQ(library, found[0].first);
      EXPECT_EQ(size, library->list().size());
      EXPECT_GT(size, 0u);
    }
  }
}
