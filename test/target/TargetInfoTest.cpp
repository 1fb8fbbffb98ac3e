//===- TargetInfoTest.cpp - Names, features and rules of targets ----------===//
#include "TestModules.h"
#include "runtime/Isa.h"
#include "target/DetectHost.h"
#include "target/TargetOption.h"
#include "target/cpu/Architecture.h"

#include "mlir/Pass/PassOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

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
  EXPECT_EQ(zen.nearCacheBytes(), 48u << 10);
  EXPECT_NEAR(zen.flopsPerSecond(), 272e9, 1e9);
  EXPECT_TRUE(zen.hasFeature("avx512bf16"));
  EXPECT_TRUE(zen.hasFeature("avxvnni"));
  EXPECT_FALSE(zen.hasFeature("amx-tile"));
  const TargetInfo rapids = expectValue(resolveTarget("sapphirerapids"));
  EXPECT_EQ(rapids.gemmRows, 14u);
  EXPECT_TRUE(rapids.hasFeature("amx-int8"));
  EXPECT_TRUE(rapids.hasFeature("avx512fp16"));
}

TEST(TargetInfo, GenericLevels) {
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v2")).vectorBytes, 16u);
  const TargetInfo third = expectValue(resolveTarget("x86-64-v3"));
  EXPECT_EQ(third.vectorBytes, 32u);
  EXPECT_EQ(third.gemmRows, 6u);
  EXPECT_TRUE(third.hasFeature("fma") && third.hasFeature("avx2") && third.hasFeature("f16c") &&
              third.hasFeature("avx"));
  EXPECT_FALSE(third.hasFeature("avx512f"));
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v4")).gemmRows, 12u);
}

TEST(TargetInfo, FeaturesAddAndTakeAway) {
  const TargetInfo more = expectValue(resolveTarget("x86-64-v3,+avxvnni"));
  EXPECT_EQ(more.name, "x86-64-v3,+avxvnni");
  EXPECT_TRUE(more.hasFeature("avxvnni"));
  EXPECT_EQ(expectValue(resolveTarget(more.name)).describe(), more.describe());
  const TargetInfo tiles = expectValue(resolveTarget("sapphirerapids"));
  EXPECT_TRUE(tiles.hasFeature("amx-tile") && tiles.hasFeature("amx-bf16") && tiles.hasFeature("amx-int8"));
  const TargetInfo without = expectValue(resolveTarget("sapphirerapids,-amx"));
  EXPECT_FALSE(without.hasFeature("amx-tile") || without.hasFeature("amx-bf16") || without.hasFeature("amx-int8"));
  EXPECT_TRUE(expectValue(resolveTarget("x86-64-v4,+amx-int8")).hasFeature("amx-tile")) << "what it is built on";
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v4,+amx")).name, "x86-64-v4,+amx-bf16,+amx-int8,+amx-tile");
  const TargetInfo less = expectValue(resolveTarget("znver5,-avx512f"));
  EXPECT_EQ(less.vectorBytes, 32u);
  EXPECT_FALSE(less.hasFeature("avx512bf16")) << "what needs avx512f goes with it";
  EXPECT_LE(2 * less.gemmRows + 3, less.vectorRegisters);
}

TEST(TargetInfo, ArchitecturesHaveTheirOwnExtensions) {
  const TargetInfo base = expectValue(resolveTarget("aarch64"));
  EXPECT_EQ(base.code.triple, "aarch64-unknown-linux-gnu");
  EXPECT_EQ(base.code.cpu, "generic");
  EXPECT_EQ(base.vectorBytes, 16u);
  EXPECT_EQ(base.vectorRegisters, 32u);
  EXPECT_TRUE(base.fusesMultiplyAdds && base.hasFunction(roundToF16Function));
  EXPECT_TRUE(extensionsOf(base).empty() && base.hasFeature("neon")) << "artifacts need not ask for the base level";
  const TargetInfo core = expectValue(resolveTarget("cortex-a76"));
  EXPECT_TRUE(core.hasFeature("dotprod") && core.hasFeature("fullfp16"));
  EXPECT_FALSE(core.hasFeature("i8mm") || core.hasFeature("sse2"));
  const TargetInfo less = expectValue(resolveTarget("neoverse-v1,-dotprod"));
  EXPECT_FALSE(less.hasFeature("dotprod"));
  EXPECT_EQ(less.code.attributes, "-dotprod,+sve,-no-sve-fp-ld1r");
  EXPECT_TRUE(expectValue(resolveTarget("aarch64,+i8mm")).hasFeature("i8mm"));
  EXPECT_EQ(expectValue(resolveTarget("x86-64")).hasFeature("sse2"), true);
  const std::string text = textOf(resolveTarget("cortex-a76,+amx").takeError());
  EXPECT_NE(text.find("unknown feature 'amx'"), std::string::npos) << text;
  EXPECT_EQ(text.find("avx2"), std::string::npos) << "those of its own architecture are named: " << text;
}

