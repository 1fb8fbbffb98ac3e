// Chat templates from C: values as structs and from JSON, errors, limits.
#include "templates/Template.h"
#include "perpend_template.h"
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

namespace {

// Tables are aligned to 8 bytes.
std::vector<uint64_t> tableOf(const char *text, size_t &bytes) {
  std::string error;
  const std::optional<std::string> table = perpend::templates::compileTemplate(text, error);
  EXPECT_TRUE(table) << error;
  bytes = table ? table->size() : 0;
  std::vector<uint64_t> words((bytes + 7) / 8 + 1);
  if (table)
    memcpy(words.data(), table->data(), bytes);
  return words;
}

perpend_value text(const char *content) {
  perpend_value value = {PERPEND_VALUE_TEXT, 0, {0}, strlen(content)};
  value.as.text = content;
  return value;
}

perpend_value container(uint32_t kind, const perpend_value *items, size_t size) {
  perpend_value value = {kind, 0, {0}, size};
  value.as.items = items;
  return value;
}

std::string render(const char *source, const perpend_value &variables, perpend_status expected = PERPEND_OK) {
  size_t bytes = 0;
  const std::vector<uint64_t> table = tableOf(source, bytes);
  perpend_rendering rendering;
  EXPECT_EQ(perpend_template_render(table.data(), bytes, &variables, nullptr, &rendering), expected);
  std::string result = rendering.text ? std::string(rendering.text, rendering.bytes) : rendering.message;
  perpend_rendering_free(&rendering);
  return result;
}

TEST(TemplateTest, ValuesAsStructs) {
  const perpend_value message[] = {text("role"), text("user"), text("content"), text("Hi\xC3\xA9")};
  const perpend_value messages[] = {container(PERPEND_VALUE_DICT, message, 2)};
  const perpend_value pairs[] = {text("messages"), container(PERPEND_VALUE_LIST, messages, 1)};
  const perpend_value variables = container(PERPEND_VALUE_DICT, pairs, 1);
  EXPECT_EQ(render("{% for m in messages %}<{{ m.role }}>{{ m['content'] }}{% endfor %}", variables),
            "<user>Hi\xC3\xA9");
  EXPECT_EQ(render("\n{{ messages[0].name.x }}", variables, PERPEND_INVALID_DATA),
            "line 2: the value has no attribute or item 'name'");
}

TEST(TemplateTest, Json) {
  perpend_json json;
  const std::string source = R"({"a": [1, -2.5e1, null, true, "\u00e9\ud83d\ude00\n"], "a": {"b": 3}, "c": []})";
  ASSERT_EQ(perpend_json_read(source.data(), source.size(), nullptr, &json), PERPEND_OK);
  EXPECT_EQ(render("{{ a.b }} {{ c | length }} {{ a }}", json.value), "3 0 {'b': 3}");
  perpend_json_free(&json);
  for (const char *wrong : {"", "[1", "[1,]", "{\"a\" 1}", "\"a\nb\"", "\"\\ud800\"", "01", "1.", "-", "[1] 2", "nul",
                            "99999999999999999999", "\"\xFF\""}) {
    EXPECT_EQ(perpend_json_read(wrong, strlen(wrong), nullptr, &json), PERPEND_INVALID_DATA) << wrong;
    EXPECT_EQ(std::string(json.message).substr(0, 5), "byte ") << wrong;
  }
  const std::string deep(100000, '[');
  EXPECT_EQ(perpend_json_read(deep.data(), deep.size(), nullptr, &json), PERPEND_INVALID_DATA);
}

TEST(TemplateTest, WrongValues) {
  perpend_value wrong = text("\xC3");
  const perpend_value pairs[] = {text("a"), wrong};
  perpend_value variables = container(PERPEND_VALUE_DICT, pairs, 1);
  EXPECT_EQ(render("", variables, PERPEND_INVALID_ARGUMENT), "variables: a text that is not UTF-8");
  EXPECT_EQ(render("", text("a"), PERPEND_INVALID_ARGUMENT), "variables: expected a dict");
  const perpend_value unknown[] = {text("a"), {99, 0, {0}, 0}};
  variables.as.items = unknown;
  EXPECT_EQ(render("", variables, PERPEND_INVALID_ARGUMENT), "variables: an unknown kind of value");
  const perpend_value keys[] = {container(PERPEND_VALUE_LIST, nullptr, 0), text("a")};
  variables.as.items = keys;
  EXPECT_EQ(render("", variables, PERPEND_INVALID_ARGUMENT), "variables: a key that is a list, a tuple or a dict");
}

TEST(TemplateTest, WrongTables) {
  const perpend_value variables = container(PERPEND_VALUE_DICT, nullptr, 0);
  const uint64_t nothing[16] = {};
  perpend_rendering rendering;
  EXPECT_EQ(perpend_template_render(nullptr, 0, &variables, nullptr, &rendering), PERPEND_CORRUPT);
  EXPECT_EQ(perpend_template_render(nothing, sizeof nothing, &variables, nullptr, &rendering), PERPEND_CORRUPT);
  EXPECT_STREQ(rendering.message, "the template's table: another format, version or size");
  EXPECT_EQ(perpend_template_render(nothing, sizeof nothing, &variables, nullptr, nullptr), PERPEND_INVALID_ARGUMENT);
}

// A template whose message is longer than the place for it: whole characters remain.
TEST(TemplateTest, LongMessages) {
  const perpend_value variables = container(PERPEND_VALUE_DICT, nullptr, 0);
  const std::string message = render("{{ raise_exception('x' ~ '\xC3\xA9' * 1000) }}", variables, PERPEND_INVALID_DATA);
  EXPECT_GE(message.size(), size_t{PERPEND_TEMPLATE_MESSAGE_BYTES - 3});
  EXPECT_EQ(message.substr(message.size() - 2), "\xC3\xA9");
}

TEST(TemplateTest, Threads) {
  size_t bytes = 0;
  const std::vector<uint64_t> table = tableOf("{% for i in range(200) %}{{ i }}{% endfor %}", bytes);
  const perpend_value variables = container(PERPEND_VALUE_DICT, nullptr, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      perpend_rendering rendering;
      EXPECT_EQ(perpend_template_render(table.data(), bytes, &variables, nullptr, &rendering), PERPEND_OK);
      EXPECT_EQ(rendering.bytes, size_t{490});
      perpend_rendering_free(&rendering);
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace
