#include "Checksum.h"
#include "FakeModel.h"
#include "Isa.h"
#include "ReadModel.h"
#include "perpend_process.h"
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace perpend::runtime;

// The fake model with other tables.
struct Candidate {
  explicit Candidate(void (*change)(fake::Tables &tables) = nullptr) {
    fake::describe(tables);
    if (change)
      change(tables);
    tables.finish(module);
  }
  perpend_status open() { return fake::readModel(module); }
  std::string bytes() { return {reinterpret_cast<const char *>(module.tables), module.tablesBytes}; }

  fake::Tables tables;
  perpend_module module = fake::makeCode();
};

static void expectMessage(const char *part) {
  EXPECT_NE(std::string(perpend_error_message()).find(part), std::string::npos) << perpend_error_message();
}

TEST(Model, Introspection) {
  Candidate candidate;
  perpend_model *model = nullptr;
  ASSERT_EQ(perpend_model_from_module(&candidate.module, &model), PERPEND_OK) << perpend_error_message();
  EXPECT_STREQ(perpend_model_name(model), "fake");
  EXPECT_STREQ(perpend_model_descriptor(model), "{}");
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
  const auto here = [](fake::Tables &tables) { tables.head.process = perpend_process_number(); };
  const auto elsewhere = [](fake::Tables &tables) { tables.head.process = perpend_process_number() ^ 1; };
  EXPECT_EQ(Candidate(here).open(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(Candidate(elsewhere).open(), PERPEND_INCOMPATIBLE);
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
  Candidate candidate;
  candidate.module.magic ^= 1;
  EXPECT_EQ(candidate.open(), PERPEND_INCOMPATIBLE);
  expectMessage("magic: expected 444e505250455250");
  candidate.module.magic ^= 1;
  candidate.module.abi = 99;
  EXPECT_EQ(candidate.open(), PERPEND_INCOMPATIBLE);
  expectMessage("ABI version: expected 10, got 99");
}

TEST(Model, RefusesMissingInstructionSets) {
  Candidate candidate([](fake::Tables &tables) { tables.head.isa = tables.texts({"sse4.2", "quantum512"}); });
  EXPECT_EQ(candidate.open(), PERPEND_UNSUPPORTED_CPU);
  expectMessage("model 'fake' was compiled for the target x86-64 and needs quantum512, which this machine lacks; hint: "
                "compile it for this machine");
  Candidate other([](fake::Tables &tables) {
    tables.head.isa = tables.texts({"quantum512"});
    tables.head.hint = tables.text("wait some years");
  });
  EXPECT_EQ(other.open(), PERPEND_UNSUPPORTED_CPU);
  expectMessage("model 'fake' needs quantum512; hint: wait some years");
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

TEST(Model, InstructionSetsAreTheSameInEachThread) {
  static const char *const names[] = {"avx2",       "fma",      "avx512f", "avx512vnni",
                                      "avx512bf16", "amx-tile", "lzcnt",   "none"};
  std::atomic<int> waiting{8};
  bool found[8][std::size(names)];
  std::vector<std::thread> threads;
  for (auto &row : found)
    threads.emplace_back([&] {
      for (--waiting; waiting;) {
      }
      for (size_t i = 0; i < std::size(names); ++i)
        row[i] = hasInstructionSet(names[i]);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &row : found)
    for (size_t i = 0; i < std::size(names); ++i)
      EXPECT_EQ(row[i], hasInstructionSet(names[i])) << names[i];
  EXPECT_FALSE(found[0][std::size(names) - 1]);
}

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
  Candidate candidate([](fake::Tables &tables) {
    tables.segment.hasChecksum = 1;
    tables.segment.checksum = crc32c(fake::weights, sizeof fake::weights);
  });
  EXPECT_EQ(candidate.open(), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(Candidate([](fake::Tables &tables) { tables.segment.hasChecksum = 1; }).open(), PERPEND_CORRUPT);
  expectMessage("weights: checksum: expected 00000000, got ");
}

TEST(Model, RefusesAModuleThatLacksSomething) {
  Candidate candidate;
  candidate.module.tables = nullptr;
  EXPECT_EQ(candidate.open(), PERPEND_CORRUPT);
  expectMessage("module: a required field is missing");
  Candidate noWeights;
  noWeights.module.weights = nullptr;
  EXPECT_EQ(noWeights.open(), PERPEND_CORRUPT);
  expectMessage("module: a required field is missing");
  for (uint64_t bytes : {0, 3, 5}) {
    Candidate other;
    other.module.weightsBytes = bytes;
    EXPECT_EQ(other.open(), PERPEND_CORRUPT);
    expectMessage("tables: segments: ");
  }
  Candidate unaligned;
  std::string moved = " " + unaligned.bytes();
  unaligned.module.tables = reinterpret_cast<const perpend_tables *>(&moved[1]);
  EXPECT_EQ(unaligned.open(), PERPEND_CORRUPT);
  expectMessage("tables: expected at least ");
}

// One change, and the part that the error names.
static void expectRefused(const char *part, void (*change)(fake::Tables &tables)) {
  EXPECT_EQ(Candidate(change).open(), PERPEND_CORRUPT) << part;
  expectMessage(
      (std::string("tables: ") + part + ": expected the format of perpend_tables.h, got something else").c_str());
}

TEST(Model, RefusesPositionsOutsideOfTheTables) {
  expectRefused("name", [](fake::Tables &tables) { tables.head.name = 0; });
  expectRefused("name", [](fake::Tables &tables) { tables.head.name = 5000; });
  expectRefused("target", [](fake::Tables &tables) { tables.head.target = UINT32_MAX; });
  expectRefused("hint", [](fake::Tables &tables) { tables.head.hint = 5000; });
  expectRefused("descriptor", [](fake::Tables &tables) { tables.head.descriptor = 0; });
  expectRefused("isa", [](fake::Tables &tables) { tables.head.isa = {8, UINT32_MAX}; });
  expectRefused("isa", [](fake::Tables &tables) { tables.head.isa = tables.records<uint32_t>({5000}); });
  expectRefused("kernels", [](fake::Tables &tables) { tables.head.kernels.position += 1; });
  expectRefused("kernels", [](fake::Tables &tables) { tables.head.kernels.count = 4000000000u; });
  expectRefused("texts",
                [](fake::Tables &tables) { tables.head.texts = tables.records<perpend_text_record>({{8, 1}}); });
  expectRefused("texts", [](fake::Tables &tables) {
    tables.head.texts = tables.records<perpend_text_record>({{8, 0}, {8, UINT32_MAX}});
  });
  expectRefused("entry", [](fake::Tables &tables) { tables.entry.name = 0; });
  expectRefused("symbols", [](fake::Tables &tables) { tables.entry.symbols.position = UINT32_MAX - 3; });
  expectRefused("inputs", [](fake::Tables &tables) { tables.entry.inputs.count = 1000000; });
  expectRefused("outputs", [](fake::Tables &tables) { tables.entry.outputs.position = UINT32_MAX; });
}

template <typename Change> static void changeInput(fake::Tables &tables, Change change) {
  perpend_tensor_record input = tables.tensor("x", PERPEND_F32, {"n", "3"});
  change(input);
  tables.entry.inputs = tables.records({input});
}

TEST(Model, RefusesTensorsThatAreNone) {
  const auto expectInput = [](void (*change)(fake::Tables &tables)) { expectRefused("inputs", change); };
  expectInput([](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.name = 0; }); });
  expectInput([](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.type = PERPEND_TYPE_COUNT; }); });
  expectInput([](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.type = UINT32_MAX; }); });
  expectInput([](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.rank = -1; }); });
  expectInput(
      [](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.rank = PERPEND_MAX_RANK + 1; }); });
  expectInput([](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.dims += 4; }); });
  expectInput([](fake::Tables &tables) { changeInput(tables, [](auto &input) { input.dimTexts = 6000; }); });
  expectInput([](fake::Tables &tables) {
    changeInput(tables, [&](auto &input) { input.dims = tables.records<int64_t>({-2, 3}).position; });
  });
}

