//===- EmitObjectTest.cpp - LLVM IR to objects ----------------------------===//
#include "TestModules.h"

#include "target/vector/LoopHints.h"

#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace perpend::target;

namespace {

struct Texts {
  std::string assembly, optimisedIr;
};

Texts textsOf(const char *ir, const char *targetName, bool noAlias, bool hasHints = false) {
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, ir);
  if (noAlias)
    markNoAlias(*module->getFunction("saxpy"));
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  Texts texts;
  raw_string_ostream assemblyStream(texts.assembly), irStream(texts.optimisedIr);
  const TargetInfo target = expectValue(resolveTarget(targetName));
  if (hasHints)
    hintLoops(*module->getFunction("saxpy"), target);
  EXPECT_EQ(textOf(emitObject(*module, target, 3, stream, {&irStream, &assemblyStream})), "");
  EXPECT_NE(texts.optimisedIr.find("@perpend_module_run"), std::string::npos);
  EXPECT_EQ(texts.optimisedIr.find("uwtable"), std::string::npos);
  return texts;
}

std::string assemblyOf(const char *ir, const char *targetName) { return textsOf(ir, targetName, true).assembly; }

} // namespace

TEST(EmitObject, UsesTheFullVectorsOfTheMachine) {
  EXPECT_NE(assemblyOf(saxpyIr, "sapphirerapids").find("%zmm"), std::string::npos);
  EXPECT_NE(assemblyOf(saxpyIr, "znver5").find("%zmm"), std::string::npos);
  const std::string third = assemblyOf(saxpyIr, "x86-64-v3");
  EXPECT_NE(third.find("%ymm"), std::string::npos);
  EXPECT_EQ(third.find("%zmm"), std::string::npos);
  EXPECT_EQ(assemblyOf(saxpyIr, "x86-64-v2").find("%ymm"), std::string::npos);
}

TEST(EmitObject, NoAliasNeedsNoChecksOfOverlaps) {
  EXPECT_EQ(textsOf(saxpyIr, "x86-64-v2", true).optimisedIr.find("memcheck"), std::string::npos);
  EXPECT_NE(textsOf(saxpyIr, "x86-64-v2", false).optimisedIr.find("memcheck"), std::string::npos);
}

/// A loop of `count` iterations that combines elements of a type by `combine`, which reads %s and %v.
static std::string reductionOf(const std::string &type, const std::string &combine, const std::string &count,
                               const std::string &first) {
  return "declare i64 @llvm.smax.i64(i64, i64)\ndefine " + type + R"( @saxpy(ptr %x) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
      %s = phi )" +
         type + " [ " + first + R"(, %entry ], [ %s1, %loop ]
      %p = getelementptr )" +
         type + R"(, ptr %x, i64 %i
      %v = load )" +
         type + R"(, ptr %p
      %s1 = )" +
         combine + R"(
      %i1 = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %i1, )" +
         count + R"(
      br i1 %more, label %loop, label %done
    done:
      ret )" +
         type + R"( %s1
    }
    define void @perpend_module_run() {
      ret void
    })";
}

static std::string sumOf(const std::string &count, bool hasHints) {
  const std::string ir = reductionOf("float", "fadd reassoc float %s, %v", count, "0.0");
  return textsOf(ir.c_str(), "x86-64-v4", false, hasHints).optimisedIr;
}

TEST(EmitObject, OnlyShortLoopsAreWrittenOut) {
  EXPECT_EQ(StringRef(sumOf("6144", false)).count("load <16 x float>"), 4u) << "vectors that LLVM interleaves";
  EXPECT_EQ(sumOf("3", false).find("br "), std::string::npos);
}

TEST(EmitObject, ReductionsAreSeveralVectors) {
  EXPECT_EQ(StringRef(sumOf("6144", true)).count("load <16 x float>"), 4u);
  EXPECT_EQ(StringRef(sumOf("96", true)).count("load <16 x float>"), 2u) << "vectors, not 96 elements";
  const std::string ir = reductionOf("i64", "call i64 @llvm.smax.i64(i64 %s, i64 %v)", "4096", "-1");
  EXPECT_EQ(StringRef(textsOf(ir.c_str(), "x86-64-v3", false, true).optimisedIr).count("load <4 x i64>"), 4u);
}

