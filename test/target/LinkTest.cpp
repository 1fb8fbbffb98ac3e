//===- LinkTest.cpp - Shared libraries, executables, archives -------------===//
#include "TestModules.h"
#include "target/cpu/Architecture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <cstdlib>
#include <dlfcn.h>

using namespace llvm;
using namespace perpend::target;

namespace {

constexpr const char *addIr = R"(
declare ptr @malloc(i64)
declare void @free(ptr)
declare float @expf(float)
define float @kernel_exp(float %x) noinline {
  %e = call float @expf(float %x)
  ret float %e
}
define i32 @perpend_module_add(i32 %a, i32 %b) {
  %p = call ptr @malloc(i64 4)
  store volatile i32 %a, ptr %p
  %v = load volatile i32, ptr %p
  call void @free(ptr %p)
  %s = add i32 %v, %b
  ret i32 %s
}
define float @perpend_module_exp(float %x) {
  %e = call float @kernel_exp(float %x)
  ret float %e
}
)";

constexpr const char *mainIr = R"(
@format = private constant [17 x i8] c"argc %d, last %s\00"
@stdout = external global ptr
declare i32 @fprintf(ptr, ptr, ...)
define i32 @main(i32 %argc, ptr %argv) {
  %out = load ptr, ptr @stdout
  %where = getelementptr ptr, ptr %argv, i64 2
  %last = load ptr, ptr %where
  %n = call i32 (ptr, ptr, ...) @fprintf(ptr %out, ptr @format, i32 %argc, ptr %last)
  ret i32 7
}
)";

/// Prints how often its constructor has run.
constexpr const char *constructedIr = R"(
@format = private constant [4 x i8] c"%d \00"
@count = internal global i32 0
@stdout = external global ptr
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @construct, ptr null }]
declare i32 @fprintf(ptr, ptr, ...)
define internal void @construct(i32 %argc, ptr %argv, ptr %environment) {
  %before = load i32, ptr @count
  %after = add i32 %before, %argc
  store i32 %after, ptr @count
  ret void
}
define i32 @main(i32 %argc, ptr %argv) {
  %out = load ptr, ptr @stdout
  %count = load i32, ptr @count
  %n = call i32 (ptr, ptr, ...) @fprintf(ptr %out, ptr @format, i32 %count)
  ret i32 0
}
)";

/// The function of glibc before 2.34, which calls nothing before main but what it is given.
constexpr const char *oldStartIr = R"(
module asm ".globl __libc_start_main"
module asm "__libc_start_main: jmp perpend_module_start"
declare void @exit(i32)
define void @perpend_module_start(ptr %main, i32 %argc, ptr %argv, ptr %init) {
  %has = icmp ne ptr %init, null
  br i1 %has, label %first, label %then
first:
  call void %init(i32 %argc, ptr %argv, ptr null)
  br label %then
then:
  %status = call i32 %main(i32 %argc, ptr %argv, ptr null)
  call void @exit(i32 %status)
  unreachable
}
)";

TargetInfo portable() { return expectValue(resolveTarget("x86-64-v2")); }

LinkRequest requestFor(const ScratchDirectory &folder, const char *ir, const char *outputName,
                       const char *target = "x86-64-v2") {
  LinkRequest request;
  request.objects = {expectValue(folder.write("code.o", objectOf(ir, target)))};
  request.output = folder.pathOf(outputName);
  return request;
}

std::vector<std::string> neededLibraries(const std::string &path) {
  const std::string bytes = readFile(path);
  auto file = expectValue(object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, path)));
  const auto &elf = cast<object::ELF64LEObjectFile>(*file).getELFFile();
  std::vector<uint64_t> offsets;
  uint64_t strings = 0;
  for (const auto &entry : expectValue(elf.dynamicEntries())) {
    if (entry.d_tag == ELF::DT_NEEDED)
      offsets.push_back(entry.d_un.d_val);
    if (entry.d_tag == ELF::DT_STRTAB)
      strings = entry.d_un.d_ptr;
  }
  std::vector<std::string> names;
  for (uint64_t offset : offsets)
    names.push_back(reinterpret_cast<const char *>(expectValue(elf.toMappedAddr(strings)) + offset));
  return names;
}

/// What a program prints, and its exit status.
std::pair<std::string, int> runProgram(const ScratchDirectory &folder, const std::string &program,
                                       std::vector<StringRef> arguments) {
  const std::string out = folder.pathOf("stdout");
  arguments.insert(arguments.begin(), program);
  const std::optional<StringRef> redirects[] = {std::nullopt, StringRef(out), StringRef(out)};
  const int status = sys::ExecuteAndWait(program, arguments, std::nullopt, redirects, 10);
  return {readFile(out), status};
}

} // namespace

