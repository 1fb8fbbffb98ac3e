// Texts, lists, numbers as text, and the functions of the library.
#include "FakeCall.h"
#include "library/Case.h"
#include "library/Numbers.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace perpend::library;
using perpend::testing::FakeCall;
using perpend::testing::FakeTensor;
using Strings = std::vector<std::string>;
using Words = std::vector<int64_t>;

TEST(StringTable, EqualTextsHaveEqualIdentities) {
  StringTable table;
  for (perpend_string constant : {perpend_string{"", 0}, perpend_string{"red", 3}})
    ASSERT_TRUE(table.addConstant(constant));
  EXPECT_EQ(table.identityOf("red", 3), 1);
  EXPECT_EQ(table.identityOf("", 0), 0);
  std::vector<int64_t> identities;
  for (int i = 0; i < 5000; ++i) {
    std::string text = "text" + std::to_string(i);
    identities.push_back(table.identityOf(text.data(), static_cast<int64_t>(text.size())));
  }
  for (int i = 0; i < 5000; ++i) {
    std::string text = "text" + std::to_string(i);
    EXPECT_EQ(table.identityOf(text.data(), static_cast<int64_t>(text.size())), identities[static_cast<size_t>(i)]);
    perpend_string kept = table.textOf(identities[static_cast<size_t>(i)]);
    EXPECT_EQ(std::string(kept.data, static_cast<size_t>(kept.sizeBytes)), text);
  }
  table.nextRun(2, true);
  EXPECT_EQ(table.count(), 2);
  EXPECT_EQ(table.identityOf("blue", 4), 2);
  EXPECT_EQ(table.identityOf("red", 3), 1);
  EXPECT_EQ(table.textOf(99).sizeBytes, 0);
}

TEST(ListTable, ListsAreNeverChanged) {
  ListTable table;
  auto insert = [&](int64_t list, int64_t position, int64_t value) {
    return table.insert(list, position, {&value, nullptr, 0, PERPEND_I64});
  };
  auto values = [&](int64_t list) {
    Words result;
    for (int64_t i = 0; i < table.countOf(list); ++i)
      result.push_back(*static_cast<int64_t *>(table.elementOf(list, i)->data));
    return result;
  };
  int64_t a = insert(0, 0, 1), b = insert(a, 1, 2), c = insert(a, 1, 3), d = insert(b, 0, 4), e = table.erase(d, 1);
  EXPECT_EQ(values(0), Words{});
  EXPECT_EQ(values(a), Words{1});
  EXPECT_EQ(values(b), (Words{1, 2}));
  EXPECT_EQ(values(c), (Words{1, 3}));
  EXPECT_EQ(values(d), (Words{4, 1, 2}));
  EXPECT_EQ(values(e), (Words{4, 2}));
  EXPECT_EQ(table.elementOf(b, 2), nullptr);
  EXPECT_EQ(table.elementOf(99, 0), nullptr);
  for (int64_t list = a, i = 0; i < 20000; ++i)
    ASSERT_GE(list = insert(list, INT64_MAX, i), 0);
}

