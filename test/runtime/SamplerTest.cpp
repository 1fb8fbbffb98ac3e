// Samplers: random numbers, options that are refused, data that is refused, ties, and that a choice depends on its
// input alone. test/python/test_sampling.py compares distributions with references.
#include "perpend_sampling.h"
#include "sampling/Random.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

using perpend::sampling::philox;
using perpend::sampling::Words;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float nan_ = std::numeric_limits<float>::quiet_NaN();

namespace {
struct Sampler {
  explicit Sampler(perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS) {
    EXPECT_EQ(perpend_sampler_create(&options, &sampler), PERPEND_OK) << perpend_error_message();
  }
  ~Sampler() { perpend_sampler_free(sampler); }
  perpend_status sample(const std::vector<float> &logits, int32_t &token, perpend_sampler_input input = {}) {
    input.logits = logits.data();
    input.count = static_cast<int64_t>(logits.size());
    return perpend_sampler_sample(sampler, &input, &token);
  }
  int32_t sample(const std::vector<float> &logits, perpend_sampler_input input = {}) {
    int32_t token = -1;
    EXPECT_EQ(sample(logits, token, input), PERPEND_OK) << perpend_error_message();
    return token;
  }
  std::vector<int32_t> kept(const std::vector<float> &logits, perpend_sampler_input input = {}) {
    input.logits = logits.data();
    input.count = static_cast<int64_t>(logits.size());
    const int32_t *tokens = nullptr;
    const double *probabilities = nullptr;
    int64_t count = 0;
    EXPECT_EQ(perpend_sampler_distribution(sampler, &input, &tokens, &probabilities, &count), PERPEND_OK)
        << perpend_error_message();
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += probabilities[i];
    EXPECT_NEAR(sum, 1, 1e-12);
    return {tokens, tokens + count};
  }

  perpend_sampler *sampler = nullptr;
};
} // namespace

static perpend_sampler_options with(double perpend_sampler_options::*field, double value) {
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.*field = value;
  return options;
}

static perpend_sampler_options with(int32_t perpend_sampler_options::*field, int32_t value) {
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.*field = value;
  return options;
}

static void expectRefused(const perpend_sampler_options &options, const std::string &text,
                          perpend_status status = PERPEND_INVALID_ARGUMENT) {
  perpend_sampler *sampler = nullptr;
  EXPECT_EQ(perpend_sampler_create(&options, &sampler), status) << text;
  EXPECT_NE(std::string(perpend_error_message()).find(text), std::string::npos) << perpend_error_message();
  EXPECT_EQ(sampler, nullptr);
}

static std::vector<float> normal(size_t count, float spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> numbers(0, spread);
  std::vector<float> values(count);
  for (float &value : values)
    value = numbers(random);
  return values;
}