static std::string loopOver(const std::string &result, const std::string &call) {
  return R"(
    declare float @perpend.scale(float, float)
    declare i16 @perpend.round_to_bf16(float)
    declare i16 @perpend.round_to_f16(float)
    define void @saxpy(ptr %x, ptr %y, i64 %n) {
    entry:
      br label %loop
    loop:
      %i = phi i64 [ 0, %entry ], [ %next, %loop ]
      %p = getelementptr float, ptr %x, i64 %i
      %v = load float, ptr %p
      %r = call )" +
         result + call + R"(
      %q = getelementptr )" +
         result + R"(, ptr %y, i64 %i
      store )" +
         result + R"( %r, ptr %q
      %next = add nuw nsw i64 %i, 1
      %more = icmp slt i64 %next, %n
      br i1 %more, label %loop, label %done
    done:
      ret void
    }
    define void @perpend_module_run() {
      ret void
    })";
}

TEST(EmitObject, FunctionsOfLanesAreInstructions) {
  const auto isIn = [](const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
  };
  const std::string scaled = assemblyOf(loopOver("float", " @perpend.scale(float %v, float %v)").c_str(), "x86-64-v4");
  EXPECT_TRUE(isIn(scaled, "vscalefps\t%zmm") && isIn(scaled, "vscalefps\t%xmm") && !isIn(scaled, "perpend."))
      << scaled;
  const std::string rounded = assemblyOf(loopOver("i16", " @perpend.round_to_bf16(float %v)").c_str(), "znver5");
  EXPECT_TRUE(isIn(rounded, "vcvtneps2bf16\t(%rdi") && isIn(rounded, "%ymm0")) << rounded;
  EXPECT_FALSE(isIn(rounded, "perpend.")) << rounded;
  const std::string halves = loopOver("i16", " @perpend.round_to_f16(float %v)");
  EXPECT_TRUE(isIn(assemblyOf(halves.c_str(), "x86-64-v4"), "vcvtps2ph\t$0, %zmm"));
  EXPECT_TRUE(isIn(assemblyOf(halves.c_str(), "x86-64-v3"), "vcvtps2ph\t$0, %ymm"));
}

TEST(EmitObject, AmxComesWithItsMachines) {
  const char *ir = R"(
    declare void @llvm.x86.ldtilecfg(ptr)
    declare void @llvm.x86.tilezero(i8)
    declare void @llvm.x86.tileloadd64(i8, ptr, i64)
    declare void @llvm.x86.tdpbf16ps(i8, i8, i8)
    declare void @llvm.x86.tilestored64(i8, ptr, i64)
    declare void @llvm.x86.tilerelease()
    define void @saxpy(ptr %config, ptr %a, ptr %c) {
      call void @llvm.x86.ldtilecfg(ptr %config)
      call void @llvm.x86.tilezero(i8 0)
      call void @llvm.x86.tileloadd64(i8 4, ptr %a, i64 64)
      call void @llvm.x86.tdpbf16ps(i8 0, i8 4, i8 4)
      call void @llvm.x86.tilestored64(i8 0, ptr %c, i64 64)
      call void @llvm.x86.tilerelease()
      ret void
    }
    define void @perpend_module_run() {
      ret void
    })";
  const std::string text = assemblyOf(ir, "sapphirerapids");
  EXPECT_NE(text.find("tdpbf16ps\t%tmm4, %tmm4, %tmm0"), std::string::npos) << text;
}

TEST(EmitObject, TheSameTwice) {
  EXPECT_EQ(objectOf(saxpyIr), objectOf(saxpyIr));
  EXPECT_NE(objectOf(saxpyIr, "x86-64-v2", 0), objectOf(saxpyIr, "x86-64-v2", 3));
}

