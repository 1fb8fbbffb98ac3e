// The C interface of language models, on a model that is written by hand.
#include "LlmTest.h"

#include <algorithm>
#include <numeric>

namespace {

INSTANTIATE_TEST_SUITE_P(Forms, Llm, testing::Values(fake::Form::Both, fake::Form::Single, fake::Form::Chunk));

TEST_P(Llm, TheCheckpointSaysHowToChoose) {
  open();
  perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
  options.topP = 0.5;
  perpend_llm_sampling(llm, &options);
  EXPECT_EQ(options.temperature, 0.25);
  EXPECT_EQ(options.topK, 7);
  EXPECT_EQ(options.topP, 0.5);
  EXPECT_EQ(options.minP, 0);
  EXPECT_EQ(options.repetitionPenalty, 1);
}

TEST_P(Llm, GeneratesGreedily) {
  open();
  create();
  EXPECT_EQ(perpend_llm_vocabulary(llm), fake::vocabulary);
  EXPECT_EQ(perpend_llm_context(llm), fake::context);
  set(prompt);
  Answer answer = generate(sequence, 10);
  EXPECT_EQ(answer.tokens, expected(prompt, 10));
  EXPECT_EQ(answer.finish, PERPEND_LLM_LENGTH);
  EXPECT_EQ(fake::computedTokens, 14); // the last token is not computed
  EXPECT_EQ(fake::runs, GetParam() == fake::Form::Single ? 14 : 10);
}

TEST_P(Llm, ComputesLongTextsInChunks) {
  open();
  create(3);
  Tokens text(20);
  std::iota(text.begin(), text.end(), 100);
  set(text);
  EXPECT_EQ(generate(sequence, 4).tokens, expected(text, 4));
  EXPECT_EQ(fake::runs, GetParam() == fake::Form::Single ? 23 : 10);
}

TEST_P(Llm, StreamsTheWholeText) {
  open();
  create();
  set(prompt);
  Answer answer = generate(sequence, 20);
  Tokens all = prompt;
  all.insert(all.end(), answer.tokens.begin(), answer.tokens.end());
  EXPECT_EQ(decode(prompt) + answer.text, decode(all));
  EXPECT_GT(answer.pieces.size(), 10u);
}

TEST_P(Llm, KeepsWhatTextsHaveInCommon) {
  open();
  create();
  set(prompt);
  generate(sequence, 6);
  const int64_t before = fake::computedTokens;
  Tokens next = prompt;
  for (int32_t token : expected(prompt, 6))
    next.push_back(token);
  next.insert(next.end(), {7, 8, 9});
  set(next);
  EXPECT_EQ(generate(sequence, 1).tokens, expected(next, 1));
  EXPECT_EQ(fake::computedTokens - before, 4); // the last one of the answer, and three new ones
  Tokens other = {50, 60, 71};
  set(other);
  int64_t cached = 0;
  perpend_llm_sequence_tokens(sequence, nullptr, nullptr, &cached);
  EXPECT_EQ(cached, 2);
  EXPECT_EQ(generate(sequence, 5).tokens, expected(other, 5));
  set({50, 60});
  EXPECT_EQ(generate(sequence, 5).tokens, expected({50, 60}, 5)); // all cached, but without its logits
  set({51});
  EXPECT_EQ(generate(sequence, 3).tokens, expected({51}, 3));
}

TEST_P(Llm, SaysLogprobs) {
  open();
  create();
  set(prompt);
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  sampler.temperature = 0;
  sampler.topLogprobs = 2;
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler;
  options.maxTokens = 3;
  ASSERT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_OK) << perpend_error_message();
  double others = 0; // of the model's logits: 9, 8, and -i / 100 of the rest
  perpend_llm_piece piece{};
  double chosen = 0;
  const int32_t *tokens = nullptr;
  const double *logprobs = nullptr;
  int32_t count = 0;
  auto ask = [&] { return perpend_llm_sequence_logprobs(sequence, &chosen, &tokens, &logprobs, &count); };
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT); // no choice yet
  for (int token : expected(prompt, 3)) {
    ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK) << perpend_error_message();
    others = 0;
    for (int i = 0; i < fake::vocabulary; ++i)
      others += i == token || i == token + 1 ? 0 : std::exp(-i / 100.0);
    const double total = std::log(std::exp(9.0) + std::exp(8.0) + others);
    ASSERT_EQ(ask(), PERPEND_OK) << perpend_error_message();
    EXPECT_NEAR(chosen, 9 - total, 1e-5);
    ASSERT_EQ(count, 2);
    EXPECT_EQ(tokens[0], token);
    EXPECT_EQ(tokens[1], token + 1);
    EXPECT_EQ(logprobs[0], chosen);
    EXPECT_NEAR(logprobs[1], 8 - total, 1e-5);
  }
  ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK); // the end
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT);
  expectMessage("has chosen a token, got another");
  set(prompt);
  ASSERT_EQ(perpend_llm_sequence_start(sequence, nullptr), PERPEND_OK);
  ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK);
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT);
  expectMessage("create the sampler with topLogprobs of 0 or more");
  ASSERT_EQ(perpend_llm_sequence_truncate(sequence, 2), PERPEND_OK);
  EXPECT_EQ(ask(), PERPEND_INVALID_ARGUMENT);
  EXPECT_EQ(perpend_llm_sequence_logprobs(nullptr, &chosen, &tokens, &logprobs, &count), PERPEND_INVALID_ARGUMENT);
}