static void nestElements(fake::Tables &tables, int depth) {
  perpend_tensor_record record = tables.tensor("", PERPEND_SEQUENCE, {});
  for (int i = 0; i < depth; ++i) {
    record.name = 0;
    record.element = tables.records({record}).position;
  }
  record.name = tables.text("list");
  tables.entry.inputs = tables.records({record});
}

TEST(Model, ListsOfListsHaveAnEnd) {
  EXPECT_EQ(Candidate([](fake::Tables &tables) { nestElements(tables, PERPEND_MAX_NESTING); }).open(), PERPEND_OK)
      << perpend_error_message();
  expectRefused("inputs", [](fake::Tables &tables) { nestElements(tables, PERPEND_MAX_NESTING + 1); });
  expectRefused("inputs", [](fake::Tables &tables) { // its own element
    perpend_tensor_record record = tables.tensor("list", PERPEND_SEQUENCE, {});
    record.element = tables.records({record}).position;
    record.element = tables.records({record}).position + sizeof record;
    tables.entry.inputs = tables.records({record});
  });
}

TEST(Model, AnElementOfAnyRank) {
  Candidate candidate([](fake::Tables &tables) {
    perpend_tensor_record element{0, PERPEND_I64, -1, 0, 0, 0}, list = tables.tensor("list", PERPEND_SEQUENCE, {});
    list.element = tables.records({element}).position;
    tables.entry.inputs = tables.records({list});
  });
  perpend_model *model = nullptr;
  ASSERT_EQ(perpend_model_from_module(&candidate.module, &model), PERPEND_OK) << perpend_error_message();
  const perpend_tensor_info *list = perpend_model_input(model, 0);
  EXPECT_EQ(list->rank, 0);
  ASSERT_NE(list->element, nullptr);
  EXPECT_EQ(list->element->rank, -1);
  EXPECT_EQ(list->element->type, PERPEND_I64);
  EXPECT_EQ(list->element->name, nullptr);
  EXPECT_EQ(list->element->element, nullptr);
  perpend_model_free(model);
}

