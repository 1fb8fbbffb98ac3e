//===- WeightsObjectTest.cpp - Weights in objects and artifacts -----------===//
#include "TestModules.h"
#include "target/SharedWeights.h"

#include "runtime/Checksum.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/Wasm.h"
#include <dlfcn.h>
#include <fstream>
#include <numeric>

using namespace llvm;
using namespace perpend::target;

namespace {

constexpr const char *weightsUserIr = R"(
@perpend_weights_net = external hidden constant [0 x i8]
@holder = internal global ptr @perpend_weights_net
define ptr @perpend_module_weights() {
  %p = load volatile ptr, ptr @holder
  ret ptr %p
}
)";

std::vector<char> countedBytes(size_t count) {
  std::vector<char> bytes(count);
  std::iota(bytes.begin(), bytes.end(), char(1));
  return bytes;
}

/// The value of a field of /proc/self/smaps for the mapping that holds `address`, or "" when there is none.
std::string mappingField(const void *address, const std::string &field) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      inside = begin <= uintptr_t(address) && uintptr_t(address) < end;
      if (inside && field == "permissions")
        return line.substr(line.find(' ') + 1, 4);
    } else if (inside && line.rfind(field + ":", 0) == 0) {
      return line.substr(line.find_first_of("0123456789"));
    }
  }
  return "";
}

} // namespace

TEST(WeightsObject, IsAValidObject) {
  const ScratchDirectory folder = testFolder();
  const std::vector<char> first = countedBytes(100), second = countedBytes(7);
  const WeightBlob blobs[] = {{0, first}, {128, second}};
  const TargetInfo target = expectValue(resolveTarget("x86-64-v3"));
  const std::string path = folder.pathOf("weights.o");
  const WeightsSummary summary = expectValue(writeWeights(path, "net", blobs, 192, target));
  EXPECT_EQ(summary.symbol, "perpend_weights_net");
  EXPECT_EQ(summary.byteCount, 192u);
  std::vector<char> expected(192, 0);
  std::copy(first.begin(), first.end(), expected.begin());
  std::copy(second.begin(), second.end(), expected.begin() + 128);
  EXPECT_EQ(summary.checksum, perpend::runtime::crc32c(expected.data(), expected.size()));

  const std::string bytes = readFile(path);
  auto file = expectValue(object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "weights")));
  bool found = false;
  for (const object::SectionRef &section : file->sections())
    if (expectValue(section.getName()) == ".perpend.weights") {
      found = true;
      EXPECT_EQ(expectValue(section.getContents()), StringRef(expected.data(), expected.size()));
      EXPECT_EQ(section.getAlignment(), Align(4096));
    }
  EXPECT_TRUE(found);
  unsigned symbols = 0;
  for (const object::ELFSymbolRef symbol : cast<object::ELFObjectFileBase>(*file).symbols()) {
    ++symbols;
    EXPECT_EQ(expectValue(symbol.getName()), "perpend_weights_net");
    EXPECT_EQ(symbol.getSize(), 192u);
    EXPECT_EQ(symbol.getOther(), ELF::STV_HIDDEN);
  }
  EXPECT_EQ(symbols, 1u);
}

TEST(WeightsObject, IsAValidObjectOfWebAssembly) {
  const ScratchDirectory folder = testFolder();
  const std::vector<char> first = countedBytes(100), second = countedBytes(7000);
  const WeightBlob blobs[] = {{0, first}, {128, second}};
  const TargetInfo target = expectValue(resolveTarget("wasm32"));
  const std::string path = folder.pathOf("weights.o");
  const WeightsSummary summary = expectValue(writeWeights(path, "net", blobs, 7168, target));
  const std::string bytes = readFile(path);
  auto file = expectValue(object::ObjectFile::createWasmObjectFile(MemoryBufferRef(bytes, "weights")));
  ASSERT_EQ(file->dataSegments().size(), 1u);
  const wasm::WasmDataSegment &segment = file->dataSegments()[0].Data;
  EXPECT_EQ(segment.Alignment, 6u) << "64 bytes";
  EXPECT_EQ(perpend::runtime::crc32c(segment.Content.data(), segment.Content.size()), summary.checksum);
  EXPECT_EQ(segment.Content.size(), 7168u);
  EXPECT_EQ(memcmp(segment.Content.data() + 128, second.data(), second.size()), 0);
  unsigned symbols = 0;
  for (const object::SymbolRef &symbol : file->symbols()) {
    ++symbols;
    const object::WasmSymbol &known = file->getWasmSymbol(symbol);
    EXPECT_EQ(known.Info.Name, "perpend_weights_net");
    EXPECT_TRUE(known.isDefined() && known.isTypeData() && known.isHidden());
    EXPECT_EQ(known.Info.DataRef.Size, 7168u);
  }
  EXPECT_EQ(symbols, 1u);
}