TEST(ListTable, RefusesElementsWithoutASize) {
  ListTable table;
  int64_t word = 7;
  auto insert = [&](Words shape) {
    return table.insert(0, 0, {&word, shape.data(), static_cast<int32_t>(shape.size()), PERPEND_I64});
  };
  EXPECT_EQ(insert({int64_t{1} << 61}), -1); // 2^64 bytes
  EXPECT_EQ(insert({int64_t{1} << 31, int64_t{1} << 31}), -1);
  EXPECT_EQ(insert({-1}), -1);
  EXPECT_EQ(insert({-1, 0}), -1);
  EXPECT_EQ(insert({int64_t{1} << 60}), -1); // no memory
  EXPECT_EQ(insert(Words(PERPEND_MAX_RANK + 1, 1)), -1);
  EXPECT_GT(insert({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  EXPECT_GT(insert({1, 1}), 0);
  EXPECT_EQ(*static_cast<int64_t *>(table.elementOf(2, 0)->data), 7);
}

TEST(MemoryPool, IsHandedOutAgain) {
  MemoryPool pool;
  std::vector<void *> first;
  for (int64_t bytes : {64, 5000, 20000, 1})
    first.push_back(pool.allocate(bytes, 64));
  for (int round = 0; round < 3; ++round) {
    pool.rewind();
    std::vector<void *> again;
    for (int64_t bytes : {64, 5000, 20000, 1})
      again.push_back(pool.allocate(bytes, 64));
    EXPECT_EQ(again, first);
  }
  int outside = 0;
  EXPECT_TRUE(pool.contains(first[2]));
  EXPECT_FALSE(pool.contains(&outside) || pool.contains(nullptr));
}

TEST(RunMemory, PiecesOutliveOneRunAndAreUsedAgain) {
  RunMemory memory;
  auto piece = [&](int64_t bytes, char letter) {
    auto *data = static_cast<char *>(memory.allocate(bytes, 64));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    memset(data, letter, static_cast<size_t>(bytes));
    return data;
  };
  std::vector<char *> first = {piece(10, 'a'), piece(9000, 'a'), piece(3000, 'a'), piece(50000, 'a')};
  memory.nextRun(true);
  std::vector<char *> second = {piece(70000, 'b'), piece(1, 'b')};
  for (auto [i, size] : {std::pair{0, 10}, {1, 9000}, {2, 3000}, {3, 50000}})
    EXPECT_EQ(std::string(first[static_cast<size_t>(i)], static_cast<size_t>(size)),
              std::string(static_cast<size_t>(size), 'a'));
  memory.nextRun(true);
  EXPECT_EQ((std::vector<char *>{piece(10, 'c'), piece(9000, 'c'), piece(3000, 'c'), piece(50000, 'c')}), first);
  EXPECT_EQ(second[0][69999], 'b');
  memory.nextRun(false);
  EXPECT_EQ(piece(10, 'd'), first[0]);
  EXPECT_EQ(second[0][69999], 'b') << "kept by the run that failed";
  EXPECT_EQ(memory.allocate(-1, 1), nullptr);
  EXPECT_EQ(memory.allocate(INT64_MAX, 1), nullptr);
  EXPECT_NE(memory.allocate(0, 1), nullptr);
}

static std::string print(double value, Precision precision) {
  char text[maxNumberBytes];
  return std::string(text, static_cast<size_t>(printNumber(value, precision, text)));
}

TEST(Numbers, ShortestText) {
  EXPECT_EQ(print(0.1, Precision::Double), "0.1");
  EXPECT_EQ(print(0.1f, Precision::Single), "0.1");
  EXPECT_EQ(print(1, Precision::Double), "1.0");
  EXPECT_EQ(print(-0.0, Precision::Double), "-0.0");
  EXPECT_EQ(print(1e16, Precision::Double), "1e+16");
  EXPECT_EQ(print(123456789012345680.0, Precision::Double), "1.2345678901234568e+17");
  EXPECT_EQ(print(9999999999999998.0, Precision::Double), "9999999999999998.0");
  EXPECT_EQ(print(0.0001, Precision::Double), "0.0001");
  EXPECT_EQ(print(0.00001, Precision::Double), "1e-05");
  EXPECT_EQ(print(1e300, Precision::Double), "1e+300");
  EXPECT_EQ(print(5e-324, Precision::Double), "5e-324");
  EXPECT_EQ(print(0.333251953125, Precision::Half), "0.3333");
  EXPECT_EQ(print(65504, Precision::Half), "65500.0");
  EXPECT_EQ(print(3.140625, Precision::Brain), "3.14");
  EXPECT_EQ(print(HUGE_VAL, Precision::Double), "inf");
  EXPECT_EQ(print(-HUGE_VAL, Precision::Single), "-inf");
  EXPECT_EQ(print(NAN, Precision::Single), "nan");
}

TEST(Numbers, TextsReadBackTheSame) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    uint64_t bits = random();
    double value, back;
    memcpy(&value, &bits, sizeof value);
    float single = static_cast<float>(
              std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(random() % 100) - 90)),
          singleBack;
    if (!std::isfinite(value))
      continue;
    std::string text = print(value, Precision::Double), singleText = print(single, Precision::Single);
    ASSERT_TRUE(parseNumber({text.data(), static_cast<int64_t>(text.size())}, back));
    ASSERT_TRUE(parseNumber({singleText.data(), static_cast<int64_t>(singleText.size())}, singleBack));
    EXPECT_EQ(back, value) << text;
    EXPECT_EQ(singleBack, single) << singleText;
  }
}