constexpr const char *gotIr = R"(
@_GLOBAL_OFFSET_TABLE_ = external hidden global i8
define ptr @perpend_module_table() {
  ret ptr @_GLOBAL_OFFSET_TABLE_
}
)";

// lld would go on writing to the symbol of an earlier link.
TEST(Link, LinksAfterAnObjectThatMentionsTheOffsetTable) {
  const ScratchDirectory folder = testFolder();
  LinkRequest mentions = requestFor(folder, gotIr, "mentions.so");
  LinkRequest other = mentions;
  other.objects = {expectValue(folder.write("other.o", objectOf(addIr)))};
  other.output = folder.pathOf("other.so");
  std::string first;
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(textOf(linkSharedLibrary(mentions, portable())), "");
    ASSERT_EQ(textOf(linkSharedLibrary(other, portable())), "");
    first = i == 0 ? readFile(other.output) : first;
    ASSERT_EQ(first, readFile(other.output));
  }
}

TEST(Link, ASharedLibraryCanBeCalled) {
  const ScratchDirectory folder = testFolder();
  const LinkRequest request = requestFor(folder, addIr, "model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  void *library = dlopen(request.output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  const auto add = reinterpret_cast<int (*)(int, int)>(dlsym(library, "perpend_module_add"));
  ASSERT_TRUE(add);
  EXPECT_EQ(add(40, 2), 42);
  const auto exp = reinterpret_cast<float (*)(float)>(dlsym(library, "perpend_module_exp"));
  EXPECT_NEAR(exp(1.0f), 2.7182818f, 1e-6);
  EXPECT_EQ(dlsym(library, "kernel_exp"), nullptr) << "only perpend_* is exported";
  dlclose(library);
}

TEST(Link, OnlyTheCLibraryIsNeeded) {
  const ScratchDirectory folder = testFolder();
  const LinkRequest request = requestFor(folder, addIr, "model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  EXPECT_EQ(neededLibraries(request.output), (std::vector<std::string>{"libc.so.6", "libm.so.6"}));
  if (ErrorOr<std::string> ldd = sys::findProgramByName("ldd")) {
    const auto [text, status] = runProgram(folder, *ldd, {request.output});
    EXPECT_EQ(status, 0) << text;
    EXPECT_NE(text.find("libc.so.6 =>"), std::string::npos) << text;
    EXPECT_EQ(text.find("not found"), std::string::npos) << text;
  }
}

TEST(Link, NothingNewerThanGlibc228) {
  const ScratchDirectory folder = testFolder();
  const LinkRequest request = requestFor(folder, addIr, "model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  const std::string bytes = readFile(request.output);
  EXPECT_NE(bytes.find("GLIBC_2.2.5"), std::string::npos);
  EXPECT_NE(bytes.find("GLIBC_2.27"), std::string::npos) << "expf";
  for (const char *newer : {"GLIBC_2.29", "GLIBC_2.3\x00", "GLIBC_2.33", "GLIBC_2.34"})
    EXPECT_EQ(bytes.find(newer, 0, 10), std::string::npos) << newer;
}

TEST(Link, TheSameBytesTwiceAndFiftyLinksInOneProcess) {
  const ScratchDirectory folder = testFolder(), other = testFolder();
  std::string first;
  for (int repetition = 0; repetition < 50; ++repetition) {
    const LinkRequest request = requestFor(repetition % 2 ? other : folder, addIr, "model.so");
    ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
    const std::string bytes = readFile(request.output);
    if (repetition == 0)
      first = bytes;
    ASSERT_EQ(first, bytes) << repetition;
  }
}

TEST(Link, UndefinedSymbolsAreReportedAndTheNextLinkWorks) {
  const ScratchDirectory folder = testFolder();
  const LinkRequest bad = requestFor(folder, R"(
    declare void @no_such_function()
    define void @perpend_module_f() {
      call void @no_such_function()
      ret void
    })",
                                     "bad.so");
  const std::string text = textOf(linkSharedLibrary(bad, portable()));
  EXPECT_NE(text.find("undefined symbol: no_such_function"), std::string::npos) << text;
  EXPECT_EQ(text.find("cannot link '" + bad.output + "':"), 0u) << text;
  EXPECT_NE(text.find("hint:"), std::string::npos) << text;
  EXPECT_EQ(text.find("ld.lld"), std::string::npos) << text;
  EXPECT_FALSE(sys::fs::exists(bad.output));
  EXPECT_EQ(textOf(linkSharedLibrary(requestFor(folder, addIr, "good.so"), portable())), "");
}

TEST(Link, AFailedLinkKeepsTheOldOutput) {
  const ScratchDirectory folder = testFolder();
  LinkRequest request = requestFor(folder, addIr, "model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  const std::string bytes = readFile(request.output);
  request.objects.push_back("/no/such/object.o");
  EXPECT_NE(textOf(linkSharedLibrary(request, portable())).find("cannot open /no/such/object.o"), std::string::npos);
  EXPECT_EQ(readFile(request.output), bytes);
}

TEST(Link, OnlyExportsAreVisible) {
  const ScratchDirectory folder = testFolder();
  LinkRequest request = requestFor(folder, addIr, "model.so");
  request.exports = {"perpend_module_a*"};
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  void *library = dlopen(request.output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_TRUE(dlsym(library, "perpend_module_add"));
  EXPECT_EQ(dlsym(library, "perpend_module_exp"), nullptr);
  dlclose(library);
}

TEST(Link, StripDropsLocalSymbols) {
  const ScratchDirectory folder = testFolder();
  LinkRequest request = requestFor(folder, addIr, "model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  EXPECT_NE(readFile(request.output).find("kernel_exp"), std::string::npos);
  request.strip = true;
  ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  EXPECT_EQ(readFile(request.output).find("kernel_exp"), std::string::npos);
}

TEST(Link, PartsOfAModuleWorkTogether) {
  const ScratchDirectory folder = testFolder();
  LLVMContext context;
  std::unique_ptr<Module> module = parseIr(context, saxpyIr);
  const TargetInfo target = expectValue(resolveTarget("host"));
  const auto parts = expectValue(emitObjectParts(*module, target, 3, 2));
  LinkRequest request;
  for (const auto &[index, part] : enumerate(parts))
    request.objects.push_back(
        expectValue(folder.write("part" + std::to_string(index) + ".o", StringRef(part.data(), part.size()))));
  request.output = folder.pathOf("model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, target)), "");
  void *library = dlopen(request.output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  const auto run = reinterpret_cast<int64_t (*)(const float *, float *, int64_t)>(dlsym(library, "perpend_module_run"));
  std::vector<float> x(37, 5.0f), y(37, 1.0f);
  EXPECT_EQ(run(x.data(), y.data(), 37), 1);
  EXPECT_EQ(run(x.data(), y.data(), 36), 2);
  EXPECT_EQ(y[0], ((1 + 10) * 3 + 10) * 3);
  EXPECT_EQ(y[35], 21);
  EXPECT_EQ(y[36], 11);
  dlclose(library);
}

TEST(Link, AnotherArchitectureIsAnError) {
  const ScratchDirectory folder = testFolder();
  TargetInfo target = portable();
  target.code.triple = "loongarch64-unknown-linux-gnu";
  const LinkRequest request = requestFor(folder, addIr, "model.so");
  const std::string text = textOf(linkSharedLibrary(request, target));
  EXPECT_NE(text.find("cannot link for 'loongarch64-unknown-linux-gnu'"), std::string::npos) << text;
  EXPECT_EQ(textOf(linkExecutable(request, target)), text);
}

/// Whether an object needs something of this version of the C library.
static bool needsVersion(StringRef path, StringRef version) {
  auto file = MemoryBuffer::getFile(path);
  return file && (*file)->getBuffer().contains(version.str() + std::string(1, '\0'));
}

static uint32_t elfFlagsOf(StringRef path) {
  auto file = expectValue(object::ObjectFile::createObjectFile(path));
  return cast<object::ELF64LEObjectFile>(*file.getBinary()).getELFFile().getHeader().e_flags;
}

TEST(Link, EveryArchitectureLinksHere) {
  for (const Architecture *architecture : architectures()) {
    if (!architecture->hasLibcStubs())
      continue;
    const ScratchDirectory folder = testFolder();
    const TargetInfo target = expectValue(resolveTarget(architecture->name));
    LinkRequest request = requestFor(folder, addIr, "model.so", architecture->name.data());
    EXPECT_EQ(textOf(linkSharedLibrary(request, target)), "");
    auto library = expectValue(object::ObjectFile::createObjectFile(request.output));
    EXPECT_EQ(library.getBinary()->getArch(), architecture->type);
    EXPECT_EQ(needsVersion(request.output, "GLIBC_2.2.5"), architecture->oldestLibc == 0);
    EXPECT_EQ(needsVersion(request.output, "GLIBC_2.17"), architecture->oldestLibc == 17);
    EXPECT_EQ(elfFlagsOf(request.output), architecture->elfFlags);
    EXPECT_TRUE(needsVersion(request.output, "GLIBC_2.27")) << "of expf";
    request = requestFor(folder, mainIr, "program", architecture->name.data());
    EXPECT_EQ(textOf(linkExecutable(request, target)), "");
    auto program = expectValue(object::ObjectFile::createObjectFile(request.output));
    EXPECT_EQ(program.getBinary()->getArch(), architecture->type);
  }
}

TEST(Link, ModulesOfWebAssemblyAndLibrariesInTurns) {
  const TargetInfo target = expectValue(resolveTarget("wasm32"));
  if (errorToBool(runtimeArchivePath(target).takeError()))
    GTEST_SKIP() << "the runtime was not built for wasm32";
  const ScratchDirectory folder = testFolder();
  for (int turn = 0; turn < 2; ++turn) {
    LinkRequest request = requestFor(folder, addIr, "model.wasm", "wasm32");
    ASSERT_EQ(textOf(linkSharedLibrary(request, target)), "");
    auto module = expectValue(object::ObjectFile::createObjectFile(request.output));
    EXPECT_EQ(module.getBinary()->getArch(), Triple::wasm32);
    request = requestFor(folder, addIr, "model.so");
    ASSERT_EQ(textOf(linkSharedLibrary(request, portable())), "");
  }
  const LinkRequest program = requestFor(folder, mainIr, "program", "wasm32");
  EXPECT_EQ(textOf(linkExecutable(program, target)),
            "target 'wasm32': there are no programs for wasm32\nhint: write a library, '-o model.wasm'");
}

TEST(Link, DuplicateSymbolsAreReported) {
  const ScratchDirectory folder = testFolder();
  LinkRequest twice = requestFor(folder, addIr, "model.so");
  twice.objects.push_back(twice.objects.front());
  EXPECT_NE(textOf(linkSharedLibrary(twice, portable())).find("duplicate symbol: perpend_module_add"),
            std::string::npos);
}

TEST(Link, AMissingArchiveIsReported) {
  const ScratchDirectory folder = testFolder();
  LinkRequest missing = requestFor(folder, addIr, "model.so");
  missing.archives = {"/no/such/runtime.a"};
  EXPECT_NE(textOf(linkSharedLibrary(missing, portable())).find("cannot open /no/such/runtime.a"), std::string::npos);
}

TEST(Link, BrokenObjectsAreReportedAndTheNextLinkWorks) {
  const ScratchDirectory folder = testFolder();
  const std::string object = objectOf(addIr);
  for (size_t length : {size_t(3), size_t(20), size_t(64), size_t(300), object.size() - 1}) {
    LinkRequest broken = requestFor(folder, addIr, "broken.so");
    broken.objects.push_back(expectValue(folder.write("broken.o", object.substr(0, length))));
    const std::string text = textOf(linkSharedLibrary(broken, portable()));
    EXPECT_NE(text.find("broken.o"), std::string::npos) << length << ": " << text;
    EXPECT_FALSE(sys::fs::exists(broken.output));
    EXPECT_EQ(textOf(linkSharedLibrary(requestFor(folder, addIr, "good.so"), portable())), "") << length;
  }
}

TEST(Link, OutputThatCannotBeWritten) {
  const ScratchDirectory folder = testFolder();
  LinkRequest request = requestFor(folder, addIr, "model.so");
  request.output = folder.pathOf("no/such/folder/model.so");
  std::string text = textOf(linkSharedLibrary(request, portable()));
  EXPECT_NE(text.find("cannot write '" + request.output + "': No such file or directory"), std::string::npos) << text;
  EXPECT_EQ(textOf(linkExecutable(request, portable())), text);
  EXPECT_EQ(textOf(writeStaticLibrary(request)), text);
  request.output = folder.pathOf("folder");
  ASSERT_FALSE(sys::fs::create_directory(request.output));
  text = textOf(linkSharedLibrary(request, portable()));
  EXPECT_NE(text.find("cannot write '" + request.output + "': Is a directory"), std::string::npos) << text;
}

TEST(Link, NothingIsLeftBesideTheOutput) {
  const ScratchDirectory folder = testFolder();
  ASSERT_EQ(textOf(linkSharedLibrary(requestFor(folder, addIr, "model.so"), portable())), "");
  std::error_code reason;
  std::vector<std::string> names;
  for (sys::fs::directory_iterator entry(folder.pathOf(""), reason), end; entry != end; entry.increment(reason))
    names.push_back(entry->path());
  EXPECT_EQ(names.size(), 2u) << "code.o and model.so";
}

TEST(Link, AnExecutableRunsWithoutStartFiles) {
  const ScratchDirectory folder = testFolder();
  const LinkRequest request = requestFor(folder, mainIr, "program");
  ASSERT_EQ(textOf(linkExecutable(request, portable())), "");
  EXPECT_EQ(neededLibraries(request.output), std::vector<std::string>{"libc.so.6"});
  const auto [text, status] = runProgram(folder, request.output, {"a", "b"});
  EXPECT_EQ(text, "argc 3, last b");
  EXPECT_EQ(status, 7);
}

TEST(Link, ConstructorsOfAnExecutableRunOnceWithEveryCLibrary) {
  const ScratchDirectory folder = testFolder();
  LinkRequest library = requestFor(folder, oldStartIr, "old.so");
  library.exports = {"__libc_start_main"};
  ASSERT_EQ(textOf(linkSharedLibrary(library, portable())), "");
  const LinkRequest request = requestFor(folder, constructedIr, "program");
  ASSERT_EQ(textOf(linkExecutable(request, portable())), "");
  EXPECT_EQ(runProgram(folder, request.output, {"a"}), std::pair(std::string("2 "), 0)); // argc, added once
  setenv("LD_PRELOAD", library.output.c_str(), 1);
  const auto withOld = runProgram(folder, request.output, {"a"});
  unsetenv("LD_PRELOAD");
  EXPECT_EQ(withOld, std::pair(std::string("2 "), 0));
}

TEST(Link, AnExecutableWithoutMain) {
  const ScratchDirectory folder = testFolder();
  const std::string text = textOf(linkExecutable(requestFor(folder, addIr, "program"), portable()));
  EXPECT_NE(text.find("undefined symbol: main"), std::string::npos) << text;
}

TEST(Link, ArchivesHoldObjectsAndMembersOfArchives) {
  const ScratchDirectory folder = testFolder();
  LinkRequest runtime = requestFor(folder, "define i32 @perpend_runtime_version() { ret i32 19 }", "runtime.a");
  ASSERT_EQ(textOf(writeStaticLibrary(runtime)), "");
  LinkRequest request;
  request.objects = {expectValue(folder.write("model.o", objectOf(addIr)))};
  request.archives = {runtime.output};
  request.output = folder.pathOf("model.a");
  ASSERT_EQ(textOf(writeStaticLibrary(request)), "");
  const std::string bytes = readFile(request.output);
  auto archive = expectValue(object::Archive::create(MemoryBufferRef(bytes, "model.a")));
  EXPECT_TRUE(expectValue(archive->findSym("perpend_runtime_version")).has_value());
  EXPECT_TRUE(expectValue(archive->findSym("perpend_module_add")).has_value());
  ASSERT_EQ(textOf(writeStaticLibrary(request)), "");
  EXPECT_EQ(readFile(request.output), bytes);

  LinkRequest whole;
  whole.archives = {request.output};
  whole.output = folder.pathOf("whole.so");
  ASSERT_EQ(textOf(linkSharedLibrary(whole, portable())), "");
  void *library = dlopen(whole.output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_TRUE(dlsym(library, "perpend_module_add"));
  dlclose(library);
}

TEST(Link, TheRuntimeArchiveIsFoundOrTheErrorSaysWhere) {
  const ScratchDirectory folder = testFolder();
  const std::string path = expectValue(folder.write("libperpend_runtime.a", "!<arch>\n"));
  setenv("PERPEND_RUNTIME_DIR", folder.pathOf("").c_str(), 1);
  EXPECT_EQ(expectValue(runtimeFilePath()), path);
  const std::string text = textOf(runtimeFilePath("libother.a").takeError());
  EXPECT_NE(text.find(folder.pathOf("libother.a")), std::string::npos) << text;
  EXPECT_NE(text.find("hint: set PERPEND_RUNTIME_DIR"), std::string::npos) << text;
  unsetenv("PERPEND_RUNTIME_DIR");
  EXPECT_NE(textOf(runtimeFilePath("libother.a").takeError()).find("lib/libother.a"), std::string::npos);
}
