//===- ArtifactTest.cpp - A whole model: code, weights, runtime -----------===//
//
// y = x + w on four numbers, as the compiler will make it: the module in LLVM IR, w in the weights object, the runtime
// linked in. Loaded and run through the C interface of another copy of the runtime, and as an executable.
//
//===----------------------------------------------------------------------===//
#include "../runtime/FakeTables.h"
#include "TestModules.h"
#include "perpend.h"
#include "target/WeightsObject.h"
#include "target/cpu/Architecture.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

using namespace llvm;
using namespace perpend::target;

namespace {

constexpr const char *moduleIr = R"(
%module = type { i64, i32, i32, ptr, ptr, i64, ptr, ptr, ptr, ptr, ptr, ptr }
@perpend_weights_sum = external hidden constant [16 x i8]
@tables = private constant [{0} x i8] c"{1}", align 8
@module = internal constant %module { i64 4921959757226791504, i32 10, i32 {0}, ptr @tables, ptr @perpend_weights_sum, i64 16,
  ptr @bind, ptr @sizes, ptr @run, ptr null, ptr null, ptr null }
define ptr @perpend_module_main() {
  ret ptr @module
}
define internal i32 @bind(ptr %dims, ptr %symbols, ptr %error) {
  ret i32 0
}
define internal void @sizes(ptr %symbols, ptr %bytes, ptr %dims) {
  store i64 4, ptr %dims
  ret void
}
define internal i32 @run(ptr %frame) {
  %inputs = load ptr, ptr %frame
  %x = load ptr, ptr %inputs
  %outputsField = getelementptr ptr, ptr %frame, i64 1
  %outputs = load ptr, ptr %outputsField
  %y = load ptr, ptr %outputs
  %weightsField = getelementptr ptr, ptr %frame, i64 2
  %w = load ptr, ptr %weightsField
  %vx = load <4 x float>, ptr %x, align 4
  %vw = load <4 x float>, ptr %w, align 4
  %vy = fadd <4 x float> %vx, %vw
  store <4 x float> %vy, ptr %y, align 4
  ret i32 0
}
)";

/// The module's IR with these tables.
std::string irWithTables(StringRef tables) {
  std::string escaped, ir = moduleIr;
  for (char c : tables)
    escaped += "\\" + toHex(StringRef(&c, 1));
  const std::string values[] = {std::to_string(tables.size()), escaped};
  for (size_t i = 0; i < 2; ++i) {
    const std::string mark = "{" + std::to_string(i) + "}"; // formatv cannot be used on text full of braces
    for (size_t at; (at = ir.find(mark)) != std::string::npos;)
      ir.replace(at, mark.size(), values[i]);
  }
  return ir;
}

/// Objects of the model, with `checksumChange` added to the checksum in the tables.
LinkRequest modelRequest(const ScratchDirectory &folder, const TargetInfo &target, uint32_t checksumChange = 0) {
  const float weights[] = {10, 20, 30, 40};
  const WeightBlob blobs[] = {{0, ArrayRef(reinterpret_cast<const char *>(weights), sizeof(weights))}};
  LinkRequest request;
  request.objects = {folder.pathOf("weights.o")};
  const WeightsSummary summary = expectValue(writeWeights(request.objects[0], "sum", blobs, 16, target));
  fake::Tables tables;
  fake::describe(tables, "sum");
  SmallVector<uint32_t> isa;
  for (const std::string &name : extensionsOf(target))
    isa.push_back(tables.text(name.c_str()));
  tables.head.isa = tables.records(isa.data(), static_cast<uint32_t>(isa.size()));
  tables.entry.inputs = tables.records({tables.tensor("x", PERPEND_F32, {"4"})});
  tables.entry.outputs = tables.records({tables.tensor("y", PERPEND_F32, {"4"})});
  tables.entry.arenaBytes = 0;
  tables.segment.bytes = 16;
  tables.segment.checksum = summary.checksum + checksumChange;
  tables.segment.hasChecksum = 1;
  perpend_module module = {};
  tables.finish(module);
  const StringRef bytes(reinterpret_cast<const char *>(module.tables), module.tablesBytes);
  request.objects.push_back(
      expectValue(folder.write("module.o", objectOf(irWithTables(bytes).c_str(), target.name.c_str()))));
  return request;
}