TEST(Numbers, OnlyNumbersAreRead) {
  auto reads = [](const std::string &text) {
    double value;
    return parseNumber({text.data(), static_cast<int64_t>(text.size())}, value);
  };
  for (const char *text : {"1", " -1.5e+3 ", ".5", "5.", "+INF", "-inf", "NaN", "infinity", "\t7\n"})
    EXPECT_TRUE(reads(text)) << text;
  for (const char *text : {"", " ", ".", "1e", "0x10", "1,5", "1 2", "--1", "e5", "na", "1f", "nan(1)"})
    EXPECT_FALSE(reads(text)) << text;
}

TEST(Case, SingleCharacters) {
  EXPECT_EQ(toUpper('a'), 'A');
  EXPECT_EQ(toLower('A'), 'a');
  EXPECT_EQ(toUpper('1'), '1');
  EXPECT_EQ(toUpper(0xE4), 0xC4u);   // a with diaeresis
  EXPECT_EQ(toUpper(0xDF), 0xDFu);   // sharp s has no single upper case
  EXPECT_EQ(toLower(0x410), 0x430u); // Cyrillic
  EXPECT_EQ(toUpper(0x101), 0x100u); // every other character
  EXPECT_EQ(toUpper(0x100), 0x100u);
  EXPECT_EQ(toLower(0x10FFFF), 0x10FFFFu);
}

TEST(Parameters, NumbersOfEitherKind) {
  perpend_call call{};
  call.parameters = R"({"two": 2, "float": 2.0, "large": 1e999, "small": -1e999, "text": "2"})";
  int64_t integer = 0;
  double number = 0;
  EXPECT_TRUE(integerParameter(&call, "two", &integer) && integer == 2);
  EXPECT_TRUE(numberParameter(&call, "two", &number) && number == 2.0);
  EXPECT_TRUE(numberParameter(&call, "float", &number) && number == 2.0);
  EXPECT_FALSE(integerParameter(&call, "float", &integer));
  EXPECT_TRUE(numberParameter(&call, "large", &number) && number == HUGE_VAL);
  EXPECT_TRUE(numberParameter(&call, "small", &number) && number == -HUGE_VAL);
  EXPECT_FALSE(numberParameter(&call, "text", &number) || numberParameter(&call, "none", &number));
}

// Reads the parameter "n" in each way. The text ends where its memory does.
static bool readsInteger(const std::string &text) {
  perpend_call call{};
  std::vector<char> copy(text.begin(), text.end());
  copy.push_back('\0');
  call.parameters = copy.data();
  int64_t integer = 0;
  double number = 0;
  char word[4];
  numberParameter(&call, "n", &number);
  wordParameter(&call, "n", word, sizeof word);
  return integerParameter(&call, "n", &integer) && integer == 4;
}

TEST(Parameters, AllOfJson) {
  EXPECT_TRUE(
      readsInteger(R"({"note" : {"a": [1.5e-3, null, true, {"b": "\"\\\u00e9\ud83d\ude00"}], "c":{}} , "n": 4})"));
  for (const char *bad :
       {",", "\"a\"", "\"a\":", "\"a\":[1,],", "\"a\":\"\\x\",", "\"a\":\"\\ud800\",", "\"a\":\"\n\",",
        "\"a\":\"\\u0000\",", "\"a\":[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]],", "\"n\":\"4\","})
    EXPECT_FALSE(readsInteger(std::string("{") + bad + "\"n\":4}")) << bad;
}