TEST(Model, OnlySymbolsRepeat) {
  Candidate good([](fake::Tables &tables) {
    tables.entry.repeats = tables.records<perpend_repeat_record>({{0, 0, 0}, {1, 0, 0}});
  });
  EXPECT_EQ(good.open(), PERPEND_OK) << perpend_error_message();
  static perpend_repeat_record bad[2];
  for (const perpend_repeat_record &one :
       {perpend_repeat_record{0, 1, 0}, {0, 2, 0}, {0, UINT32_MAX, 0}, {0, 0, 1}, {2, 0, 0}}) {
    bad[0] = one;
    expectRefused("repeats", [](fake::Tables &tables) { tables.entry.repeats = tables.records(bad, 1); });
  }
  for (uint32_t first : {0, 1}) { // twice, and in another order
    bad[0] = {first, 0, 0};
    bad[1] = {0, 0, 0};
    expectRefused("repeats", [](fake::Tables &tables) { tables.entry.repeats = tables.records(bad, 2); });
  }
}

TEST(Model, PlacesInTheArenaLieInIt) {
  static int64_t offsets[2];
  const auto open = [](int64_t first, int64_t second) {
    offsets[0] = first;
    offsets[1] = second;
    return Candidate([](fake::Tables &tables) {
             tables.entry.offsets = tables.records(offsets, 2);
             tables.entry.arenaBytes = 128;
           })
        .open();
  };
  EXPECT_EQ(open(0, 64), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(open(128, 0), PERPEND_OK) << "nothing may lie at the end";
  for (int64_t bad : {INT64_MIN, int64_t{-64}, int64_t{32}, int64_t{192}}) {
    EXPECT_EQ(open(0, bad), PERPEND_CORRUPT) << bad;
    expectMessage("tables: plan: ");
  }
  expectRefused("plan", [](fake::Tables &tables) { // one of two
    tables.entry.offsets = tables.records<int64_t>({0});
    tables.entry.arenaBytes = 128;
  });
  expectRefused("plan", [](fake::Tables &tables) { tables.entry.offsets = tables.records<int64_t>({0, 0}); });
  expectRefused("plan", [](fake::Tables &tables) { tables.entry.lifetimes.count = UINT32_MAX; });
}

TEST(Model, RefusesSegmentsThatItCannotFind) {
  expectRefused("segments", [](fake::Tables &tables) { tables.segment.file = tables.text("weights.bin"); });
  expectRefused("segments", [](fake::Tables &tables) { tables.segment.offset = 64; });
  expectRefused("segments", [](fake::Tables &tables) { tables.segment.position = 64; });
}

static std::string bytesWithEntryCount(Candidate &candidate, uint32_t count) {
  std::string bytes = candidate.bytes();
  memcpy(&bytes[offsetof(perpend_tables, entries) + offsetof(perpend_records, count)], &count, sizeof count);
  return bytes;
}

TEST(Model, HasEntries) {
  Candidate candidate([](fake::Tables &tables) {
    tables.second = tables.entry;
    tables.second.name = tables.text("decode");
    tables.second.inputs = tables.records({tables.tensor("q", PERPEND_F64, {"n", "3"})});
  });
  static const perpend_entry_functions others[] = {{fake::bind, fake::sizes, fake::run}};
  perpend_model *model = nullptr, *entry = nullptr;
  EXPECT_EQ(perpend_model_from_module(&candidate.module, &model), PERPEND_CORRUPT);
  expectMessage("module: expected the functions of 2 entries, got those of one");
  candidate.module.others = others;
  ASSERT_EQ(perpend_model_from_module(&candidate.module, &model), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(perpend_model_entry_count(model), 2);
  EXPECT_STREQ(perpend_model_entry_name(model, 0), "main");
  EXPECT_STREQ(perpend_model_entry_name(model, 1), "decode");
  EXPECT_EQ(perpend_model_entry_name(model, 2), nullptr);
  EXPECT_EQ(perpend_model_entry(model, "encode", &entry), PERPEND_INVALID_ARGUMENT);
  expectMessage("entry: expected one of 'main', 'decode', got 'encode'");
  ASSERT_EQ(perpend_model_entry(model, "decode", &entry), PERPEND_OK) << perpend_error_message();
  perpend_model_free(model); // the entry keeps it alive
  EXPECT_STREQ(perpend_model_input(entry, 0)->name, "q");
  EXPECT_EQ(perpend_model_input_count(entry), 1);
  EXPECT_EQ(perpend_model_output_count(entry), 2);
  EXPECT_EQ(perpend_model_entry_count(entry), 2);
  ASSERT_EQ(perpend_model_entry(entry, "main", &model), PERPEND_OK);
  EXPECT_STREQ(perpend_model_input(model, 0)->name, "x");
  perpend_model_free(entry);
  EXPECT_EQ(perpend_model_verify(model), PERPEND_OK);
  perpend_model_free(model);
}

TEST(Model, RefusesEntriesThatAreNotThere) {
  Candidate candidate;
  for (uint32_t count : {0u, 2u, UINT32_MAX}) {
    std::string bytes = bytesWithEntryCount(candidate, count);
    EXPECT_EQ(fake::readModel(candidate.module, bytes.data(), bytes.size()), PERPEND_CORRUPT) << count;
  }
}

TEST(Model, TablesCutShort) {
  Candidate candidate;
  const std::string bytes = candidate.bytes();
  for (size_t size = 0; size + 1 < bytes.size(); ++size) // all records end before the last NUL
    EXPECT_EQ(fake::readModel(candidate.module, bytes.data(), size), PERPEND_CORRUPT) << size;
  EXPECT_EQ(fake::readModel(candidate.module, bytes.data(), bytes.size()), PERPEND_OK) << perpend_error_message();
}

TEST(Model, MutatedTablesNeverCrash) {
  std::mt19937 generator(11);
  auto random = [&] { return static_cast<uint32_t>(generator()); };
  Candidate candidate([](fake::Tables &tables) {
    tables.head.isa = tables.texts({"sse3"});
    tables.head.texts = tables.records<perpend_text_record>({{8, 0}, {8, 4}});
    nestElements(tables, 3);
    tables.entry.offsets = tables.records<int64_t>({0, 64});
    tables.entry.arenaBytes = 128;
    tables.segment.hasChecksum = 1;
    tables.segment.checksum = crc32c(fake::weights, sizeof fake::weights);
  });
  const std::string original = candidate.bytes();
  const auto size = static_cast<uint32_t>(original.size());
  size_t accepted = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string text = original;
    for (unsigned edits = 1 + random() % 4; edits; --edits) {
      const uint32_t words[] = {0, 1, random() % size, size, size - 1, random() % 64, UINT32_MAX, INT32_MAX, random()};
      const uint32_t word = words[random() % std::size(words)];
      if (random() % 4)
        memcpy(&text[random() % (size / 4) * 4], &word, sizeof word);
      else
        text[random() % size] = static_cast<char>(random());
    }
    const size_t kept = random() % 8 ? size : random() % size;
    accepted += fake::readModel(candidate.module, text.data(), kept) == PERPEND_OK;
  }
  EXPECT_GT(accepted, 500u) << "most edits must not hit the same check";
}