TEST(TargetInfo, LengthsOfSve) {
  const TargetInfo wide = expectValue(resolveTarget("neoverse-v1"));
  EXPECT_EQ(wide.vectorBytes, 32u);
  EXPECT_TRUE(wide.hasFeature("sve256") && !wide.hasFeature("sve")) << "a length is what artifacts ask for";
  EXPECT_FALSE(wide.hasUnit("lanes"));
  const TargetInfo without = expectValue(resolveTarget("neoverse-v1,-sve256"));
  EXPECT_EQ(without.vectorBytes, 16u);
  EXPECT_TRUE(without.hasUnit("lanes") && without.hasFeature("i8mm"));
  EXPECT_EQ(without.code.attributes, "-sve") << "no code of vectors whose length is not known";
  EXPECT_EQ(expectValue(resolveTarget("neoverse-v2")).vectorBytes, 16u) << "as long as those of NEON";
  EXPECT_EQ(expectValue(resolveTarget("neoverse-v2")).code.attributes, "-sve");
  const TargetInfo added = expectValue(resolveTarget("aarch64,+sve256"));
  EXPECT_EQ(added.vectorBytes, 32u);
  EXPECT_EQ(extensionsOf(added), (std::vector<std::string>{"fullfp16", "sve256"})) << "SVE needs numbers of f16";
  EXPECT_NE(added.code.attributes.find("+sve"), std::string::npos) << added.code.attributes;
  EXPECT_EQ(expectValue(resolveTarget("neoverse-v1,-fullfp16")).vectorBytes, 16u) << "what SVE needs";
  EXPECT_EQ(resolveTargets("aarch64,neoverse-v2,neoverse-v1")->front().name, wide.name) << "wider vectors first";
}

TEST(TargetInfo, LengthsOfVectorsAreExtensions) {
  const TargetInfo base = expectValue(resolveTarget("riscv64"));
  EXPECT_EQ(base.code.triple, "riscv64-unknown-linux-gnu");
  EXPECT_EQ(base.code.cpu, "generic-rv64");
  EXPECT_EQ(base.vectorBytes, 0u);
  EXPECT_TRUE(extensionsOf(base).empty() && base.hasFeature("d"));
  EXPECT_EQ(base.code.attributes.find("+v"), std::string::npos) << base.code.attributes;
  const TargetInfo wide = expectValue(resolveTarget("rv64gcv_zvl256b"));
  EXPECT_EQ(expectValue(resolveTarget("rv64gcv")).vectorBytes, 16u);
  EXPECT_EQ(wide.vectorBytes, 32u);
  EXPECT_EQ(extensionsOf(wide), (std::vector<std::string>{"v", "zvl256b"}));
  const TargetInfo added = expectValue(resolveTarget("riscv64,+zvl256b"));
  EXPECT_EQ(added.features, wide.features) << "a length says nothing without vectors";
  EXPECT_EQ(added.code.attributes, wide.code.attributes);
  EXPECT_EQ(expectValue(resolveTarget("rv64gcv_zvl256b,-zvl256b")).vectorBytes, 16u);
  EXPECT_EQ(expectValue(resolveTarget("rv64gcv,+zvl1024b")).vectorBytes, 128u);
  const TargetInfo core = expectValue(resolveTarget("spacemit-x60"));
  EXPECT_EQ(core.code.cpu, "spacemit-x60");
  EXPECT_TRUE(core.hasFeature("zvfh") && core.hasFeature("zba") && core.hasFunction(roundToF16Function));
  const TargetInfo without = expectValue(resolveTarget("spacemit-x60,-v"));
  EXPECT_EQ(without.vectorBytes, 0u) << "what needs vectors goes with them";
  EXPECT_FALSE(without.hasFeature("zvfh") || without.hasFeature("zvl256b"));
  EXPECT_NE(without.code.attributes.find("-zve32x"), std::string::npos) << without.code.attributes;
  EXPECT_EQ(resolveTargets("riscv64,rv64gcv,rv64gcv_zvl256b")->front().name, wide.name) << "wider vectors first";
}