TEST(Parameters, MutatedTextsNeverCrash) {
  std::mt19937 random(11);
  const std::string original = R"({"note":"\u00e9\n","list":[1,"two",{"b":-3e5}],"n":4,"isa":["sse3"]})";
  const std::string alphabet = "\"\\{}[]:,0123456789-eun x\n";
  size_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = original;
    for (unsigned edits = 1 + random() % 4; edits; --edits) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 8);
      else
        text[at] = random() % 2 ? alphabet[random() % alphabet.size()] : static_cast<char>(random());
    }
    read += readsInteger(text);
  }
  EXPECT_GT(read, 1000u);
}

TEST(Library, ConcatNormalizeMatch) {
  FakeCall call;
  EXPECT_EQ(
      call.run(perpend_string_concat, {call.texts({2}, {"a", ""}), call.texts({2}, {"b", "c"})}, {PERPEND_STRING}),
      PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{"ab", "c"}));

  FakeTensor words = call.texts({4}, {"monday", "Tuesday", "", "MONDAY"});
  EXPECT_EQ(call.run(perpend_string_normalize, {words, call.texts({1}, {"monday"})}, {PERPEND_STRING},
                     R"({"case":"upper","caseSensitive":1})"),
            PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{"TUESDAY", "MONDAY"}));
  EXPECT_EQ(call.run(perpend_string_normalize, {words, call.texts({1}, {"monday"})}, {PERPEND_STRING},
                     R"({"case":"lower","caseSensitive":0})"),
            PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{"tuesday"}));
  EXPECT_EQ(call.run(perpend_string_normalize, {call.texts({1, 1}, {"x"}), call.texts({1}, {"x"})}, {PERPEND_STRING},
                     R"({"case":"none","caseSensitive":1})"),
            PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{""}));
  EXPECT_EQ(call.results[0].shape, (Words{1, 1}));

  EXPECT_EQ(call.run(perpend_string_matches, {call.texts({2}, {"a1", "b"}), call.texts({}, {"a\\d"})}, {PERPEND_BOOL}),
            PERPEND_OK);
  EXPECT_EQ(call.results[0].as<char>(), (std::vector<char>{1, 0}));
  EXPECT_EQ(call.run(perpend_string_matches, {words, call.texts({}, {"("})}, {PERPEND_BOOL}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "the pattern '(' is not valid: a '(' has no ')'");
}

TEST(Library, Ranks) {
  FakeCall call;
  auto ranks = [&](std::vector<int64_t> shape, const Strings &texts) {
    EXPECT_EQ(call.run(perpend_string_ranks, {call.texts(shape, texts)}, {PERPEND_I64}), PERPEND_OK);
    EXPECT_EQ(call.results[0].shape, shape);
    return call.results[0].as<int64_t>();
  };
  EXPECT_EQ(ranks({2, 3}, {"b", "", "ab", "a", "b", "\u00e9"}), (Words{3, 0, 2, 1, 3, 5}));
  EXPECT_EQ(ranks({2}, {"\U0001F600", "\uFFFD"}), (Words{1, 0})); // code points, not units of UTF-16
  EXPECT_EQ(ranks({0}, {}), Words{});
}

