//===- SchedulePrimitivesTest.cpp - what primitives do and refuse ---------===//
//
// For each primitive a case that it refuses, by its message; and their page in
// docs, which must be what Primitives.def says.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "Workloads.h"

#include "tile/passes/Passes.h"
#include "tile/schedule/Schedule.h"

#include "mlir/Pass/PassManager.h"

#include <fstream>
#include <sstream>

using namespace perpend::tile;
using perpend::interp::Module;

namespace {
struct Refusal {
  const char *primitive, *workload;
  void (*apply)(KernelSchedule &);
  const char *message;
};

using Loops = llvm::SmallVector<KernelSchedule::Loop>;

Loops loopsOf(KernelSchedule &s, const char *block) { return s.getLoops(*s.getBlock(block)); }

// The blocks of `softmax`: reduce (of 5 x 7, over 7), map, reduce_1, map_1; of `matmul`: contract (7 x 6, over 5).
const Refusal refusals[] = {
    {"get_block", "matmul", [](KernelSchedule &s) { (void)s.getBlock("product"); },
     "get_block: expected one of the blocks contract, got 'product'"},
    {"get_loops", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       ASSERT_TRUE(mlir::succeeded(s.computeInline(block))) << s.refusal().str();
       EXPECT_TRUE(s.getLoops(block).empty());
     },
     "%map: an earlier step has consumed this block"},
    {"get_child_blocks", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract"), again = loopsOf(s, "contract");
       ASSERT_TRUE(mlir::succeeded(s.split(loops[0], 2)));
       (void)s.getChildBlocks(again[0]);
     },
     "%i0_1: an earlier step has consumed this loop"},
    {"get_producers", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       (void)s.computeInline(block);
       (void)s.getProducers(block);
     },
     "%map: an earlier step has consumed this block"},
    {"get_consumers", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       (void)s.computeInline(block);
       (void)s.getConsumers(block);
     },
     "%map: an earlier step has consumed this block"},
    {"split", "matmul", [](KernelSchedule &s) { (void)s.split(loopsOf(s, "contract")[0], {2, 3}); },
     "split %i0: the factors [2, 3] do not cover the extent 7; leave one of them free (_)"},
    {"fuse", "matmulSymbolicDepth",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       (void)s.fuse({loops[1], loops[2]});
     },
     "fuse: the reduction 'contract' over %k0 may be empty, and would then not run its init; decompose_reduction "
     "before"},
    {"reorder", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       auto fused = *s.fuse({loops[1], loops[2]});
       auto parts = *s.split(fused, 4);
       (void)s.reorder({parts.second, parts.first});
     },
     "is no sum of 'fused_i1_k0_0' and 'fused_i1_k0_1', so it might not begin with its init; decompose_reduction "
     "before"},
    {"add_unit_loop", "softmax",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("map");
       (void)s.computeInline(block);
       (void)s.addUnitLoop(block);
     },
     "%map: an earlier step has consumed this block"},
    {"parallel", "matmul", [](KernelSchedule &s) { (void)s.parallel(loopsOf(s, "contract")[2]); },
     "parallel %k0: the reduced iterator 2 of the block 'contract' depends on it"},
    {"vectorize", "matmul", [](KernelSchedule &s) { (void)s.vectorize(loopsOf(s, "contract")[2]); },
     "vectorize %k0: the reduced iterator 2 of the block 'contract' depends on it"},
    {"unroll", "matmulSymbolicRows", [](KernelSchedule &s) { (void)s.unroll(loopsOf(s, "contract")[0]); },
     "unroll %i0: expected an extent that is a number, got n"},
    {"compute_at", "matmul",
     [](KernelSchedule &s) {
       Loops loops = loopsOf(s, "contract");
       (void)s.computeAt(*s.getBlock("contract"), loops[0]);
     },
     "the block 'contract' cannot move: it writes a buffer of the kernel's caller"},
    {"reverse_compute_at", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("contract");
       auto copy = *s.cacheWrite(block, "local");
       (void)s.reverseComputeAt(copy, s.getLoops(block)[2]);
     },
     "the loop 'k0' is one of the reduction 'contract', which it does not complete"},
    {"compute_inline", "softmax", [](KernelSchedule &s) { (void)s.computeInline(*s.getBlock("reduce")); },
     "compute_inline %reduce: the block 'reduce' cannot be computed where it is read: it is a reduction"},
    {"reverse_compute_inline", "matmul",
     [](KernelSchedule &s) { (void)s.reverseComputeInline(*s.cacheWrite(*s.getBlock("contract"), "local")); },
     "the block 'contract_out' has no producer that it could be computed in: it is a reduction"},
    {"cache_read", "matmul", [](KernelSchedule &s) { (void)s.cacheRead(*s.getBlock("contract"), 2, "local"); },
     "cache_read %contract: the block 'contract' reads 2 buffers that it does not write, got number 2"},
    {"cache_write", "matmul", [](KernelSchedule &s) { (void)s.cacheWrite(*s.getBlock("contract"), "global"); },
     "cache_write %contract: expected a scope other than global, got 'global'"},
    {"set_scope", "matmul", [](KernelSchedule &s) { (void)s.setScope(*s.getBlock("contract"), "l1"); },
     "set_scope %contract: the block writes a buffer of the kernel's caller; cache_write it before"},
    {"decompose_reduction", "matmul",
     [](KernelSchedule &s) {
       auto block = *s.getBlock("contract");
       Loops loops = s.getLoops(block);
       ASSERT_TRUE(mlir::succeeded(s.reorder({loops[2], loops[1]})));
       (void)s.decomposeReduction(block, loops[1]);
     },
     "the loop 'k0' outside of it is one of the reduction"},
    {"rfactor", "matmul", [](KernelSchedule &s) { (void)s.rfactor(loopsOf(s, "contract")[0], 0); },
     "rfactor %i0: the block 'contract' does not reduce over the loop"},
    {"annotate", "matmul",
     [](KernelSchedule &s) {
       auto loop = loopsOf(s, "contract")[0];
       mlir::Attribute unit = mlir::UnitAttr::get(s.operation(loop).getContext());
       ASSERT_TRUE(mlir::succeeded(s.annotate(loop, "a", unit)));
       (void)s.annotate(loop, "a", unit);
     },
     "annotate %i0: it has the annotation 'a' already; unannotate it before"},
    {"unannotate", "matmul", [](KernelSchedule &s) { (void)s.unannotate(loopsOf(s, "contract")[0], "a"); },
     "unannotate %i0: it has no annotation 'a'"},
};