struct RuntimeDirectory {
  RuntimeDirectory() { setenv("PERPEND_RUNTIME_DIR", TEST_RUNTIME_DIR, 1); }
  ~RuntimeDirectory() { unsetenv("PERPEND_RUNTIME_DIR"); }
};

} // namespace

TEST(Artifact, ASharedLibraryRunsThroughTheRuntime) {
  const RuntimeDirectory directory;
  const ScratchDirectory folder = testFolder();
  const TargetInfo target = expectValue(resolveTarget("host"));
  LinkRequest request = modelRequest(folder, target);
  request.archives = {expectValue(runtimeFilePath())};
  request.output = folder.pathOf("sum.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, target)), "");

  perpend_model *model = nullptr;
  ASSERT_EQ(perpend_model_load(request.output.c_str(), &model), PERPEND_OK) << perpend_error_message();
  EXPECT_STREQ(perpend_model_name(model), "sum");
  EXPECT_EQ(perpend_model_verify(model), PERPEND_OK) << perpend_error_message();
  perpend_session *session = nullptr;
  ASSERT_EQ(perpend_session_create(model, nullptr, &session), PERPEND_OK) << perpend_error_message();
  float x[4] = {1, 2, 3, 4};
  const int64_t shape[] = {4};
  const perpend_tensor input = {x, shape, 1, PERPEND_F32};
  perpend_tensor output = {nullptr, nullptr, 0, PERPEND_F32};
  ASSERT_EQ(perpend_session_run(session, &input, 1, &output, 1), PERPEND_OK) << perpend_error_message();
  const float *y = static_cast<const float *>(output.data);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{11, 22, 33, 44}));
  perpend_session_free(session);
  perpend_model_free(model);
}

TEST(Artifact, DamagedWeightsAreRefused) {
  const RuntimeDirectory directory;
  const ScratchDirectory folder = testFolder();
  const TargetInfo target = expectValue(resolveTarget("host"));
  LinkRequest request = modelRequest(folder, target, /*checksumChange=*/1);
  request.archives = {expectValue(runtimeFilePath())};
  request.output = folder.pathOf("damaged.so");
  ASSERT_EQ(textOf(linkSharedLibrary(request, target)), "");
  perpend_model *model = nullptr;
  EXPECT_EQ(perpend_model_load(request.output.c_str(), &model), PERPEND_CORRUPT);
}

TEST(Artifact, AnExecutableHasTheRuntimesMain) {
  const RuntimeDirectory directory;
  const ScratchDirectory folder = testFolder();
  const TargetInfo target = expectValue(resolveTarget("host"));
  LinkRequest request = modelRequest(folder, target);
  request.archives = {expectValue(runtimeFilePath("libperpend_main.a")), expectValue(runtimeFilePath())};
  request.output = folder.pathOf("sum");
  ASSERT_EQ(textOf(linkExecutable(request, target)), "");
  const std::string out = folder.pathOf("out");
  const std::optional<StringRef> redirects[] = {std::nullopt, StringRef(out), StringRef(out)};
  const int status = sys::ExecuteAndWait(request.output, {request.output, "--help"}, std::nullopt, redirects, 10);
  EXPECT_EQ(status, 0);
  EXPECT_NE(readFile(out).find("usage"), std::string::npos) << readFile(out);
}

TEST(Artifact, AStaticLibraryHoldsTheRuntime) {
  const RuntimeDirectory directory;
  const ScratchDirectory folder = testFolder();
  const TargetInfo target = expectValue(resolveTarget("host"));
  LinkRequest request = modelRequest(folder, target);
  request.archives = {expectValue(runtimeFilePath())};
  request.output = folder.pathOf("sum.a");
  ASSERT_EQ(textOf(writeStaticLibrary(request)), "");
  LinkRequest fromArchive;
  fromArchive.archives = {request.output, expectValue(runtimeFilePath("libperpend_main.a"))};
  fromArchive.output = folder.pathOf("sum");
  EXPECT_EQ(textOf(linkExecutable(fromArchive, target)), "");
}