TEST(Library, Split) {
  FakeCall call;
  auto split = [&](const Strings &texts, const std::string &delimiter, const char *parameters) {
    EXPECT_EQ(call.run(perpend_string_split,
                       {call.texts({static_cast<int64_t>(texts.size())}, texts), call.texts({}, {delimiter})},
                       {PERPEND_STRING, PERPEND_I64}, parameters),
              PERPEND_OK);
    return call.textsOf(call.results[0]);
  };
  EXPECT_EQ(split({"a.b", "c"}, ".", "{}"), (Strings{"a", "b", "c", ""}));
  EXPECT_EQ(call.results[1].as<int64_t>(), (Words{2, 1}));
  EXPECT_EQ(split({"..a"}, ".", "{}"), (Strings{"", "", "a"}));
  EXPECT_EQ(split({"a.b.c"}, ".", R"({"maxSplits":1})"), (Strings{"a", "b.c"}));
  EXPECT_EQ(split({"  a  b c "}, "", "{}"), (Strings{"a", "b", "c"}));
  EXPECT_EQ(split({" a  b c "}, "", R"({"maxSplits":1})"), (Strings{"a", "b c"}));
  EXPECT_EQ(split({"   "}, "", "{}"), (Strings{}));
  EXPECT_EQ(call.results[0].shape, (Words{1, 0}));
  EXPECT_EQ(split({}, "x", "{}"), (Strings{}));
  EXPECT_EQ(call.results[0].shape, (Words{0, 0}));
}

TEST(Library, Tokenize) {
  FakeCall call;
  auto tokenize = [&](const Strings &texts, const Strings &patterns, const char *parameters) {
    EXPECT_EQ(call.run(perpend_string_tokenize,
                       {call.texts({static_cast<int64_t>(texts.size())}, texts),
                        call.texts({static_cast<int64_t>(patterns.size())}, patterns), call.texts({}, {"#"})},
                       {PERPEND_STRING}, parameters),
              PERPEND_OK);
    return call.textsOf(call.results[0]);
  };
  EXPECT_EQ(tokenize({"ab c", "d"}, {"\\w+"}, "{}"), (Strings{"ab", "c", "d", "#"}));
  EXPECT_EQ(call.results[0].shape, (Words{2, 2}));
  EXPECT_EQ(tokenize({"abcd"}, {"ab|bcd"}, R"({"leastCharacters":3})"), (Strings{"bcd"}));
  EXPECT_EQ(tokenize({"a", ""}, {"a"}, R"({"marks":1})"), (Strings{"\2", "a", "\3", "\2", "\3", "#"}));
  EXPECT_EQ(tokenize({"", "x"}, {"a"}, R"({"marks":1})"), (Strings{}));
  EXPECT_EQ(call.results[0].shape, (Words{2, 0}));
  EXPECT_EQ(tokenize({"a,b;;c", ",x"}, {",", ";"}, R"({"separates":1})"), (Strings{"a", "b", "c", "x", "#", "#"}));
  EXPECT_EQ(tokenize({"a1b"}, {"[0-9]*"}, R"({"separates":1})"), (Strings{}));
  EXPECT_EQ(tokenize({}, {"a"}, "{}"), (Strings{}));
  EXPECT_EQ(call.results[0].shape, (Words{0, 0}));
}

