//===- TargetInfoTest.cpp - Names, features and rules of targets ---------===//
#include "TestModules.h"
#include "runtime/Isa.h"
#include "target/TargetOption.h"

#include "mlir/Pass/PassOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace perpend::target;

TEST(TargetInfo, EveryNameResolvesToItself) {
  ASSERT_FALSE(targetNames().empty());
  for (StringRef name : targetNames()) {
    const TargetInfo target = expectValue(resolveTarget(name));
    EXPECT_EQ(target.name, name);
    EXPECT_EQ(target.describe().find(name.str()), 0u);
    EXPECT_LE(2 * target.gemmRows + 3, target.vectorRegisters) << name.str();
  }
}

TEST(TargetInfo, MeasuredMachines) {
  const TargetInfo zen = expectValue(resolveTarget("znver5"));
  EXPECT_EQ(zen.vectorBytes, 64u);
  EXPECT_EQ(zen.vectorRegisters, 32u);
  EXPECT_EQ(zen.gemmRows, 8u);
  EXPECT_EQ(zen.l1Bytes, 48u << 10);
  EXPECT_NEAR(zen.flopsPerSecond(), 272e9, 1e9);
  EXPECT_TRUE(zen.hasIsa("avx512bf16"));
  EXPECT_TRUE(zen.hasIsa("avxvnni"));
  EXPECT_FALSE(zen.hasIsa("amx-tile"));
  const TargetInfo rapids = expectValue(resolveTarget("sapphirerapids"));
  EXPECT_EQ(rapids.gemmRows, 14u);
  EXPECT_TRUE(rapids.hasIsa("amx-int8"));
  EXPECT_TRUE(rapids.hasIsa("avx512fp16"));
}

TEST(TargetInfo, GenericLevels) {
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v2")).vectorBytes, 16u);
  const TargetInfo third = expectValue(resolveTarget("x86-64-v3"));
  EXPECT_EQ(third.vectorBytes, 32u);
  EXPECT_EQ(third.gemmRows, 6u);
  EXPECT_TRUE(third.hasIsa("fma") && third.hasIsa("avx2") && third.hasIsa("f16c") && third.hasIsa("avx"));
  EXPECT_FALSE(third.hasIsa("avx512f"));
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v4")).gemmRows, 12u);
}

TEST(TargetInfo, FeaturesAddAndTakeAway) {
  const TargetInfo more = expectValue(resolveTarget("x86-64-v3,+avxvnni"));
  EXPECT_EQ(more.name, "x86-64-v3,+avxvnni");
  EXPECT_TRUE(more.hasIsa("avxvnni"));
  EXPECT_EQ(expectValue(resolveTarget(more.name)).describe(), more.describe());
  const TargetInfo tiles = expectValue(resolveTarget("sapphirerapids"));
  EXPECT_TRUE(tiles.hasIsa("amx-tile") && tiles.hasIsa("amx-bf16") && tiles.hasIsa("amx-int8"));
  const TargetInfo without = expectValue(resolveTarget("sapphirerapids,-amx"));
  EXPECT_FALSE(without.hasIsa("amx-tile") || without.hasIsa("amx-bf16") || without.hasIsa("amx-int8"));
  const TargetInfo less = expectValue(resolveTarget("znver5,-avx512f"));
  EXPECT_EQ(less.vectorBytes, 32u);
  EXPECT_FALSE(less.hasIsa("avx512bf16")) << "what needs avx512f goes with it";
  EXPECT_LE(2 * less.gemmRows + 3, less.vectorRegisters);
}