// The known answers of the generator's authors.
TEST(Random, KnownAnswersOfPhilox) {
  auto expect = [](Words counter, uint64_t seed, Words expected) {
    Words got = philox(counter, seed);
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(got.word[i], expected.word[i]);
  };
  expect({{0, 0, 0, 0}}, 0, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect({{~0u, ~0u, ~0u, ~0u}}, ~uint64_t{0}, {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822,
         {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Random, EachCoordinateMatters) {
  EXPECT_EQ(perpend_random_number(1, 2, 3), perpend_random_number(1, 2, 3));
  for (uint64_t bit = 1; bit; bit <<= 1) {
    EXPECT_NE(perpend_random_number(0, 0, 0), perpend_random_number(bit, 0, 0));
    EXPECT_NE(perpend_random_number(0, 0, 0), perpend_random_number(0, 0, bit));
    if (bit <= UINT32_MAX) {
      EXPECT_NE(perpend_random_number(0, 0, 0), perpend_random_number(0, static_cast<uint32_t>(bit), 0));
    }
  }
}

TEST(Sampler, RefusesNumbers) {
  using Options = perpend_sampler_options;
  for (double number : {-1.0, -0.01, double{infinity}, double{nan_}}) {
    expectRefused(with(&Options::temperature, number), "temperature: expected a number, 0 (greedy) or above, got ");
    expectRefused(with(&Options::topP, number), "top-p: expected a probability from 0 to 1, got ");
    expectRefused(with(&Options::minP, number), "min-p: expected a probability from 0 to 1, got ");
    expectRefused(with(&Options::typicalP, number), "typical-p: expected a probability above 0, up to 1, got ");
    expectRefused(with(&Options::repetitionPenalty, number), "repetition penalty: expected a number above 0");
  }
  for (double number : {1.0000001, 1e300})
    for (auto field : {&Options::topP, &Options::minP, &Options::typicalP})
      expectRefused(with(field, number), "-p: expected a probability");
  expectRefused(with(&Options::typicalP, 0), "typical-p: expected a probability above 0, up to 1, got 0");
  for (double number : {0.0, 1e-300, 1e300}) // the last two are 0 and inf as a float
    expectRefused(with(&Options::repetitionPenalty, number),
                  "repetition penalty: expected a number above 0; 1 is none");
  for (double number : {1e300, -1e300, double{nan_}, -double{infinity}}) {
    expectRefused(with(&Options::presencePenalty, number), "presence penalty: expected a number, got ");
    expectRefused(with(&Options::frequencyPenalty, number), "frequency penalty: expected a number, got ");
  }
}

TEST(Sampler, RefusesCountsAndEnums) {
  using Options = perpend_sampler_options;
  expectRefused(with(&Options::topK, -1), "top-k: expected a number of tokens, or 0 (all), got -1");
  expectRefused(with(&Options::noRepeatNgram, INT32_MIN), "n-grams: expected a number of tokens");
  expectRefused(with(&Options::minTokens, -5), "least number of tokens: expected 0 or more, got -5");
  expectRefused(with(&Options::topLogprobs, -2), "top log-probabilities: expected a number of tokens, or -1");
  expectRefused(with(&Options::biasCount, -1), "bias: expected tokens and their number, got NULL and -1");
  expectRefused(with(&Options::biasCount, 1), "bias: expected tokens and their number, got NULL and 1");
  expectRefused(with(&Options::stopTokenCount, 7), "stop tokens: expected tokens and their number, got NULL and 7");
  Options options = PERPEND_SAMPLER_DEFAULTS;
  options.penaltyWindow = -1;
  expectRefused(options, "penalty window: expected a number of tokens, or 0 (all), got -1");
  options = PERPEND_SAMPLER_DEFAULTS;
  options.order = 2;
  expectRefused(options, "order: expected PERPEND_TEMPERATURE_FIRST or PERPEND_TEMPERATURE_LAST, got 2");
  options = PERPEND_SAMPLER_DEFAULTS;
  options.logprobsOf = 9;
  expectRefused(options, "log-probabilities: expected PERPEND_LOGPROBS_OF_MODEL or PERPEND_LOGPROBS_OF_DRAW, got 9");
}

TEST(Sampler, RefusesBiasesAndStopTokens) {
  const int32_t tokens[] = {3, -1};
  const float biases[] = {1, nan_};
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.biasTokens = tokens;
  options.biasCount = 1;
  expectRefused(options, "bias: expected a number for each token, got NULL");
  options.biases = biases + 1;
  expectRefused(options, "bias of token 3: expected a number, or -inf to exclude the token, got nan");
  options.biases = biases;
  options.biasCount = 2;
  expectRefused(options, "bias: expected token 1 to be in a vocabulary");
  options = PERPEND_SAMPLER_DEFAULTS;
  options.stopTokens = tokens;
  options.stopTokenCount = 2;
  expectRefused(options, "stop tokens: expected token 1 to be in a vocabulary");
}

// A caller may know more options than this version, as long as they are not used.
TEST(Sampler, SizesOfOptions) {
  struct {
    perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
    int64_t later = 0;
  } newer;
  newer.options.sizeBytes = sizeof newer;
  perpend_sampler *sampler = nullptr;
  ASSERT_EQ(perpend_sampler_create(&newer.options, &sampler), PERPEND_OK);
  perpend_sampler_free(sampler);
  newer.later = 1;
  expectRefused(newer.options, "expected nothing after the", PERPEND_INCOMPATIBLE);
  for (int64_t size : {int64_t{0}, int64_t{8}, int64_t{-1}, INT64_MAX}) {
    newer.options.sizeBytes = size;
    expectRefused(newer.options, "expected sizeBytes to be the size of the struct");
  }
  EXPECT_EQ(perpend_sampler_create(nullptr, &sampler), PERPEND_OK);
  perpend_sampler_free(sampler);
  perpend_sampler_free(nullptr);
  EXPECT_EQ(perpend_sampler_create(nullptr, nullptr), PERPEND_INVALID_ARGUMENT);
}

static void expectFailure(Sampler &sampler, const std::vector<float> &logits, const std::string &text,
                          perpend_sampler_input input = {}, perpend_status status = PERPEND_INVALID_DATA) {
  int32_t token = 77;
  EXPECT_EQ(sampler.sample(logits, token, input), status);
  EXPECT_NE(std::string(perpend_error_message()).find(text), std::string::npos) << perpend_error_message();
  EXPECT_EQ(token, 77);
}

TEST(Sampler, RefusesLogits) {
  for (double temperature : {0.0, 1.0}) {
    Sampler sampler(with(&perpend_sampler_options::temperature, temperature));
    expectFailure(sampler, {1, 2, nan_}, "logit of token 2: expected a number or -inf, got nan; hint: ");
    expectFailure(sampler, {infinity, 2}, "logit of token 0: expected a number or -inf, got inf; hint: ");
    expectFailure(sampler, {-infinity}, "expected a token that is possible, got 1 logits that are all -inf; hint: ");
    expectFailure(sampler, std::vector<float>(1000, -infinity), "got 1000 logits that are all -inf");
    expectFailure(sampler, {}, "expected from 1 to 2^31 - 1 logits", {}, PERPEND_INVALID_ARGUMENT);
    EXPECT_EQ(sampler.sample({-infinity, -3e38f, -infinity}), 1);
    EXPECT_EQ(sampler.sample({5}), 0);
  }
}

// Also where they are excluded or in the last elements of no whole vector.
TEST(Sampler, RefusesNanAnywhere) {
  Sampler sampler;
  for (size_t i = 0; i < 75; ++i) {
    std::vector<float> logits(75, 1);
    logits[i] = nan_;
    const uint32_t none[3] = {};
    perpend_sampler_input input = {};
    input.allowed = none;
    expectFailure(sampler, logits, "logit of token " + std::to_string(i) + ": expected a number or -inf, got nan",
                  input);
  }
}

TEST(Sampler, RefusesTexts) {
  Sampler sampler(with(&perpend_sampler_options::repetitionPenalty, 1.1));
  const int32_t tokens[] = {1, 3, -1};
  perpend_sampler_input input = {};
  input.tokens = tokens;
  input.tokenCount = 2;
  expectFailure(sampler, {1, 2, 3}, "text: expected token 1 to be in a vocabulary of 3, got 3", input);
  EXPECT_EQ(sampler.sample({1, 2, 3, -100}, input), sampler.sample({1, 2, 3, -100}, input));
  input.tokenCount = 3;
  expectFailure(sampler, {1, 2, 3, 4}, "text: expected token 2 to be in a vocabulary of 4, got -1", input);
  input.promptCount = 4;
  expectFailure(sampler, {1, 2, 3, 4}, "expected a prompt of 0 or more tokens", input, PERPEND_INVALID_ARGUMENT);
  input.promptCount = -1;
  expectFailure(sampler, {1, 2, 3, 4}, "expected a prompt of 0 or more tokens", input, PERPEND_INVALID_ARGUMENT);
  input = {};
  input.tokenCount = 1;
  expectFailure(sampler, {1}, "text: expected tokens and their number, got NULL and 1", input,
                PERPEND_INVALID_ARGUMENT);
}

TEST(Sampler, RefusesWhatOptionsMakeOfLogits) {
  const int32_t tokens[] = {1};
  const float biases[] = {3e38f};
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.biasTokens = tokens;
  options.biases = biases;
  options.biasCount = 1;
  Sampler sampler(options);
  expectFailure(sampler, {0, 3e38f}, "logit with penalties and bias of token 1: expected a number or -inf, got inf");
  expectFailure(sampler, {0}, "bias: expected token 0 to be in a vocabulary of 1, got 1");
  options = PERPEND_SAMPLER_DEFAULTS;
  options.stopTokens = tokens;
  options.stopTokenCount = 1;
  Sampler stops(options);
  expectFailure(stops, {0}, "stop tokens: expected token 0 to be in a vocabulary of 1, got 1");
}

TEST(Sampler, TiesGoToTheLowestId) {
  EXPECT_EQ(Sampler(with(&perpend_sampler_options::temperature, 0)).sample({1, 5, 5, 5}), 1);
  EXPECT_EQ(Sampler(with(&perpend_sampler_options::temperature, 0)).sample(std::vector<float>(70000, -2)), 0);
  EXPECT_EQ(Sampler(with(&perpend_sampler_options::topK, 3)).kept({1, 5, 2, 5, 2, 2}), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(Sampler(with(&perpend_sampler_options::topP, 0.3)).kept(std::vector<float>(10, 0)),
            (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(Sampler(with(&perpend_sampler_options::topP, 0)).kept({1, 5, 2, 5}), (std::vector<int32_t>{1}));
  EXPECT_EQ(Sampler(with(&perpend_sampler_options::typicalP, 0.5)).kept(std::vector<float>(4, 1)),
            (std::vector<int32_t>{0, 1}));
}

// Of 5000 equal tokens, found by halving the range of values and not by sorting all.
TEST(Sampler, ManyTies) {
  for (double share : {0.1, 0.5, 0.999}) {
    auto kept = Sampler(with(&perpend_sampler_options::topP, share)).kept(std::vector<float>(5000, 3));
    ASSERT_EQ(kept.size(), static_cast<size_t>(share * 5000));
    EXPECT_EQ(kept.back(), static_cast<int32_t>(kept.size()) - 1);
  }
}

TEST(Sampler, ExtremeTemperatures) {
  for (double temperature : {1e-300, 1e-30, 1e-6})
    EXPECT_EQ(Sampler(with(&perpend_sampler_options::temperature, temperature)).sample({1, 2, 4, 3.999f}), 2);
  for (double temperature : {1e30, 1e300}) {
    Sampler sampler(with(&perpend_sampler_options::temperature, temperature));
    EXPECT_EQ(sampler.kept({-3e38f, 3e38f, 0}).size(), 3u);
  }
  perpend_sampler_options options = with(&perpend_sampler_options::temperature, 1e-300);
  options.topP = 0.9, options.minP = 0.1, options.typicalP = 0.9;
  for (auto order : {PERPEND_TEMPERATURE_FIRST, PERPEND_TEMPERATURE_LAST}) {
    options.order = order;
    EXPECT_EQ(Sampler(options).sample({-3e38f, 3e38f, 0, -infinity}), 1);
  }
}

TEST(Sampler, Logprobs) {
  perpend_sampler_options options = with(&perpend_sampler_options::topLogprobs, 3);
  options.temperature = 0;
  double chosen = 0;
  const int32_t *tokens = nullptr;
  const double *logprobs = nullptr;
  int32_t count = 0;
  Sampler sampler(options);
  EXPECT_EQ(perpend_sampler_logprobs(sampler.sampler, &chosen, &tokens, &logprobs, &count), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(sampler.sample({std::log(1.0f), std::log(6.0f), -infinity, std::log(3.0f)}), 1);
  ASSERT_EQ(perpend_sampler_logprobs(sampler.sampler, &chosen, &tokens, &logprobs, &count), PERPEND_OK);
  EXPECT_NEAR(chosen, std::log(0.6), 1e-7);
  ASSERT_EQ(count, 3);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + 3), (std::vector<int32_t>{1, 3, 0}));
  EXPECT_NEAR(logprobs[2], std::log(0.1), 1e-7);
  options.logprobsOf = PERPEND_LOGPROBS_OF_DRAW;
  Sampler drawn(options);
  EXPECT_EQ(drawn.sample({1, 2}), 1);
  ASSERT_EQ(perpend_sampler_logprobs(drawn.sampler, &chosen, &tokens, &logprobs, &count), PERPEND_OK);
  EXPECT_EQ(chosen, 0);
  EXPECT_EQ(std::vector<int32_t>(tokens, tokens + count), (std::vector<int32_t>{1}));
}

TEST(Sampler, AllowedTokensAndStopTokens) {
  const int32_t stops[] = {0, 40};
  perpend_sampler_options options = with(&perpend_sampler_options::temperature, 0);
  options.stopTokens = stops;
  options.stopTokenCount = 2;
  options.minTokens = 2;
  Sampler sampler(options);
  std::vector<float> logits(41);
  for (size_t i = 0; i < 41; ++i)
    logits[i] = static_cast<float>(i);
  perpend_sampler_input input = {};
  EXPECT_EQ(sampler.sample(logits, input), 39); // 40 stops too early
  input.position = 2;
  EXPECT_EQ(sampler.sample(logits, input), 40);
  EXPECT_TRUE(perpend_sampler_stops(sampler.sampler, 40));
  EXPECT_FALSE(perpend_sampler_stops(sampler.sampler, 39));
  const uint32_t allowed[] = {1u << 31 | 1u << 7, 0xfffffe00}; // 7, 31, and bits beyond the vocabulary
  input.allowed = allowed;
  EXPECT_EQ(sampler.sample(logits, input), 31);
}

// A sampler that has seen other inputs, larger ones too, chooses as a new one does, and so do threads.
TEST(Sampler, ChoicesDependOnTheInputAlone) {
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.topP = 0.9;
  options.repetitionPenalty = 1.3;
  options.frequencyPenalty = -1; // such that tokens of the text are chosen
  options.seed = 11;
  const std::vector<float> large = normal(5000, 2, 1), small = normal(300, 2, 2);
  const int32_t tokens[] = {1, 2, 2, 299, 4};
  auto choose = [&](Sampler &sampler, const std::vector<float> &logits, uint64_t position) {
    perpend_sampler_input input = {};
    input.tokens = tokens;
    input.tokenCount = 5;
    input.promptCount = 1;
    input.position = position;
    return sampler.sample(logits, input);
  };
  std::vector<int32_t> expected;
  for (uint64_t position = 0; position < 100; ++position) {
    Sampler fresh(options);
    expected.push_back(choose(fresh, small, position));
  }
  std::vector<std::vector<int32_t>> found(4);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      Sampler used(options);
      for (uint64_t position = 0; position < 100; ++position) {
        choose(used, large, position * thread);
        found[thread].push_back(choose(used, small, position));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::vector<int32_t> &tokensOfThread : found)
    EXPECT_EQ(tokensOfThread, expected);
}

TEST(Sampler, EditsInPlace) {
  Sampler sampler(with(&perpend_sampler_options::presencePenalty, 2));
  std::vector<float> logits = {1, -infinity, 3, 4};
  const int32_t tokens[] = {2, 3};
  const uint32_t allowed[] = {7};
  perpend_sampler_input input = {};
  input.logits = logits.data();
  input.count = 4;
  input.tokens = tokens;
  input.tokenCount = 2;
  input.allowed = allowed;
  ASSERT_EQ(perpend_sampler_edit(sampler.sampler, &input, logits.data()), PERPEND_OK);
  EXPECT_EQ(logits, (std::vector<float>{1, -infinity, 1, -infinity}));
  EXPECT_EQ(perpend_sampler_edit(sampler.sampler, &input, nullptr), PERPEND_INVALID_ARGUMENT);
}

TEST(Sampler, OptionsAreReplaced) {
  const int32_t tokens[] = {2, 2};
  const float biases[] = {5, 5};
  perpend_sampler_options options = with(&perpend_sampler_options::temperature, 0);
  options.biasTokens = options.stopTokens = tokens;
  options.biases = biases;
  options.biasCount = options.stopTokenCount = 2;
  Sampler sampler(options);
  EXPECT_EQ(sampler.sample({0, 9, 0}), 2); // a token's biases add up
  perpend_sampler_options wrong = with(&perpend_sampler_options::topK, -1);
  EXPECT_EQ(perpend_sampler_set_options(sampler.sampler, &wrong), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(sampler.sample({0, 9, 0}), 2);
  options = with(&perpend_sampler_options::temperature, 0);
  EXPECT_EQ(perpend_sampler_set_options(sampler.sampler, &options), PERPEND_OK);
  EXPECT_EQ(sampler.sample({0, 9, 0}), 1);
  EXPECT_EQ(sampler.sample({0, 9}), 1);
  EXPECT_FALSE(perpend_sampler_stops(sampler.sampler, 2));
  EXPECT_EQ(perpend_sampler_set_options(sampler.sampler, nullptr), PERPEND_OK);
  EXPECT_EQ(sampler.kept({0, 9}).size(), 2u);
  EXPECT_EQ(perpend_sampler_set_options(nullptr, nullptr), PERPEND_INVALID_ARGUMENT);
}

// Filters that look at parts of the values keep what sorting all would.
TEST(Sampler, SelectionEqualsSorting) {
  for (size_t count : {1, 31, 33, 1000, 5000, 20000})
    for (float spread : {0.0f, 0.01f, 1.0f, 10.0f, 1e36f}) {
      std::vector<float> logits = normal(count, spread, static_cast<unsigned>(count));
      std::vector<int32_t> order(count);
      for (size_t i = 0; i < count; ++i)
        order[i] = static_cast<int32_t>(i);
      std::sort(order.begin(), order.end(),
                [&](int32_t a, int32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });
      for (int32_t k : {1, 2, 40, 300, 4999}) {
        std::vector<int32_t> expected(order.begin(), order.begin() + std::min<ptrdiff_t>(k, order.size()));
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(Sampler(with(&perpend_sampler_options::topK, k)).kept(logits), expected) << count << " " << spread;
      }
      for (double share : {0.001, 0.5, 0.9, 0.9999}) {
        double total = 0, sum = 0;
        for (float logit : logits)
          total += std::exp(static_cast<double>(logit) - logits[order[0]]);
        size_t kept = 0;
        while (kept < count && sum < share * total * (1 - 1e-9))
          sum += std::exp(static_cast<double>(logits[order[kept++]]) - logits[order[0]]);
        std::vector<int32_t> expected(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept));
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(Sampler(with(&perpend_sampler_options::topP, share)).kept(logits), expected)
            << count << " " << spread << " " << share;
      }
    }
}

static double oneOf(std::mt19937 &random, std::initializer_list<double> values) {
  return values.begin()[random() % values.size()];
}

static perpend_sampler_options randomOptions(std::mt19937 &random) {
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.temperature = oneOf(random, {0, 1e-300, 1e-30, 0.5, 1, 1, 2, 1e30, 1e300});
  options.topK = static_cast<int32_t>(oneOf(random, {0, 0, 1, 2, 40, 5000, INT32_MAX}));
  options.topP = oneOf(random, {1, 1, 0, 1e-300, 0.5, 0.95, 1 - 1e-16});
  options.minP = oneOf(random, {0, 0, 1e-300, 0.1, 1});
  options.typicalP = oneOf(random, {1, 1, 1e-300, 0.5, 1 - 1e-16});
  options.repetitionPenalty = oneOf(random, {1, 1, 1e-30, 1.2, 1e30});
  options.frequencyPenalty = oneOf(random, {0, 0, -2, 2, 1e30});
  options.noRepeatNgram = static_cast<int32_t>(oneOf(random, {0, 0, 1, 3, INT32_MAX}));
  options.topLogprobs = static_cast<int32_t>(oneOf(random, {-1, 0, 5, INT32_MAX}));
  options.order = static_cast<int32_t>(random() % 2);
  options.logprobsOf = static_cast<int32_t>(random() % 2);
  options.minTokens = static_cast<int32_t>(random() % 2);
  options.seed = random();
  return options;
}

static std::vector<int32_t> randomTokens(std::mt19937 &random, size_t most, size_t vocabulary) {
  std::vector<int32_t> tokens(random() % most);
  for (int32_t &token : tokens)
    token = static_cast<int32_t>(random() % vocabulary);
  return tokens;
}

// Whatever the options and the logits are, a token that is kept is drawn, or there is an error.
TEST(Sampler, RandomOptionsAndLogits) {
  std::mt19937 random(5);
  int drawn = 0;
  for (int round = 0; round < 3000; ++round) {
    const size_t count = 1 + random() % (round % 50 ? 90 : 9000);
    const float spread = static_cast<float>(oneOf(random, {0, 0.1, 1, 5, 1e5, 1e30}));
    std::vector<float> logits = normal(count, spread, static_cast<unsigned>(random()));
    if (random() % 3 == 0)
      for (float &logit : logits)
        logit = random() % 4 ? -infinity : logit;
    const std::vector<int32_t> tokens = randomTokens(random, 30, count), stops = randomTokens(random, 3, count);
    perpend_sampler_options options = randomOptions(random);
    options.stopTokens = stops.data();
    options.stopTokenCount = static_cast<int32_t>(stops.size());
    Sampler sampler(options);
    perpend_sampler_input input = {};
    input.tokens = tokens.data();
    input.tokenCount = static_cast<int64_t>(tokens.size());
    int32_t token = -1;
    const perpend_status status = sampler.sample(logits, token, input);
    ASSERT_TRUE(status == PERPEND_OK || status == PERPEND_INVALID_DATA) << perpend_error_message();
    if (status)
      continue;
    ++drawn;
    const std::vector<int32_t> kept = sampler.kept(logits, input);
    EXPECT_TRUE(std::binary_search(kept.begin(), kept.end(), token));
    EXPECT_LE(kept.size(), options.topK ? static_cast<size_t>(options.topK) : count);
  }
  EXPECT_GT(drawn, 1500);
}
