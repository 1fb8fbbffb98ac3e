// How an artifact for several machines chooses, by instruction sets that every processor has or none.
#include "FakeModel.h"
#include "variants/ChooseVariant.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

// cx16 is part of every processor that runs these tests; others are of none.
constexpr const char *everywhere = "cx16\0", *nowhere = "cx16\0magic\0";

class Variants : public testing::Test {
protected:
  void SetUp() override { unsetenv("PERPEND_TARGET"); }
  void TearDown() override { unsetenv("PERPEND_TARGET"); }

  void add(const char *target, const char *isa) { list.push_back({&module, target, isa}); }

  // The number of the variant; -1: refused.
  int choose(const char *name = "fake") {
    std::vector<perpend_module> modules(list.size(), module);
    for (size_t i = 0; i < list.size(); ++i)
      list[i].module = &modules[i];
    const perpend_module *chosen = perpend_choose_variant_v1(list.data(), static_cast<uint32_t>(list.size()), name);
    perpend_model *model = nullptr;
    if (perpend_status status = perpend_model_from_module(chosen, &model)) {
      EXPECT_EQ(status, PERPEND_UNSUPPORTED_CPU);
      return -1;
    }
    perpend_model_free(model);
    return static_cast<int>(chosen - modules.data());
  }

  static std::string message() { return perpend_error_message(); }
  static bool says(const std::string &part) { return message().find(part) != std::string::npos; }

  perpend_module module = fake::makeModule();
  std::vector<perpend_variant> list;
};

} // namespace

TEST_F(Variants, TheFirstThatRuns) {
  add("wide", nowhere);
  add("good", everywhere);
  add("base", "");
  EXPECT_EQ(choose(), 1);
  list.erase(list.begin() + 1);
  EXPECT_EQ(choose(), 1);
}

TEST_F(Variants, TheOneThatIsForced) {
  add("wide", nowhere);
  add("good", everywhere);
  add("base", "");
  setenv("PERPEND_TARGET", "base", 1);
  EXPECT_EQ(choose(), 2);
  setenv("PERPEND_TARGET", "", 1);
  EXPECT_EQ(choose(), 1);
  setenv("PERPEND_TARGET", "wide", 1);
  EXPECT_EQ(choose(), -1);
  EXPECT_TRUE(
      says("model 'fake' needs magic (wide); hint: this machine lacks that; unset PERPEND_TARGET, or set it to another "
           "of 'wide', 'good', 'base'"))
      << message();
  setenv("PERPEND_TARGET", "goo", 1);
  EXPECT_EQ(choose(), -1);
  EXPECT_TRUE(says(
      "needs PERPEND_TARGET to be one of 'wide', 'good', 'base', got 'goo'; hint: correct or unset PERPEND_TARGET"))
      << message();
}

TEST_F(Variants, NoneRuns) {
  add("wide", nowhere);
  add("wider", "a\0cx16\0b\0c\0d\0e\0f\0");
  EXPECT_EQ(choose(), -1);
  EXPECT_TRUE(
      says("was compiled for the target wide,wider and needs magic (wide), or a,b,c,d and 2 more (wider), which "
           "this machine lacks; hint: compile it for this machine"))
      << message();
}

TEST_F(Variants, TextsEndWhereTheirRoomDoes) {
  const std::string target(100, 't'), name(1000, 'n');
  for (int i = 0; i < 40; ++i)
    add(target.c_str(), nowhere);
  EXPECT_EQ(choose(name.c_str()), -1);
  EXPECT_TRUE(says("model '" + std::string(60, 'n') + "' was compiled for the target ttt")) << message();
  EXPECT_TRUE(says("ttt... and needs magic (ttt")) << message();
  EXPECT_TRUE(says("ttt..., which this machine lacks; hint: ")) << message();
  setenv("PERPEND_TARGET", ("\"\\\n\x01\xff" + name).c_str(), 1);
  list.resize(1);
  list[0].target = "one";
  EXPECT_EQ(choose(), -1);
  EXPECT_TRUE(says("to be one of 'one', got '?\?\?\?\?nnn")) << message();
}