TEST(TargetInfo, ProductsOfIntegers) {
  auto integers = [](StringRef name) { return expectValue(resolveTarget(name)).integersPerWord; };
  for (StringRef pairs : {"x86-64", "x86-64-v3", "x86-64-v4", "haswell", "skylake-avx512"})
    EXPECT_EQ(integers(pairs), 2u) << pairs.str();
  for (StringRef bytes : {"icelake-server", "sapphirerapids", "znver4", "znver5", "x86-64-v3,+avxvnni"})
    EXPECT_EQ(integers(bytes), 4u) << bytes.str();
  // Of the widest vectors only: these have the instruction for 32 bytes, and those none for pairs.
  EXPECT_EQ(integers("x86-64-v4,+avxvnni"), 2u);
  EXPECT_EQ(integers("x86-64-v4,-avx512bw"), 1u);
}

TEST(TargetInfo, OrderOfFeaturesDoesNotMatter) {
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v4,+avx512vnni,+avx512bf16")).name,
            expectValue(resolveTarget("x86-64-v4, +avx512bf16, +avx512vnni")).name);
}

TEST(TargetInfo, HostIsAnEntryOfTheTable) {
  const TargetInfo host = expectValue(resolveTarget("host"));
  EXPECT_TRUE(is_contained(targetNames(), host.name));
  EXPECT_EQ(expectValue(resolveTarget(host.name)).describe(), host.describe());
  const StringMap<bool> offered = sys::getHostCPUFeatures();
  for (const std::string &extension : host.isa)
    EXPECT_TRUE(offered.lookup(extension)) << extension;
}

TEST(TargetInfo, TheRuntimeAgreesWithLlvmAboutThisProcessor) {
  const StringMap<bool> offered = sys::getHostCPUFeatures();
#define PERPEND_ISA(name, ...) EXPECT_EQ(perpend::runtime::hasInstructionSet(name), offered.lookup(name)) << name;
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaX86.def"
}

TEST(TargetInfo, NothingUsesAmxYet) {
  for (StringRef feature : {"amx", "amx-tile", "amx-int8"}) {
    const std::string text = textOf(resolveTarget(("x86-64-v4,+" + feature).str()).takeError());
    EXPECT_NE(text.find("nothing that is generated uses AMX yet"), std::string::npos) << text;
    EXPECT_NE(text.find("hint: leave out '+" + feature.str() + "'"), std::string::npos) << text;
  }
}

TEST(TargetInfo, UnknownNamesGetHints) {
  const std::string name = textOf(resolveTarget("znver55").takeError());
  EXPECT_NE(name.find("unknown target 'znver55'"), std::string::npos);
  EXPECT_NE(name.find("did you mean 'znver5'?"), std::string::npos);
  EXPECT_NE(name.find("x86-64-v3"), std::string::npos);
  const std::string feature = textOf(resolveTarget("x86-64-v3,+avxvni").takeError());
  EXPECT_NE(feature.find("unknown feature 'avxvni'"), std::string::npos);
  EXPECT_NE(feature.find("did you mean 'avxvnni'?"), std::string::npos);
  EXPECT_NE(textOf(resolveTarget("x86-64-v3,avxvnni").takeError()).find("'+avxvnni'"), std::string::npos);
  EXPECT_NE(textOf(resolveTarget("").takeError()).find("unknown target ''"), std::string::npos);
}

namespace {
/// A pass's options by themselves.
struct Options : mlir::detail::PassOptions {
  Option<TargetInfo> target{*this, "target", llvm::cl::desc("the machine"), llvm::cl::init(defaultTarget())};
};

std::string textOf(Options &options) {
  std::string text;
  raw_string_ostream out(text);
  options.print(out);
  return text;
}
} // namespace

TEST(TargetOption, IsATargetByName) {
  Options options, copy;
  EXPECT_EQ(textOf(options), "{target=x86-64-v4}");
  EXPECT_TRUE(succeeded(options.parseFromString("target=x86-64-v3,+avxvnni")));
  EXPECT_EQ(options.target.vectorLanes(4), 8u);
  EXPECT_EQ(options.target.integersPerWord, 4u);
  copy.copyOptionValuesFrom(options);
  EXPECT_EQ(textOf(copy), "{target=x86-64-v3,+avxvnni}");
}
