// Beam search on models that are tables, against all sequences that there are. test/python/test_sampling.py compares it
// with transformers.
#include "perpend_sampling.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

using Tokens = std::vector<int32_t>;

namespace {
// Logits that depend on the latest token and on how many there are.
struct TableModel {
  TableModel(int32_t vocabulary, int64_t length, unsigned seed) : vocabulary(vocabulary) {
    std::mt19937 random(seed);
    std::normal_distribution<float> numbers(0, 2);
    table.resize(static_cast<size_t>((vocabulary + 1) * length * vocabulary));
    for (float &logit : table)
      logit = numbers(random);
  }
  std::vector<float> logits(const Tokens &tokens) const {
    const size_t last = static_cast<size_t>(tokens.empty() ? vocabulary : tokens.back());
    const size_t row = tokens.size() * static_cast<size_t>(vocabulary + 1) + last;
    const float *begin = table.data() + row * static_cast<size_t>(vocabulary);
    return {begin, begin + vocabulary};
  }
  double logprob(const Tokens &tokens, int32_t next) const {
    double sum = 0;
    const std::vector<float> row = logits(tokens);
    for (float logit : row)
      sum += std::exp(static_cast<double>(logit));
    return row[static_cast<size_t>(next)] - std::log(sum);
  }

  int32_t vocabulary;
  std::vector<float> table;
};

struct Scored {
  Tokens tokens;
  double score;
};

struct Search {
  explicit Search(const perpend_beams_options &options) {
    EXPECT_EQ(perpend_beams_create(&options, &beams), PERPEND_OK) << perpend_error_message();
  }
  ~Search() { perpend_beams_free(beams); }
  std::vector<Scored> list(bool live) {
    std::vector<Scored> all;
    const int32_t count = live ? perpend_beams_live_count(beams) : perpend_beams_finished_count(beams);
    for (int32_t i = 0; i < count; ++i) {
      perpend_beam beam;
      EXPECT_EQ((live ? perpend_beams_live : perpend_beams_finished)(beams, i, &beam), PERPEND_OK);
      all.push_back({{beam.tokens, beam.tokens + beam.count}, beam.score});
    }
    return all;
  }
  std::vector<Scored> run(const TableModel &model) {
    while (perpend_beams_live_count(beams)) {
      std::vector<float> rows;
      for (const Scored &beam : list(/*live=*/true)) {
        const std::vector<float> row = model.logits(beam.tokens);
        rows.insert(rows.end(), row.begin(), row.end());
      }
      EXPECT_EQ(perpend_beams_step(beams, rows.data(), perpend_beams_live_count(beams), model.vocabulary), PERPEND_OK)
          << perpend_error_message();
    }
    return list(/*live=*/false);
  }
  perpend_beams *beams = nullptr;
};
} // namespace

static void addAll(const TableModel &model, int64_t most, double penalty, int32_t stop, Tokens &tokens, double sum,
                   std::vector<Scored> &all) {
  for (int32_t next = 0; next < model.vocabulary; ++next) {
    const double score = sum + model.logprob(tokens, next);
    tokens.push_back(next);
    if (next == stop || static_cast<int64_t>(tokens.size()) == most)
      all.push_back({tokens, score / std::pow(static_cast<double>(tokens.size()), penalty)});
    else
      addAll(model, most, penalty, stop, tokens, score, all);
    tokens.pop_back();
  }
}

static perpend_beams_options optionsOf(int32_t beams, int64_t most, double penalty, const int32_t *stop) {
  perpend_beams_options options = PERPEND_BEAMS_DEFAULTS;
  options.beams = beams;
  options.maxTokens = most;
  options.lengthPenalty = penalty;
  options.stopTokens = stop;
  options.stopTokenCount = stop ? 1 : 0;
  return options;
}

// With as many beams as there are sequences, the search finds all of them, in order.
TEST(Beams, EqualsAllSequences) {
  const int32_t stop = 1;
  for (unsigned seed = 0; seed < 20; ++seed)
    for (double penalty : {0.0, 1.0, 2.0, -1.0})
      for (bool hasStop : {true, false}) {
        const TableModel model(3, 4, seed);
        std::vector<Scored> all;
        Tokens tokens;
        addAll(model, 4, penalty, hasStop ? stop : -1, tokens, 0, all);
        std::sort(all.begin(), all.end(), [](const Scored &a, const Scored &b) { return a.score > b.score; });
        perpend_beams_options options =
            optionsOf(static_cast<int32_t>(all.size()), 4, penalty, hasStop ? &stop : nullptr);
        options.ending = PERPEND_BEAMS_CERTAIN;
        const std::vector<Scored> found = Search(options).run(model);
        ASSERT_EQ(found.size(), all.size());
        for (size_t i = 0; i < all.size(); ++i) {
          EXPECT_EQ(found[i].tokens, all[i].tokens) << seed << " " << penalty << " " << i;
          EXPECT_NEAR(found[i].score, all[i].score, 1e-6);
        }
      }
}