TEST(WeightsObject, AreMappedReadOnlyByPageAndShared) {
  const ScratchDirectory folder = testFolder();
  const std::vector<char> data = countedBytes(3 << 20);
  const WeightBlob blobs[] = {{4096, data}};
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  LinkRequest request;
  request.objects = {expectValue(folder.write("code.o", objectOf(weightsUserIr))), folder.pathOf("weights.o")};
  const WeightsSummary summary =
      expectValue(writeWeights(request.objects[1], "net", blobs, data.size() + 4096, target));
  request.output = folder.pathOf("model.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, target)), "");

  void *library = dlopen(request.output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  const auto weights = reinterpret_cast<const char *(*)()>(dlsym(library, "perpend_module_weights"))();
  EXPECT_EQ(uintptr_t(weights) % 4096, 0u);
  EXPECT_EQ(perpend::runtime::crc32c(weights, summary.byteCount), summary.checksum);
  EXPECT_EQ(weights[0], 0);
  EXPECT_EQ(memcmp(weights + 4096, data.data(), data.size()), 0);
  EXPECT_EQ(mappingField(weights + 4096, "permissions"), "r--p");
  EXPECT_EQ(mappingField(weights + 4096, "Anonymous"), "0 kB") << "pages of the file itself, which processes share";
  EXPECT_EQ(dlsym(library, "perpend_weights_net"), nullptr) << "hidden";
  dlclose(library);
}

TEST(WeightsObject, SharedWeightsLieOnce) {
  const ScratchDirectory folder = testFolder();
  const std::vector<char> first = countedBytes(100), second = countedBytes(7), none;
  const std::string path = folder.pathOf("w.o");
  SharedWeights weights(expectValue(WeightsFile::create(path, expectValue(resolveTarget("x86-64")))));
  EXPECT_EQ(weights.place(first), 0u);
  EXPECT_EQ(weights.place(second), 128u);
  EXPECT_EQ(weights.place(countedBytes(100)), 0u);
  EXPECT_EQ(weights.place(none), 192u);
  EXPECT_EQ(weights.place(countedBytes(8)), 192u);
  const WeightsSummary summary = expectValue(weights.finish("net"));
  EXPECT_EQ(summary.byteCount, 256u);
  std::vector<char> expected(256, 0);
  std::copy(first.begin(), first.end(), expected.begin());
  std::copy(second.begin(), second.end(), expected.begin() + 128);
  std::iota(expected.begin() + 192, expected.begin() + 200, char(1));
  EXPECT_EQ(summary.checksum, perpend::runtime::crc32c(expected.data(), expected.size()));
  const std::string bytes = readFile(path);
  auto file = expectValue(object::ObjectFile::createELFObjectFile(MemoryBufferRef(bytes, "weights")));
  for (const object::SectionRef &section : file->sections())
    if (expectValue(section.getName()) == ".perpend.weights")
      EXPECT_EQ(expectValue(section.getContents()), StringRef(expected.data(), expected.size()));
}

TEST(WeightsObject, EmptyIsFine) {
  const ScratchDirectory folder = testFolder();
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  const WeightsSummary summary = expectValue(writeWeights(folder.pathOf("w.o"), "net", {}, 0, target));
  EXPECT_EQ(summary.checksum, perpend::runtime::crc32c("", 0));
  LinkRequest request;
  request.objects = {expectValue(folder.write("code.o", objectOf(weightsUserIr))), folder.pathOf("w.o")};
  request.output = folder.pathOf("model.so");
  EXPECT_EQ(textOf(linkSharedLibrary(request, target)), "");
}

TEST(WeightsObject, W1BlobsOverlap) {
  const ScratchDirectory folder = testFolder();
  const std::vector<char> data = countedBytes(10);
  const WeightBlob blobs[] = {{0, data}, {9, data}};
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  const std::string text = textOf(writeWeights(folder.pathOf("w.o"), "net", blobs, 64, target).takeError());
  EXPECT_NE(text.find("blob 1 starts at 9, expected 10 or more (W1)"), std::string::npos) << text;
}

TEST(WeightsObject, W2BlobOutside) {
  const ScratchDirectory folder = testFolder();
  const std::vector<char> data = countedBytes(10);
  const WeightBlob blobs[] = {{0, data}, {60, data}};
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  const std::string text = textOf(writeWeights(folder.pathOf("w.o"), "net", blobs, 64, target).takeError());
  EXPECT_NE(text.find("blob 1 ends at 70, expected 64 or less (W2)"), std::string::npos) << text;
}

TEST(WeightsObject, AFullDiskIsAnError) {
  const std::vector<char> data = countedBytes(1 << 16);
  const WeightBlob blobs[] = {{0, data}};
  const TargetInfo target = expectValue(resolveTarget("x86-64-v2"));
  const std::string text = textOf(writeWeights("/dev/full", "net", blobs, data.size(), target).takeError());
  EXPECT_NE(text.find("cannot write weights to '/dev/full': No space left on device"), std::string::npos) << text;
}
