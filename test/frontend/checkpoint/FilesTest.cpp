//===- FilesTest.cpp - safetensors and GGUF files, well formed or not -----===//

#include "frontend/checkpoint/Gguf.h"
#include "frontend/checkpoint/Safetensors.h"

#include "llvm/Support/Endian.h"

#include <gtest/gtest.h>

using namespace perpend::checkpoint;

static std::shared_ptr<llvm::MemoryBuffer> bufferOf(const std::string &bytes) {
  return llvm::MemoryBuffer::getMemBufferCopy(bytes);
}

template <typename T> static std::string number(T value) {
  std::string bytes(sizeof(T), '\0');
  llvm::support::endian::write<T, llvm::endianness::little>(bytes.data(), value);
  return bytes;
}

static std::string text(const std::string &letters) { return number<uint64_t>(letters.size()) + letters; }

//===----------------------------------------------------------------------===//
// safetensors
//===----------------------------------------------------------------------===//

static std::string safetensors(const std::string &header, size_t dataBytes) {
  return number<uint64_t>(header.size()) + header + std::string(dataBytes, '\1');
}

static std::string errorOfSafetensors(const std::string &bytes) {
  StoredTensors tensors;
  std::string error;
  return readSafetensors(bufferOf(bytes), tensors, error) ? "" : error;
}

static const char *const twoTensors = R"({"__metadata__":{"format":"pt"},
  "b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})";

TEST(SafetensorsTest, tensorsLieInTheFile) {
  StoredTensors tensors;
  std::string error;
  auto file = bufferOf(safetensors(twoTensors, 16));
  ASSERT_TRUE(readSafetensors(file, tensors, error)) << error;
  EXPECT_EQ(tensors.size(), 2U);
  const StoredTensor *matrix = tensors.find("b");
  ASSERT_TRUE(matrix);
  EXPECT_EQ(describe(*matrix), "BF16 [2, 3]");
  EXPECT_EQ(matrix->bytes.size(), 12U);
  EXPECT_EQ(matrix->offset(), file->getBufferSize() - 12);
  EXPECT_EQ(tensors.unused().size(), 2U);
  EXPECT_TRUE(tensors.use("a"));
  ASSERT_EQ(tensors.unused().size(), 1U);
  EXPECT_EQ(tensors.unused()[0], "b");
}