TEST(Beams, OneBeamIsGreedy) {
  const TableModel model(7, 6, 5);
  Tokens greedy;
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> row = model.logits(greedy);
    greedy.push_back(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  EXPECT_EQ(Search(optionsOf(1, 6, 1, nullptr)).run(model)[0].tokens, greedy);
}

TEST(Beams, ParentsAndTies) {
  Search search(optionsOf(3, 10, 1, nullptr));
  const std::vector<float> first = {0, 0, 0, 0}, second(12, 0);
  ASSERT_EQ(perpend_beams_step(search.beams, first.data(), 1, 4), PERPEND_OK);
  ASSERT_EQ(perpend_beams_step(search.beams, second.data(), 3, 4), PERPEND_OK);
  perpend_beam beam;
  for (int32_t i = 0; i < 3; ++i) { // all are equal: the lowest row, then the lowest tokens
    ASSERT_EQ(perpend_beams_live(search.beams, i, &beam), PERPEND_OK);
    EXPECT_EQ(beam.parent, 0);
    EXPECT_EQ(Tokens(beam.tokens, beam.tokens + beam.count), (Tokens{0, i}));
    EXPECT_NEAR(beam.score, 2 * std::log(0.25), 1e-12);
  }
}

TEST(Beams, Endings) {
  const int32_t stop = 0;
  // The finished beam has -0.3, the live one -1.3: divided by 10 tokens squared, it could still become better.
  for (auto [ending, live] :
       {std::pair(PERPEND_BEAMS_LIKELY, 0), {PERPEND_BEAMS_FULL, 0}, {PERPEND_BEAMS_CERTAIN, 1}}) {
    perpend_beams_options options = optionsOf(1, 10, 2, &stop);
    options.ending = ending;
    Search search(options);
    const float logits[] = {2, 1};
    ASSERT_EQ(perpend_beams_step(search.beams, logits, 1, 2), PERPEND_OK);
    EXPECT_EQ(perpend_beams_live_count(search.beams), live);
    EXPECT_EQ(search.list(/*live=*/false)[0].tokens, (Tokens{0}));
  }
  // Two are finished, with -1.2 and -1.6, and one with -0.7 lives.
  const float rows[] = {std::log(0.3f), std::log(0.69f), std::log(0.01f), -9, -9, -9};
  for (auto [ending, live] : {std::pair(PERPEND_BEAMS_LIKELY, 2), {PERPEND_BEAMS_FULL, 0}}) {
    perpend_beams_options options = optionsOf(2, 10, 0, &stop);
    options.ending = ending;
    Search search(options);
    ASSERT_EQ(perpend_beams_step(search.beams, rows, 1, 3), PERPEND_OK);
    ASSERT_EQ(perpend_beams_finished_count(search.beams), 1);
    ASSERT_EQ(perpend_beams_live_count(search.beams), 2);
    ASSERT_EQ(perpend_beams_step(search.beams, rows, 2, 3), PERPEND_OK);
    EXPECT_EQ(perpend_beams_finished_count(search.beams), 2);
    EXPECT_EQ(perpend_beams_live_count(search.beams), live);
  }
}

// A beam that stops is finished only if it is one of the best.
TEST(Beams, StopsOfWorseBeamsAreDropped) {
  const int32_t stop = 0;
  Search search(optionsOf(1, 10, 1, &stop));
  const float logits[] = {1, 2};
  ASSERT_EQ(perpend_beams_step(search.beams, logits, 1, 2), PERPEND_OK);
  EXPECT_EQ(perpend_beams_finished_count(search.beams), 0);
  EXPECT_EQ(search.list(/*live=*/true)[0].tokens, (Tokens{1}));
}

// Fewer tokens are possible than there are beams.
TEST(Beams, FewTokens) {
  Search search(optionsOf(5, 2, 1, nullptr));
  const float infinity = std::numeric_limits<float>::infinity();
  const float first[] = {0, -infinity, 1}, second[] = {-infinity, -infinity, 0, 0, -infinity, -infinity};
  ASSERT_EQ(perpend_beams_step(search.beams, first, 1, 3), PERPEND_OK);
  EXPECT_EQ(perpend_beams_live_count(search.beams), 2);
  ASSERT_EQ(perpend_beams_step(search.beams, second, 2, 3), PERPEND_OK);
  const std::vector<Scored> found = search.list(/*live=*/false);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].tokens, (Tokens{2, 2}));
  EXPECT_EQ(found[1].tokens, (Tokens{0, 0}));
}