TEST(TargetInfo, WebAssemblyHasOneExtension) {
  const TargetInfo target = expectValue(resolveTarget("wasm32"));
  EXPECT_EQ(target.code.triple, "wasm32-unknown-unknown");
  EXPECT_EQ(target.pointerBytes, 4u);
  EXPECT_EQ(target.vectorBytes, 16u);
  EXPECT_FALSE(target.fusesMultiplyAdds);
  EXPECT_TRUE(extensionsOf(target).empty() && target.hasFeature("simd128"));
  EXPECT_NE(textOf(resolveTarget("wasm32,+avx2").takeError()).find("unknown feature 'avx2'"), std::string::npos);
  const TargetInfo relaxed = expectValue(resolveTarget("wasm32,+relaxed-simd"));
  EXPECT_EQ(extensionsOf(relaxed), std::vector<std::string>{"relaxed-simd"});
  EXPECT_FALSE(relaxed.fusesMultiplyAdds) << "an engine may round twice";
  EXPECT_EQ(resolveTargets("wasm32,wasm32,+relaxed-simd")->front().name, relaxed.name) << "the faster one first";
}

TEST(TargetInfo, MachinesOfTwoArchitecturesAreNoList) {
  const std::string text = textOf(resolveTargets("x86-64-v3,cortex-a76").takeError());
  EXPECT_NE(text.find("expected machines of one architecture, got x86-64 and aarch64\nhint: "), std::string::npos)
      << text;
  EXPECT_EQ(expectValue(resolveTargets("aarch64,neoverse-v1,cortex-a76")).front().name, "neoverse-v1");
}

TEST(Host, OfAnotherArchitecture) {
  HostFacts facts;
  facts.architecture = architectureOf(expectValue(resolveTarget("aarch64")).code);
  facts.features = facts.architecture->featuresOf("neoverse-n1");
  facts.l1Bytes = 64 << 10;
  facts.l2Bytes = 1024 << 10;
  facts.l3Bytes = 32 << 20;
  EXPECT_EQ(describeHost(facts), "neoverse-n1");
  facts.features["dotprod"] = false;
  EXPECT_EQ(describeHost(facts), "neoverse-n1,-dotprod");
}

TEST(TargetInfo, WideVectorsHaveInstructionsForAllTypes) {
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v4,-avx512bw")).vectorBytes, 32u);
}

TEST(TargetInfo, OrderOfFeaturesDoesNotMatter) {
  EXPECT_EQ(expectValue(resolveTarget("x86-64-v4,+avx512vnni,+avx512bf16")).name,
            expectValue(resolveTarget("x86-64-v4, +avx512bf16, +avx512vnni")).name);
}

TEST(TargetInfo, HostIsAnEntryOfTheTable) {
  const TargetInfo host = expectValue(resolveTarget("host"));
  EXPECT_TRUE(is_contained(targetNames(), StringRef(host.name).split(',').first));
  EXPECT_EQ(expectValue(resolveTarget(host.name)).describe(), host.describe());
  const StringMap<bool> offered = sys::getHostCPUFeatures();
  for (const std::string &extension : extensionsOf(host))
    EXPECT_TRUE(offered.lookup(extension)) << extension;
}