TEST(SafetensorsTest, everyTypeHasItsSize) {
  for (auto [type, bytes] : {std::pair("F64", 32),
                             {"I64", 32},
                             {"U64", 32},
                             {"C64", 32},
                             {"F32", 16},
                             {"I32", 16},
                             {"U32", 16},
                             {"F16", 8},
                             {"BF16", 8},
                             {"I16", 8},
                             {"U16", 8},
                             {"I8", 4},
                             {"U8", 4},
                             {"BOOL", 4},
                             {"F8_E4M3", 4},
                             {"F8_E5M2", 4},
                             {"F8_E8M0", 4},
                             {"F6_E2M3", 3},
                             {"F4", 2}}) {
    std::string header = std::string(R"({"a":{"dtype":")") + type + R"(","shape":[4],"data_offsets":[0,)" +
                         std::to_string(bytes) + "]}}";
    EXPECT_EQ(errorOfSafetensors(safetensors(header, bytes)), "") << type;
  }
}

TEST(SafetensorsTest, everyTruncationIsAnError) {
  std::string whole = safetensors(twoTensors, 16);
  EXPECT_EQ(errorOfSafetensors(whole), "");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(errorOfSafetensors(whole.substr(0, size)), "") << size;
}

TEST(SafetensorsTest, hostileHeaders) {
  auto errorOf = [](const std::string &entry, size_t bytes = 8) {
    return errorOfSafetensors(safetensors(R"({"a":)" + entry + "}", bytes));
  };
  auto entry = [](const char *shape, const char *offsets) {
    return std::string(R"({"dtype":"F32","shape":)") + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  EXPECT_EQ(errorOf(entry("[2]", "[0,8]")), "");
  EXPECT_NE(errorOf(entry("[4294967296,4294967296]", "[0,0]")), "");
  EXPECT_NE(errorOf(entry("[4611686018427387904]", "[0,0]")), "");
  EXPECT_NE(errorOf(entry("[-1,-2]", "[0,8]")), "");
  EXPECT_NE(errorOf(entry("[1.5]", "[0,6]")), "");
  EXPECT_NE(errorOf(entry("[2]", "[8,0]")), "");
  EXPECT_NE(errorOf(entry("[2]", "[-8,0]")), "");
  EXPECT_NE(errorOf(entry("[2]", "[18446744073709551608,18446744073709551616]")), "");
  EXPECT_NE(errorOf(entry("[1]", "[4,8]")), "") << "a gap";
  EXPECT_NE(errorOf(entry("[1]", "[0,4]")), "") << "bytes behind the last";
  EXPECT_NE(errorOf("[]"), "");
  EXPECT_NE(errorOfSafetensors(number<uint64_t>(~uint64_t(0)) + "{}"), "");
  std::string deep = std::string(100000, '[');
  EXPECT_NE(errorOfSafetensors(safetensors(R"({"a":)" + deep, 0)).find("nested"), std::string::npos);
  std::string overlap = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                        R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  EXPECT_NE(errorOfSafetensors(safetensors(overlap, 8)), "");
}

//===----------------------------------------------------------------------===//
// GGUF
//===----------------------------------------------------------------------===//

namespace {
/// Pieces of a file, to be changed by tests.
struct File {
  uint32_t version = 3;
  std::vector<std::string> pairs, tensors;
  size_t dataBytes = 0, alignment = 32;

  void pair(const std::string &key, uint32_t type, const std::string &value) {
    pairs.push_back(text(key) + number<uint32_t>(type) + value);
  }
  void tensor(const std::string &name, std::initializer_list<uint64_t> extents, uint32_t type, uint64_t offset) {
    std::string entry = text(name) + number<uint32_t>(extents.size());
    for (uint64_t extent : extents)
      entry += number<uint64_t>(extent);
    tensors.push_back(entry + number<uint32_t>(type) + number<uint64_t>(offset));
  }
  std::string bytes() const {
    std::string result =
        "GGUF" + number<uint32_t>(version) + number<uint64_t>(tensors.size()) + number<uint64_t>(pairs.size());
    for (const auto *list : {&pairs, &tensors})
      for (const std::string &entry : *list)
        result += entry;
    result.resize((result.size() + alignment - 1) / alignment * alignment);
    return result + std::string(dataBytes, '\2');
  }
};
} // namespace

static File small() {
  File file;
  file.pair("general.architecture", 8, text("llama"));
  file.pair("list", 9,
            number<uint32_t>(5) + number<uint64_t>(3) + number<int32_t>(-1) + number<int32_t>(2) + number<int32_t>(3));
  file.pair("tokens", 9, number<uint32_t>(8) + number<uint64_t>(2) + text("a") + text("bc"));
  file.tensor("a", {5, 2}, 0, 0);
  file.tensor("b", {64}, 2, 64);
  file.dataBytes = 64 + 36;
  return file;
}

static std::string errorOfGguf(const std::string &bytes) {
  StoredTensors tensors;
  std::string error;
  return readGguf(bufferOf(bytes), tensors, error) ? "" : error;
}

TEST(GgufTest, metadataAndTensors) {
  for (uint32_t version : {2U, 3U}) {
    File source = small();
    source.version = version;
    StoredTensors tensors;
    std::string error;
    auto file = bufferOf(source.bytes());
    std::optional<Metadata> metadata = readGguf(file, tensors, error);
    ASSERT_TRUE(metadata) << error;
    EXPECT_EQ(metadata->values.getString("general.architecture"), "llama");
    EXPECT_EQ((*metadata->values.getArray("list"))[0].getAsInteger(), -1);
    EXPECT_EQ(metadata->values.getObject("tokens")->getInteger("length"), 2);
    EXPECT_EQ(describe(*tensors.find("a")), "F32 [2, 5]");
    EXPECT_EQ(describe(*tensors.find("b")), "Q4_0 [64]");
    EXPECT_EQ(tensors.find("b")->bytes.size(), 36U);
    EXPECT_EQ(tensors.find("b")->offset(), file->getBufferSize() - 36);
  }
}

TEST(GgufTest, everyTypeOfMetadata) {
  File file;
  file.pair("u8", 0, number<uint8_t>(200));
  file.pair("i8", 1, number<int8_t>(-3));
  file.pair("u16", 2, number<uint16_t>(60000));
  file.pair("i16", 3, number<int16_t>(-300));
  file.pair("u32", 4, number<uint32_t>(4000000000U));
  file.pair("i32", 5, number<int32_t>(-70000));
  file.pair("f32", 6, number<float>(0.5F));
  file.pair("bool", 7, number<uint8_t>(1));
  file.pair("text", 8, text("x"));
  file.pair("u64", 10, number<uint64_t>(~uint64_t(0)));
  file.pair("i64", 11, number<int64_t>(-5));
  file.pair("f64", 12, number<double>(0.25));
  StoredTensors tensors;
  std::string error;
  std::optional<Metadata> metadata = readGguf(bufferOf(file.bytes()), tensors, error);
  ASSERT_TRUE(metadata) << error;
  llvm::json::Object expected{{"u8", 200},     {"i8", -3},   {"u16", 60000},        {"i16", -300},
                              {"i32", -70000}, {"f32", 0.5}, {"u32", 4000000000LL}, {"bool", true},
                              {"text", "x"},   {"i64", -5},  {"f64", 0.25},         {"u64", ~uint64_t(0)}};
  EXPECT_EQ(llvm::json::Value(std::move(metadata->values)), llvm::json::Value(std::move(expected)));
}

TEST(GgufTest, everyTruncationIsAnError) {
  std::string whole = small().bytes();
  EXPECT_EQ(errorOfGguf(whole), "");
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(errorOfGguf(whole.substr(0, size)), "") << size;
}

TEST(GgufTest, hostileFiles) {
  auto changed = [](auto change) {
    File file = small();
    file.dataBytes = 160;
    change(file);
    return errorOfGguf(file.bytes());
  };
  constexpr uint64_t huge = uint64_t(1) << 62;
  EXPECT_EQ(changed([](File &) {}), "");
  EXPECT_NE(changed([](File &f) { f.version = 1; }), "");
  EXPECT_NE(changed([](File &f) { f.version = 0x03000000; }).find("big endian"), std::string::npos);
  EXPECT_NE(changed([](File &f) { f.pair("list", 7, number<uint8_t>(0)); }).find("twice"), std::string::npos);
  EXPECT_NE(changed([](File &f) { f.pair("x", 13, ""); }), "");
  EXPECT_NE(changed([](File &f) { f.pair("x", 8, number<uint64_t>(huge)); }), "");
  EXPECT_NE(changed([](File &f) { f.pair("x", 9, number<uint32_t>(9) + number<uint64_t>(1)); }), "") << "nested";
  for (uint32_t type : {0U, 6U, 8U, 12U})
    EXPECT_NE(changed([=](File &f) { f.pair("x", 9, number<uint32_t>(type) + number<uint64_t>(huge)); }), "");
  for (uint32_t alignment : {0U, 3U, 1U << 31})
    EXPECT_NE(changed([=](File &f) { f.pair("general.alignment", 4, number<uint32_t>(alignment)); }), "");
  EXPECT_NE(changed([](File &f) { f.pair("general.alignment", 4, number<uint32_t>(1U << 30)); }), "");
  EXPECT_NE(changed([](File &f) { f.pair("general.alignment", 8, text("32")); }), "");
  EXPECT_NE(changed([](File &f) { f.tensor("a", {1}, 0, 128); }).find("two tensors"), std::string::npos);
  EXPECT_NE(changed([](File &f) { f.tensor("c", {1, 1, 1, 1, 1}, 0, 128); }), "");
  EXPECT_NE(changed([](File &f) { f.tensor("c", {33}, 2, 128); }).find("whole blocks"), std::string::npos);
  EXPECT_NE(changed([](File &f) { f.tensor("c", {huge, 8}, 0, 128); }), "") << "wraps";
  EXPECT_NE(changed([](File &f) { f.tensor("c", {huge}, 0, 128); }), "") << "bytes wrap";
  EXPECT_NE(changed([](File &f) { f.tensor("c", {~uint64_t(0)}, 24, 128); }), "");
  EXPECT_NE(changed([](File &f) { f.tensor("c", {1}, 0, 64); }).find("offset 128"), std::string::npos);
  EXPECT_NE(changed([](File &f) { f.tensor("c", {1}, 0, huge); }), "");
  EXPECT_NE(changed([](File &f) { f.tensor("c", {1}, 99, 128); }).find("number 99"), std::string::npos);
  EXPECT_NE(changed([](File &f) { f.tensor("\xff", {1}, 0, 128); }), "");
}

TEST(GgufTest, alignment) {
  File file;
  file.pair("general.alignment", 4, number<uint32_t>(64));
  file.alignment = 64;
  file.tensor("a", {1}, 0, 0);
  file.tensor("b", {1}, 0, 64);
  file.dataBytes = 68;
  EXPECT_EQ(errorOfGguf(file.bytes()), "");
}
