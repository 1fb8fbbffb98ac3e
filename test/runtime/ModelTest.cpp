#include "Checksum.h"
#include "FakeModel.h"
#include "Isa.h"
#include "perpend_process.h"
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace perpend::runtime;

// A module with another descriptor.
struct Candidate {
  explicit Candidate(std::string text) : descriptor(std::move(text)) {
    module.descriptor = descriptor.c_str();
    module.descriptorBytes = descriptor.size();
  }
  perpend_status open() {
    perpend_model *model = nullptr;
    perpend_status status = perpend_model_from_module(&module, &model);
    EXPECT_EQ(model != nullptr, status == PERPEND_OK);
    perpend_model_free(model);
    return status;
  }
  std::string descriptor;
  perpend_module module = fake::makeModule();
};

static std::string withTail(const std::string &extra) {
  return FAKE_HEAD FAKE_INPUTS FAKE_OUTPUTS FAKE_TAIL + extra + "}";
}

static void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

TEST(Model, Introspection) {
  Candidate candidate(fake::descriptor);
  perpend_model *model = nullptr;
  ASSERT_EQ(perpend_model_from_module(&candidate.module, &model), PERPEND_OK) << perpend_error_message();
  EXPECT_STREQ(perpend_model_name(model), "fake");
  EXPECT_STREQ(perpend_model_descriptor(model), fake::descriptor);
  EXPECT_EQ(perpend_model_input_count(model), 2);
  EXPECT_EQ(perpend_model_output_count(model), 2);
  const perpend_tensor_info *y = perpend_model_input(model, 1);
  EXPECT_STREQ(y->name, "y");
  EXPECT_EQ(y->type, PERPEND_F32);
  EXPECT_EQ(y->rank, 2);
  EXPECT_EQ(y->dims[0], -1);
  EXPECT_EQ(y->dims[1], 3);
  EXPECT_STREQ(y->dimTexts[0], "n");
  EXPECT_STREQ(y->dimTexts[1], "3");
  EXPECT_EQ(perpend_model_input(model, 2), nullptr);
  EXPECT_EQ(perpend_model_output(model, -1), nullptr);
  EXPECT_EQ(perpend_model_kernel_count(model), 3);
  EXPECT_STREQ(perpend_model_kernel_name(model, 1), "k1_scale");
  int32_t index = -1;
  EXPECT_EQ(perpend_model_find_output(model, "rows", &index), PERPEND_OK);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(perpend_model_find_input(model, "w", &index), PERPEND_INVALID_ARGUMENT);
  expectMessage("input: expected one of 'x', 'y', got 'w'");
  perpend_model_free(model);
}