static void expectRefused(const perpend_beams_options &options, const std::string &text) {
  perpend_beams *beams = nullptr;
  EXPECT_EQ(perpend_beams_create(&options, &beams), PERPEND_INVALID_ARGUMENT);
  EXPECT_NE(std::string(perpend_error_message()).find(text), std::string::npos) << perpend_error_message();
  EXPECT_EQ(beams, nullptr);
}

TEST(Beams, RefusesOptions) {
  expectRefused(optionsOf(0, 1, 1, nullptr), "beams: expected 1 or more, got 0");
  expectRefused(optionsOf(1, 0, 1, nullptr), "largest number of tokens: expected 1 or more, got 0");
  const double bad[] = {17, -1e300, std::nan(""), std::numeric_limits<double>::infinity()};
  for (double penalty : bad)
    expectRefused(optionsOf(1, 1, penalty, nullptr), "length penalty: expected a number from -16 to 16, got ");
  const int32_t negative = -3;
  expectRefused(optionsOf(1, 1, 1, &negative), "beams: stop tokens: expected token 0 to be in a vocabulary");
  perpend_beams_options options = PERPEND_BEAMS_DEFAULTS;
  options.ending = 3;
  expectRefused(options, "ending: expected PERPEND_BEAMS_LIKELY, FULL or CERTAIN, got 3");
  options = PERPEND_BEAMS_DEFAULTS;
  options.rowsAreLogprobs = 2;
  expectRefused(options, "rows are log-probabilities: expected 0 or 1, got 2");
  options = PERPEND_BEAMS_DEFAULTS;
  options.sizeBytes = 3;
  expectRefused(options, "beams: expected sizeBytes to be the size of the struct");
  perpend_beams *beams = nullptr;
  ASSERT_EQ(perpend_beams_create(nullptr, &beams), PERPEND_OK);
  perpend_beams_free(beams);
  perpend_beams_free(nullptr);
}

TEST(Beams, RefusesSteps) {
  Search search(optionsOf(INT32_MAX, 1, 1, nullptr)); // more than there can be, and no memory for them
  const float infinity = std::numeric_limits<float>::infinity();
  auto expect = [&](std::vector<float> logits, int32_t rows, perpend_status status, const std::string &text) {
    EXPECT_EQ(perpend_beams_step(search.beams, logits.data(), rows, static_cast<int64_t>(logits.size())), status);
    EXPECT_NE(std::string(perpend_error_message()).find(text), std::string::npos) << perpend_error_message();
    EXPECT_EQ(perpend_beams_live_count(search.beams), 1);
  };
  expect({1, 2}, 2, PERPEND_INVALID_ARGUMENT, "expected a row of logits for each of 1 live beams, got 2");
  expect({1, std::nanf("")}, 1, PERPEND_INVALID_DATA, "logit of token 1: expected a number or -inf, got nan");
  expect({infinity, 0}, 1, PERPEND_INVALID_DATA, "logit of token 0: expected a number or -inf, got inf");
  expect({-infinity, -infinity}, 1, PERPEND_INVALID_DATA, "row 0: expected a token that is possible");
  expect({}, 1, PERPEND_INVALID_ARGUMENT, "expected a search and from 1 to 2^31 - 1 logits");
  perpend_beam beam;
  EXPECT_EQ(perpend_beams_live(search.beams, 1, &beam), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_beams_finished(search.beams, 0, &beam), PERPEND_INVALID_ARGUMENT);
  EXPECT_STREQ(perpend_error_message(), "beams: expected the index of one of 0 finished beams, got it and 0");
  const float logits[] = {1, 2};
  ASSERT_EQ(perpend_beams_step(search.beams, logits, 1, 2), PERPEND_OK);
  EXPECT_EQ(perpend_beams_step(search.beams, logits, 1, 2), PERPEND_INVALID_ARGUMENT);
  EXPECT_STREQ(perpend_error_message(), "beams: expected a row of logits for each of 0 live beams, got 1; hint: the "
                                        "search has ended");
}