TEST(Library, NumbersAndTexts) {
  FakeCall call;
  EXPECT_EQ(call.run(perpend_string_from_number,
                     {call.tensor<double>(PERPEND_F64, {2}, {static_cast<double>(0.1f), 3})}, {PERPEND_STRING},
                     R"({"precision":"f32"})"),
            PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{"0.1", "3.0"}));
  int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(
      call.run(perpend_string_from_number, {call.tensor<int64_t>(PERPEND_I64, {2}, {least, -1})}, {PERPEND_STRING}),
      PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{"-9223372036854775808", "-1"}));
  EXPECT_EQ(call.run(perpend_string_from_number, {call.tensor<int64_t>(PERPEND_U64, {1}, {-1})}, {PERPEND_STRING}),
            PERPEND_OK);
  EXPECT_EQ(call.textsOf(call.results[0]), (Strings{"18446744073709551615"}));
  auto to = [&](perpend_type type, const Strings &texts) {
    return call.run(perpend_string_to_number, {call.texts({static_cast<int64_t>(texts.size())}, texts)}, {type});
  };
  EXPECT_EQ(to(PERPEND_I64, {"-9223372036854775808", " 12 ", "3.9", "-3.9"}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<int64_t>(), (Words{least, 12, 3, -3}));
  EXPECT_EQ(to(PERPEND_F32, {"0.1", "NaN"}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<float>()[0], 0.1f);
  EXPECT_EQ(to(PERPEND_I64, {"9223372036854775808"}), PERPEND_INVALID_DATA);
  EXPECT_EQ(to(PERPEND_U64, {"-1"}), PERPEND_INVALID_DATA);
  EXPECT_EQ(to(PERPEND_I64, {"one"}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "element 0: expected a number of type i64, got 'one'");
}

TEST(Library, Lists) {
  FakeCall call;
  FakeTensor a = call.tensor<float>(PERPEND_F32, {2}, {1, 2}), b = call.tensor<float>(PERPEND_F32, {1}, {3});
  auto number = [&](int64_t value) { return call.tensor<int64_t>(PERPEND_I64, {}, {value}); };
  ASSERT_EQ(call.run(perpend_sequence_construct, {a, b}, {PERPEND_SEQUENCE}), PERPEND_OK);
  FakeTensor list = call.results[0];
  EXPECT_EQ(call.run(perpend_sequence_at, {list, number(-1)}, {PERPEND_F32}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<float>(), std::vector<float>{3});
  EXPECT_EQ(call.run(perpend_sequence_at, {list, number(2)}, {PERPEND_F32}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.message, "position 2 of a list of 2 elements");
  EXPECT_EQ(call.run(perpend_sequence_concat, {list}, {PERPEND_F32}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(call.run(perpend_sequence_concat, {list}, {PERPEND_F32}, R"({"isNew":1})"), PERPEND_INVALID_DATA);
  ASSERT_EQ(call.run(perpend_sequence_insert, {list, a, number(-2)}, {PERPEND_SEQUENCE}), PERPEND_OK);
  FakeTensor longer = call.results[0];
  EXPECT_EQ(call.run(perpend_sequence_insert, {list, a, number(3)}, {PERPEND_SEQUENCE}), PERPEND_INVALID_DATA);
  EXPECT_EQ(call.run(perpend_sequence_length, {longer}, {PERPEND_I64}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<int64_t>(), Words{3});
  ASSERT_EQ(call.run(perpend_sequence_erase, {longer, number(0)}, {PERPEND_SEQUENCE}), PERPEND_OK);
  EXPECT_EQ(call.run(perpend_sequence_at, {call.results[0], number(0)}, {PERPEND_F32}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(call.run(perpend_sequence_erase, {number(0)}, {PERPEND_SEQUENCE}), PERPEND_INVALID_DATA);

  FakeTensor x = call.tensor<float>(PERPEND_F32, {2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(call.run(perpend_sequence_split, {x, call.tensor<int64_t>(PERPEND_I64, {2}, {1, 2})}, {PERPEND_SEQUENCE},
                     R"({"axis":1})"),
            PERPEND_OK);
  EXPECT_EQ(call.run(perpend_sequence_at, {call.results[0], number(1)}, {PERPEND_F32}), PERPEND_OK);
  EXPECT_EQ(call.results[0].as<float>(), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(call.run(perpend_sequence_split, {x, call.tensor<int64_t>(PERPEND_I64, {2}, {1, 1})}, {PERPEND_SEQUENCE},
                     R"({"axis":1})"),
            PERPEND_INVALID_DATA);
  ASSERT_EQ(call.run(perpend_sequence_split, {x}, {PERPEND_SEQUENCE}, R"({"axis":0,"keepsAxis":0})"), PERPEND_OK);
  EXPECT_EQ(call.run(perpend_sequence_at, {call.results[0], number(1)}, {PERPEND_F32}), PERPEND_OK);
  EXPECT_EQ(call.results[0].shape, Words{3});
}