/// A machine with the features of a processor, less `without`, plus `with`.
static HostFacts machineLike(StringRef cpu, ArrayRef<uint64_t> cachesKiB, ArrayRef<StringRef> without = {},
                             ArrayRef<StringRef> with = {}) {
  HostFacts facts;
  SmallVector<StringRef, 0> features;
  X86::getFeaturesForCPU(cpu, features);
  for (StringRef feature : features) {
    X86::updateImpliedFeatures(feature, true, facts.features);
    facts.features[feature] = true;
  }
  for (StringRef feature : without)
    facts.features[feature] = false;
  for (StringRef feature : with)
    facts.features[feature] = true;
  facts.l1Bytes = cachesKiB[0] << 10;
  facts.l2Bytes = cachesKiB[1] << 10;
  facts.l3Bytes = cachesKiB[2] << 10;
  return facts;
}

TEST(Host, IsWhatItsFeaturesSay) {
  EXPECT_EQ(describeHost(machineLike("sapphirerapids", {48, 2048, 32768})), "sapphirerapids");
  EXPECT_EQ(describeHost(machineLike("znver5", {48, 1024, 32768})), "znver5");
  EXPECT_EQ(describeHost(machineLike("znver4", {32, 1024, 32768})), "znver4");
  EXPECT_EQ(describeHost(machineLike("znver3", {32, 512, 32768})), "znver3");
  EXPECT_EQ(describeHost(machineLike("skylake-avx512", {32, 1024, 16384})), "skylake-avx512");
  EXPECT_EQ(describeHost(machineLike("haswell", {32, 256, 8192})), "haswell");
}

// Processors of which the table has only a relative, and machines that show a part of theirs.
TEST(Host, DiffersFromTheEntryMostLikeIt) {
  auto of = [](const HostFacts &facts) { return expectValue(resolveTarget(describeHost(facts))); };
  const TargetInfo virtualRapids =
      of(machineLike("sapphirerapids", {48, 2048, 107520}, {"uintr", "enqcmd", "sgx", "pconfig", "invpcid"}));
  EXPECT_EQ(virtualRapids.name, "sapphirerapids,l3=105M");
  EXPECT_EQ(describeHost(machineLike("znver5", {48, 1024, 32768}, {"movdiri", "movdir64b", "prefetchi", "invpcid"})),
            "znver5");
  EXPECT_EQ(virtualRapids.lastCacheBytes(), 105u << 20);
  const TargetInfo withoutTiles =
      of(machineLike("sapphirerapids", {48, 2048, 32768}, {"amx-tile", "amx-int8", "amx-bf16"}));
  EXPECT_EQ(withoutTiles.code.cpu, "sapphirerapids");
  EXPECT_FALSE(withoutTiles.hasFeature("amx-tile"));
  EXPECT_EQ(withoutTiles.ownCacheBytes(), 2u << 20);
  EXPECT_EQ(of(machineLike("sapphirerapids", {48, 2048, 32768}, {}, {"amx-fp16"})).name, "sapphirerapids");
  EXPECT_EQ(of(machineLike("rocketlake", {48, 512, 16384})).ownCacheBytes(), 512u << 10);
  EXPECT_EQ(of(machineLike("rocketlake", {48, 512, 16384})).code.cpu, "icelake-server");
  const TargetInfo cascade = of(machineLike("cascadelake", {32, 1024, 16384}));
  EXPECT_EQ(cascade.name, "skylake-avx512,+avx512vnni");
  const TargetInfo alder = of(machineLike("alderlake", {48, 1280, 30720}));
  EXPECT_EQ(alder.name, "alderlake");
  EXPECT_EQ(alder.vectorBytes, 32u);
  EXPECT_EQ(of(machineLike("skylake", {32, 256, 8192})).name, "haswell");
  EXPECT_EQ(of(machineLike("graniterapids", {48, 2048, 32768})).name, "sapphirerapids");
  EXPECT_EQ(of(machineLike("znver2", {32, 512, 16384})).name, "znver3,l3=16M");
}