TEST(EmitObject, OnlyTheModulesEntryIsVisible) {
  const std::string object = objectOf(saxpyIr);
  auto file = expectValue(object::ObjectFile::createELFObjectFile(MemoryBufferRef(object, "test")));
  unsigned entries = 0;
  for (const object::ELFSymbolRef symbol : cast<object::ELFObjectFileBase>(*file).symbols()) {
    const StringRef name = expectValue(symbol.getName());
    EXPECT_FALSE(name.contains("eh_frame"));
    if (name == "perpend_module_run") {
      ++entries;
      EXPECT_EQ(symbol.getOther(), ELF::STV_DEFAULT);
    } else if ((name.starts_with("saxpy") || name.starts_with("scale")) && symbol.getBinding() == ELF::STB_GLOBAL) {
      EXPECT_EQ(symbol.getOther(), ELF::STV_HIDDEN) << name.str();
    }
  }
  EXPECT_EQ(entries, 1u);
}

TEST(EmitObject, InvalidIrIsAnError) {
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, "define void @f() { ret void }");
  module->getFunction("f")->front().getTerminator()->eraseFromParent();
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  const std::string text = textOf(emitObject(*module, target, 2, stream));
  EXPECT_NE(text.find("perpend bug: invalid LLVM IR"), std::string::npos) << text;
  EXPECT_NE(text.find("does not have terminator"), std::string::npos) << text;
}

TEST(EmitObjectParts, EveryBodyIsInOnePart) {
  LLVMContext context;
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  std::vector<std::string> first;
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::unique_ptr<Module> module = parseIr(context, saxpyIr);
    auto parts = expectValue(emitObjectParts(*module, target, 0, 2));
    ASSERT_EQ(parts.size(), 2u);
    std::map<std::string, int> definitions;
    std::vector<std::string> bytes;
    for (const SmallVector<char, 0> &part : parts) {
      bytes.emplace_back(part.data(), part.size());
      auto file = expectValue(object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes.back(), "part")));
      for (const object::ELFSymbolRef symbol : cast<object::ELFObjectFileBase>(*file).symbols())
        if (!(expectValue(symbol.getFlags()) & object::SymbolRef::SF_Undefined))
          ++definitions[expectValue(symbol.getName()).str()];
    }
    const std::string owner = "_" + module->getModuleIdentifier();
    EXPECT_EQ(definitions["saxpy_entry" + owner], 1);
    EXPECT_EQ(definitions["saxpy"], 1) << "kernels go with their entries";
    EXPECT_EQ(definitions["scale" + owner], 1);
    EXPECT_EQ(definitions["perpend_module_run"], 1);
    EXPECT_EQ(definitions["perpend_module_main"], 1);
    EXPECT_EQ(definitions["run"], 1) << "what runs entries is in one part";
    EXPECT_EQ(definitions["counter" + owner], 1);
    EXPECT_EQ(definitions["helper"], 2) << "local functions go with their users";
    if (repetition == 0)
      first = bytes;
    EXPECT_EQ(first, bytes);
  }
}

TEST(EmitObjectParts, KernelsWithOneMicroKernelAreInOnePart) {
  const auto stores = [](int count) {
    std::string text;
    while (count-- > 0)
      text += "  store volatile float 1.0, ptr %x\n";
    return text;
  };
  std::string ir = "define void @perpend_module_run() {\n  ret void\n}\n";
  for (const std::string shared : {"first", "second"}) {
    ir += "define internal void @" + shared + "(ptr %x) noinline {\n" + stores(40) + "  ret void\n}\n";
    for (const char *number : {"0", "1", "2"})
      ir += "define void @kernel_" + shared + number + "(ptr %x) \"perpend-kernel-entry\" {\n  call void @" + shared +
            "(ptr %x)\n" + stores(30) + "  ret void\n}\n";
  }
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, ir.c_str());
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  std::map<std::string, int> definitions;
  for (const SmallVector<char, 0> &part : expectValue(emitObjectParts(*module, target, 0, 2))) {
    auto file = expectValue(
        object::ObjectFile::createELFObjectFile(MemoryBufferRef(StringRef(part.data(), part.size()), "part")));
    for (const object::ELFSymbolRef symbol : cast<object::ELFObjectFileBase>(*file).symbols())
      if (!(expectValue(symbol.getFlags()) & object::SymbolRef::SF_Undefined))
        ++definitions[expectValue(symbol.getName()).str()];
  }
  EXPECT_EQ(definitions["first"], 1);
  EXPECT_EQ(definitions["second"], 1);
}