class SchedulePrimitives : public ::testing::TestWithParam<Refusal> {};

struct Row {
  std::string name, operands, results, sentence;
};
const Row rows[] = {
#define PRIMITIVE(name, operands, results, sentence) {name, operands, results, sentence},
#include "tile/schedule/Primitives.def"
};

std::string page() {
  std::string text = "# Schedule primitives\n\nThe methods of `tile::KernelSchedule` "
                     "([src/tile/schedule](../src/tile/schedule/Schedule.h)), and what a trace says. Each keeps the\n"
                     "meaning of the kernel, or refuses and changes nothing. This page is made from `Primitives.def`;\n"
                     "`PERPEND_WRITE_DOCS=1 build/bin/ScheduleTest` writes it anew.\n\n"
                     "| Primitive | Operands | Results | What it does |\n| --- | --- | --- | --- |\n";
  for (const Row &row : rows)
    text += "| `" + row.name + "` | " + row.operands + " | " + row.results + " | " + row.sentence + " |\n";
  return text;
}
} // namespace

TEST_P(SchedulePrimitives, refuses) {
  std::vector<Workload> list = workloads();
  auto workload = llvm::find_if(list, [](const Workload &w) { return w.name == GetParam().workload; });
  ASSERT_NE(workload, list.end());
  Module module(workload->text());
  mlir::PassManager passes(&module.context);
  TileBuildBlocksOptions options;
  options.all = true;
  passes.addPass(createTileBuildBlocks(options));
  ASSERT_TRUE(mlir::succeeded(passes.run(*module.module)));
  KernelSchedule schedule(module.module->lookupSymbol<mlir::func::FuncOp>("k"));
  GetParam().apply(schedule);
  EXPECT_NE(schedule.refusal().find(GetParam().message), llvm::StringRef::npos) << schedule.refusal().str();
}

INSTANTIATE_TEST_SUITE_P(Refusals, SchedulePrimitives, ::testing::ValuesIn(refusals),
                         [](const auto &info) { return std::string(info.param.primitive); });

/// get_output_blocks has nothing to refuse.
TEST(SchedulePrimitivesTable, eachHasARefusal) {
  for (const Row &row : rows)
    EXPECT_TRUE(row.name == "get_output_blocks" ||
                llvm::any_of(refusals, [&](const Refusal &refusal) { return row.name == refusal.primitive; }))
        << row.name;
}

TEST(SchedulePrimitivesTable, isThePageInDocs) {
  std::string path = PERPEND_SOURCE_DIR "/docs/schedule-primitives.md";
  if (std::getenv("PERPEND_WRITE_DOCS"))
    std::ofstream(path) << page();
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), page()) << "hint: PERPEND_WRITE_DOCS=1 writes the page";
}