// Callers own the struct, and those of an earlier header have no more room.
TEST_P(Llm, PiecesKeepTheirSize) {
  open();
  create();
  set(prompt);
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  sampler.topLogprobs = 2;
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler;
  ASSERT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_OK) << perpend_error_message();
  constexpr size_t known = 16 + sizeof(perpend_string);
  alignas(perpend_llm_piece) unsigned char bytes[known + 64];
  memset(bytes, 0xA5, sizeof bytes);
  ASSERT_EQ(perpend_llm_sequence_next(sequence, reinterpret_cast<perpend_llm_piece *>(bytes)), PERPEND_OK);
  EXPECT_TRUE(std::all_of(bytes + known, std::end(bytes), [](unsigned char byte) { return byte == 0xA5; }));
}

TEST_P(Llm, EndsWithStopTokens) {
  const Tokens said = expected(prompt, 5);
  open("", {639, said[4]});
  create();
  set(prompt);
  Answer answer = generate(sequence, -1);
  EXPECT_EQ(answer.tokens, said);
  EXPECT_EQ(answer.finish, PERPEND_LLM_STOP);
  EXPECT_EQ(answer.stopString, -1);
  EXPECT_EQ(answer.pieces.back(), "");
  perpend_llm_piece piece{};
  EXPECT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK); // the end stays
  EXPECT_EQ(piece.token, -1);
  EXPECT_EQ(piece.finish, PERPEND_LLM_STOP);
}

TEST_P(Llm, EndsWithStopStrings) {
  open();
  create();
  set(prompt);
  const std::string whole = generate(sequence, 12).text;
  ASSERT_GT(whole.size(), 8u);
  const std::string stop = whole.substr(4, 3);
  set(prompt);
  Answer answer = generate(sequence, 12, {"never said", stop});
  EXPECT_EQ(answer.text, whole.substr(0, whole.find(stop)));
  EXPECT_EQ(answer.finish, PERPEND_LLM_STOP);
  EXPECT_EQ(answer.stopString, 1);
}