TEST(Model, WeightsOfAnotherProcess) {
  const int64_t here = perpend_process_number();
  const auto withProcess = [](int64_t number) { return withTail(",\"process\":" + std::to_string(number)); };
  EXPECT_EQ(Candidate(withProcess(here)).open(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(Candidate(withProcess(here ^ 1)).open(), PERPEND_INCOMPATIBLE);
  expectMessage("model 'fake': its weights are in the memory of the process that compiled it");
}

TEST(Model, TypeNamesAndSizes) {
  EXPECT_STREQ(perpend_type_name(PERPEND_BF16), "bf16");
  EXPECT_STREQ(perpend_type_name(PERPEND_BOOL), "bool");
  EXPECT_STREQ(perpend_type_name(static_cast<perpend_type>(99)), "?");
  EXPECT_EQ(perpend_type_size_bytes(PERPEND_I64), 8);
  EXPECT_EQ(perpend_type_size_bytes(PERPEND_U4), 1);
  EXPECT_STREQ(perpend_type_name(PERPEND_I2), "i2");
  EXPECT_STREQ(perpend_type_name(PERPEND_F8E5M2FNUZ), "f8e5m2fnuz");
  EXPECT_STREQ(perpend_type_name(PERPEND_F4E2M1FN), "f4e2m1fn");
  EXPECT_EQ(perpend_type_size_bytes(PERPEND_F4E2M1FN), 1);
}

TEST(Model, RefusesAnotherMagicOrAbi) {
  Candidate candidate(fake::descriptor);
  candidate.module.magic ^= 1;
  EXPECT_EQ(candidate.open(), PERPEND_INCOMPATIBLE);
  expectMessage("magic: expected 444e505250455250");
  candidate.module.magic ^= 1;
  candidate.module.abi = 99;
  EXPECT_EQ(candidate.open(), PERPEND_INCOMPATIBLE);
  expectMessage("ABI version: expected 5, got 99");
}

TEST(Model, RefusesMissingInstructionSets) {
  Candidate candidate(withTail(R"(,"isa":["sse4.2","quantum512"])"));
  EXPECT_EQ(candidate.open(), PERPEND_UNSUPPORTED_CPU);
  expectMessage("model 'fake' needs quantum512, which this machine lacks; hint: ");
}

#if defined(__x86_64__)
TEST(Model, KnowsTheInstructionSetsThatTheCompilerKnows) {
  EXPECT_EQ(hasInstructionSet("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(hasInstructionSet("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(hasInstructionSet("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(hasInstructionSet("avx512vnni"), __builtin_cpu_supports("avx512vnni") != 0);
  EXPECT_EQ(hasInstructionSet("avx512bf16"), __builtin_cpu_supports("avx512bf16") != 0);
  EXPECT_EQ(hasInstructionSet("sse4.2"), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_FALSE(hasInstructionSet(""));
  EXPECT_FALSE(hasInstructionSet("64bit"));
}
#endif

TEST(Model, ChecksumIsCrc32c) {
  EXPECT_EQ(crc32c("123456789", 9), 0xe3069283u);
  EXPECT_EQ(crc32c("56789", 5, crc32c("1234", 4)), 0xe3069283u);
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(crc32c(bytes.data(), bytes.size()), crc32cPortable(bytes.data(), bytes.size()));
    bytes += static_cast<char>(i * 37);
  }
}

TEST(Model, VerifiesTheChecksum) {
  char sum[16];
  snprintf(sum, sizeof sum, "%08x", crc32c(fake::weights, sizeof fake::weights));
  EXPECT_EQ(Candidate(withTail(R"(,"weightsChecksum":")" + std::string(sum) + "\"")).open(), PERPEND_OK)
      << perpend_error_message();
  EXPECT_EQ(Candidate(withTail(R"(,"weightsChecksum":"00000000")")).open(), PERPEND_CORRUPT);
  expectMessage("weights: checksum: expected 00000000, got ");
}

TEST(Model, RefusesDescriptorsThatDoNotMatchTheModule) {
  EXPECT_EQ(Candidate(FAKE_HEAD R"("inputs":[],)" FAKE_OUTPUTS FAKE_TAIL "}").open(), PERPEND_CORRUPT);
  expectMessage("number of inputs: expected 2, got 0");
  EXPECT_EQ(Candidate(FAKE_HEAD FAKE_INPUTS FAKE_TAIL "}").open(), PERPEND_CORRUPT);
  expectMessage("expected key \"outputs\", got none");
  EXPECT_EQ(Candidate(withTail(R"(,"weightsBytes":4)")).open(), PERPEND_CORRUPT) << "a key twice";
  Candidate other(fake::descriptor);
  other.module.weightsBytes = 3;
  EXPECT_EQ(other.open(), PERPEND_CORRUPT);
  expectMessage("weightsBytes: expected 3, got 4");
  other.module.kernelCount = 4000000000u;
  EXPECT_EQ(other.open(), PERPEND_CORRUPT);
}

TEST(Model, OnlySymbolsRepeat) {
  auto open = [](const char *repeats) {
    std::string text = fake::descriptor;
    text.insert(text.find("\"type\""), std::string("\"repeats\":") + repeats + ",");
    return Candidate(text).open();
  };
  EXPECT_EQ(open("[0]"), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(open("[]"), PERPEND_OK) << perpend_error_message();
  for (const char *bad : {"[1]", "[2]", "[31]"}) {
    EXPECT_EQ(open(bad), PERPEND_CORRUPT) << bad;
    expectMessage("which is no symbol");
  }
  for (const char *bad : {"[-1]", "[32]", "0", "[\"n\"]"})
    EXPECT_EQ(open(bad), PERPEND_CORRUPT) << bad;
}

TEST(Model, ReadsAllOfJson) {
  EXPECT_EQ(Candidate(withTail(R"( , "note" : {"a": [1.5e-3, null, true, {"b": "\"\\\u00e9\ud83d\ude00"}], "c":{}} )"))
                .open(),
            PERPEND_OK)
      << perpend_error_message();
  for (const char *bad : {",", ",\"a\"", ",\"a\":", ",\"a\":1,", ",\"a\":[1,]", ",\"a\":\"\\x\"", ",\"a\":\"\\ud800\"",
                          ",\"a\":\"\n\"", ",\"weightsBytes\":4", ",\"isa\":[1]", "}", ",\"a\":\"\\u0000\"",
                          ",\"a\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]"})
    EXPECT_EQ(Candidate(withTail(bad)).open(), PERPEND_CORRUPT) << bad;
}

TEST(Model, MutatedDescriptorsNeverCrash) {
  std::mt19937 random(11);
  const std::string original = withTail(R"(,"note":"\u00e9\n","isa":["sse3"],"weightsChecksum":"00000000")");
  const std::string alphabet = "\"\\{}[]:,0123456789-eun x\n";
  for (int round = 0; round < 20000; ++round) {
    std::string text = original;
    for (unsigned edits = 1 + random() % 4; edits; --edits) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 8);
      else
        text[at] = random() % 2 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
    }
    Candidate(text).open();
  }
}