TEST(Host, AnUnknownMachineIsAGenericLevel) {
  EXPECT_EQ(describeHost(machineLike("x86-64-v3", {0, 0, 0})), "x86-64-v3");
  EXPECT_EQ(describeHost(machineLike("x86-64-v3", {64, 512, 4096}, {}, {"aes"})), "x86-64-v3,l1=64K,l2=512K,l3=4M");
  EXPECT_EQ(describeHost(machineLike("x86-64-v3", {32, 256, 8192}, {}, {"avxvnni"})), "x86-64-v3,+avxvnni");
  EXPECT_EQ(describeHost(machineLike("x86-64", {32, 256, 8192})), "x86-64");
  EXPECT_EQ(describeHost(HostFacts()).substr(0, 6), "x86-64");
}

TEST(Host, HasWhatTheSystemGrants) {
  HostFacts facts = machineLike("sapphirerapids", {48, 2048, 32768});
  std::vector<std::string> asked;
  dropRefused(facts, [&](const char *name) {
    asked.push_back(name);
    return !StringRef(name).starts_with("amx-");
  });
  EXPECT_TRUE(is_contained(asked, "amx-tile"));
  EXPECT_FALSE(is_contained(asked, "avx512vp2intersect")) << "what is not there";
  EXPECT_EQ(describeHost(facts), "sapphirerapids,-amx-bf16,-amx-int8,-amx-tile");
}

// Whatever a machine hides, code for it uses nothing else.
TEST(Host, UsesOnlyWhatIsThere) {
  constexpr StringLiteral names[] = {
#define PERPEND_ISA(name, ...) name,
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaX86.def"
  };
  for (StringRef cpu : {"sapphirerapids", "znver5", "znver3", "alderlake", "skylake-avx512"})
    for (StringRef hidden : names) {
      const HostFacts facts = machineLike(cpu, {32, 512, 8192}, hidden);
      const TargetInfo target = expectValue(resolveTarget(describeHost(facts)));
      for (const std::string &extension : extensionsOf(target))
        EXPECT_TRUE(facts.features.lookup(extension)) << cpu.str() << " without " << hidden.str() << ": " << extension;
    }
}

TEST(TargetInfo, CachesCanBeSaid) {
  const TargetInfo target = expectValue(resolveTarget("icelake-server,l2=2M,+avx512bf16, l1=32K"));
  EXPECT_EQ(target.name, "icelake-server,+avx512bf16,l1=32K,l2=2M");
  EXPECT_EQ(target.ownCacheBytes(), 2u << 20);
  EXPECT_EQ(target.code.attributes, "+avx512bf16,-avx512fp16"); // the latter in no code: see codeFeatures
  EXPECT_EQ(expectValue(resolveTarget(target.name)).describe(), target.describe());
  EXPECT_EQ(expectValue(resolveTarget("haswell,l2=256K")).name, "haswell");
  for (StringRef wrong : {"haswell,l2", "haswell,l2=", "haswell,l2=M", "haswell,l2=0K", "haswell,l2=1",
                          "haswell,l3=-1M", "haswell,l1=99999999999999999999K", "haswell,l1=9999999999M"})
    EXPECT_NE(textOf(resolveTarget(wrong).takeError()).find("=512K or "), std::string::npos) << wrong.str();
  EXPECT_NE(textOf(resolveTarget("haswell,l4=1M").takeError()).find("expected +feature or -feature"),
            std::string::npos);
}

TEST(TargetInfo, MemoryWithoutASystemCanBeSaid) {
  const TargetInfo board = expectValue(resolveTarget("cortex-m4")),
                   less = expectValue(resolveTarget("cortex-m4,ram=64K"));
  EXPECT_EQ(less.global.bytes, 64u << 10);
  EXPECT_EQ(less.name, "cortex-m4,ram=64K");
  const std::string same = "cortex-m4,ram=" + std::to_string(board.global.bytes >> 20) + "M";
  EXPECT_EQ(expectValue(resolveTarget(same)).name, board.name) << "artifacts of equal targets are equal";
  EXPECT_EQ(expectValue(resolveTarget(same)).global.bytes, board.global.bytes);
}