TEST_P(Llm, EndsWhenTheContextIsFull) {
  open();
  create();
  set(prompt);
  Answer answer = generate(sequence, -1);
  EXPECT_EQ(answer.finish, PERPEND_LLM_LENGTH);
  EXPECT_EQ(answer.tokens, expected(prompt, fake::context - prompt.size()));
  Answer nothing = generate(sequence, -1);
  EXPECT_EQ(nothing.finish, PERPEND_LLM_LENGTH);
  EXPECT_TRUE(nothing.tokens.empty());
  Tokens tooLong(fake::context + 1, 50);
  EXPECT_EQ(perpend_llm_sequence_set(sequence, tooLong.data(), fake::context + 1), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected at most 32 tokens, the context of this model, got 33; hint: a shorter text");
  EXPECT_EQ(perpend_llm_sequence_add(sequence, tooLong.data(), 1), PERPEND_INVALID_ARGUMENT);
}

TEST_P(Llm, GoesOnAfterFailedRuns) {
  open();
  create();
  set(prompt);
  const float *logits = nullptr;
  for (perpend_status status : {PERPEND_OUT_OF_MEMORY, PERPEND_CORRUPT}) {
    fake::failure = status;
    EXPECT_EQ(perpend_llm_sequence_logits(sequence, &logits, nullptr), status);
  }
  EXPECT_EQ(generate(sequence, 6).tokens, expected(prompt, 6));
}

/// The tokens of one beam search; empty, with `status`, if it fails.
static Tokens search(perpend_llm_sequence *sequence, perpend_beams_ending ending, perpend_status &status) {
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.maxTokens = 6;
  options.beams = 3;
  options.beamsEnding = ending;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_OK) << perpend_error_message();
  Tokens tokens;
  perpend_llm_piece piece{};
  while (!piece.finish) {
    status = perpend_llm_sequence_next(sequence, &piece);
    if (status != PERPEND_OK)
      break;
    tokens.push_back(piece.token);
  }
  return tokens;
}

TEST_P(Llm, SearchesWithBeams) {
  open();
  create();
  set(prompt);
  perpend_status status = PERPEND_OK;
  // Of this model the most probable token is e times as probable as the next one, so greedy is the best.
  for (perpend_beams_ending ending : {PERPEND_BEAMS_LIKELY, PERPEND_BEAMS_FULL, PERPEND_BEAMS_CERTAIN}) {
    set(prompt);
    EXPECT_EQ(search(sequence, ending, status), expected(prompt, 6)) << ending;
  }
}

TEST_P(Llm, SearchesAgainAfterAFailedRun) {
  open();
  create();
  perpend_status status = PERPEND_OK;
  set(prompt);
  fake::runs = 0;
  (void)search(sequence, PERPEND_BEAMS_LIKELY, status);
  const int64_t runs = fake::runs;
  EXPECT_GT(runs, 10) << "three beams of six tokens";
  for (int64_t number = 0; number < runs; ++number) {
    set({});
    set(prompt);
    fake::failure = PERPEND_OUT_OF_MEMORY;
    fake::runsToFailure = number;
    EXPECT_EQ(search(sequence, PERPEND_BEAMS_LIKELY, status), Tokens()) << number;
    EXPECT_EQ(status, PERPEND_OUT_OF_MEMORY) << number;
    EXPECT_EQ(fake::failure, 0);
    perpend_llm_piece piece{};
    ASSERT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_OK) << perpend_error_message();
    EXPECT_EQ(piece.token, expected(prompt, 1)[0]) << "the next call searches again";
  }
}

TEST_P(Llm, RendersConversations) {
  open("{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<bot>{% endif "
       "%}");
  create();
  std::vector<perpend_llm_message> messages = {{view("system"), view("Be short.")}, {view("user"), view("Hi")}};
  char *text = nullptr;
  int64_t size = 0;
  ASSERT_EQ(perpend_llm_render(llm, messages.data(), 2, &text, &size), PERPEND_OK) << perpend_error_message();
  EXPECT_EQ(std::string(text, static_cast<size_t>(size)), "<system>Be short.\n<user>Hi\n<bot>");
  perpend_tokenizer_release(text);
  ASSERT_EQ(perpend_llm_sequence_set_chat(sequence, messages.data(), 2), PERPEND_OK) << perpend_error_message();
  const int32_t *tokens = nullptr;
  int64_t count = 0;
  perpend_llm_sequence_tokens(sequence, &tokens, &count, nullptr);
  EXPECT_EQ(decode(Tokens(tokens, tokens + count)), "<system>Be short.\n<user>Hi\n<bot>");
}

TEST_P(Llm, TakesNoSpecialTokensOfMessages) {
  open("{% for m in messages %}{{ m.content | trim }}<|end|>{% endfor %}");
  create();
  const int32_t end = perpend_tokenizer_find(perpend_llm_tokenizer(llm), view("<|end|>"));
  ASSERT_GE(end, 0);
  perpend_llm_message message = {view("user"), view(" a<|end|><|end|>b <|<|end|> ")};
  ASSERT_EQ(perpend_llm_sequence_set_chat(sequence, &message, 1), PERPEND_OK) << perpend_error_message();
  const int32_t *tokens = nullptr;
  int64_t count = 0;
  perpend_llm_sequence_tokens(sequence, &tokens, &count, nullptr);
  EXPECT_EQ(std::count(tokens, tokens + count, end), 1);
  EXPECT_EQ(tokens[count - 1], end);
  EXPECT_EQ(decode(Tokens(tokens, tokens + count)), "a<|end|><|end|>b <|<|end|>");
}

TEST_P(Llm, SaysWhyThereIsNoTemplate) {
  open("{% for m in messages %}{{ m.content | unheard_of }}{% endfor %}");
  EXPECT_FALSE(perpend_llm_has_template(llm));
  char *text = nullptr;
  int64_t size = 0;
  perpend_llm_message message = {view("user"), view("Hi")};
  EXPECT_EQ(perpend_llm_render(llm, &message, 1, &text, &size), PERPEND_INVALID_ARGUMENT);
  expectMessage("the model's chat template cannot be used: line 1");
}

TEST_P(Llm, PassesOnErrorsOfTemplates) {
  open("{{ raise_exception('roles must alternate') }}");
  char *text = nullptr;
  int64_t size = 0;
  EXPECT_EQ(perpend_llm_render(llm, nullptr, 0, &text, &size), PERPEND_INVALID_DATA);
  expectMessage("chat template: line 1: roles must alternate");
}

TEST_P(Llm, RefusesDamagedSettings) {
  cutBytes = 1;
  open("", {1});
  EXPECT_EQ(status, PERPEND_CORRUPT);
  expectMessage("its settings are damaged");
}

TEST_P(Llm, RefusesWrongArguments) {
  open();
  create();
  perpend_llm_piece piece{};
  const float *logits = nullptr;
  const int32_t wrong = static_cast<int32_t>(fake::vocabulary);
  EXPECT_EQ(perpend_llm_sequence_logits(sequence, &logits, nullptr), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected at least one token, got an empty text");
  EXPECT_EQ(perpend_llm_sequence_next(sequence, &piece), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected a generation");
  EXPECT_EQ(perpend_llm_sequence_set(sequence, &wrong, 1), PERPEND_INVALID_DATA);
  expectMessage("expected token 0 to be in a vocabulary of 640, got 640");
  set(prompt);
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.maxTokens = -2;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  sampler.temperature = -1;
  options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  expectMessage("temperature");
  options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.beams = PERPEND_LLM_MOST_BEAMS + 1;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected 0 to 32 beams, got 33");
  options.beams = 2;
  options.lengthPenalty = NAN;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  expectMessage("length penalty: expected a number from -16 to 16");
  options.lengthPenalty = 1;
  options.beamsEnding = 3;
  EXPECT_EQ(perpend_llm_sequence_start(sequence, &options), PERPEND_INVALID_ARGUMENT);
  expectMessage("expected PERPEND_BEAMS_LIKELY, FULL or CERTAIN, got 3");
}

} // namespace