TEST(TargetInfo, TheRuntimeAgreesWithLlvmAboutThisProcessor) {
  const StringMap<bool> offered = sys::getHostCPUFeatures();
#define PERPEND_ISA(name, ...) EXPECT_EQ(perpend::runtime::hasInstructionSet(name), offered.lookup(name)) << name;
#define PERPEND_ISA_UNUSED(...)
#include "runtime/IsaX86.def"
}

TEST(TargetInfo, WhatACacheHoldsIsReadFromIt) {
  const TargetInfo info = cantFail(resolveTarget("znver5"));
  const double own = double(info.ownCacheBytes()), last = double(info.lastCacheBytes());
  EXPECT_EQ(info.bytesPerSecondOf(own), 32 * info.cyclesPerSecond);
  EXPECT_EQ(info.bytesPerSecondOf(last), 16 * info.cyclesPerSecond);
  EXPECT_EQ(info.bytesPerSecondOf(last + 1), info.global.bytesPerSecond);
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

TEST(TargetInfo, SeveralMachines) {
  auto namesOf = [](StringRef text) {
    std::vector<std::string> names;
    for (const TargetInfo &target : expectValue(resolveTargets(text)))
      names.push_back(target.name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(namesOf("x86-64-v3"), Names{"x86-64-v3"});
  // Wider vectors first, then more instruction sets, then as named.
  EXPECT_EQ(
      namesOf("x86-64,x86-64-v3, +avxvnni,l2=2M,haswell,sapphirerapids,znver5,alderlake,x86-64-v3"),
      (Names{"sapphirerapids", "znver5", "alderlake", "x86-64-v3,+avxvnni,l2=2M", "haswell", "x86-64-v3", "x86-64"}));
  EXPECT_EQ(namesOf("znver5,-avx512f,x86-64-v4"), (Names{"x86-64-v4", "znver5,-avx512f"}));
  EXPECT_EQ(textOf(resolveTargets("x86-64,haswell,x86-64,haswell").takeError()),
            "target 'x86-64,haswell,x86-64,haswell': it names the machine 'x86-64' twice\nhint: leave one of them out");
  for (StringRef item : {"+avxvnni", "-avx2", "l2=2M", "avx2"})
    EXPECT_EQ(textOf(resolveTargets((item + ",haswell").str()).takeError()),
              ("target '" + item + ",haswell': '" + item +
               "' does not follow a machine\nhint: name the machine first, as in x86-64-v3,+avxvnni")
                  .str());
  EXPECT_EQ(textOf(resolveTarget("x86-64,x86-64-v3,x86-64-v4").takeError()),
            "target 'x86-64,x86-64-v3,x86-64-v4': expected one machine here, got 3\nhint: name one of them");
}

namespace {
/// A pass's options by themselves.
struct Options : mlir::detail::PassOptions {
  Option<Machine> target{*this, "target", llvm::cl::desc("the machine"), llvm::cl::init(defaultTarget())};
};

std::string textOf(Options &options) {
  std::string text;
  raw_string_ostream out(text);
  options.print(out);
  return text;
}
} // namespace

// Of few registers none is left for sums; the numbers must not wrap.
TEST(TargetInfo, FewRegistersHoldNoTile) {
  Machine info;
  for (unsigned registers = 0; registers <= 4; ++registers) {
    info.vectorRegisters = registers;
    EXPECT_EQ(info.mostGemmRows(), 0u) << registers;
    EXPECT_EQ(info.mostSums(), 1u) << registers;
  }
  info.vectorRegisters = 16;
  EXPECT_EQ(info.mostGemmRows(), 6u);
  EXPECT_EQ(info.mostSums(), 6u);
}

TEST(TargetOption, IsATargetByName) {
  Options options, copy;
  EXPECT_EQ(textOf(options), "{target=x86-64-v4}");
  EXPECT_TRUE(succeeded(options.parseFromString("target=x86-64-v3,+avxvnni")));
  EXPECT_EQ(options.target.vectorLanes(4), 8u);
  copy.copyOptionValuesFrom(options);
  EXPECT_EQ(textOf(copy), "{target=x86-64-v3,+avxvnni}");
}
