// Runs a language model in a terminal or a pipe. Standard output has what the model says and nothing else.
#include "llm/Program.h"
#include "llm/Conversation.h"
#include "llm/LanguageModel.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace perpend::llm {

ProgramOptions::ProgramOptions() : sampler(PERPEND_SAMPLER_DEFAULTS) {
  sampler.temperature = sampler.topP = sampler.minP = sampler.repetitionPenalty = NAN;
  sampler.topK = -1;
}

perpend_sampler_options ProgramOptions::samplerFor(const perpend_llm *llm) const {
  perpend_sampler_options result = sampler;
  result.temperature = 0.8;
  result.topK = 40;
  result.topP = 0.95;
  result.minP = 0.05;
  result.repetitionPenalty = 1;
  perpend_llm_sampling(llm, &result);
  auto set = [](double &option, double given) { option = std::isnan(given) ? option : given; };
  set(result.temperature, sampler.temperature);
  set(result.topP, sampler.topP);
  set(result.minP, sampler.minP);
  set(result.repetitionPenalty, sampler.repetitionPenalty);
  if (sampler.topK >= 0)
    result.topK = sampler.topK;
  result.biasTokens = biasTokens;
  result.biases = biases;
  return result;
}

bool complain(const char *format, ...) {
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  char *hint = strstr(text, "; hint: ");
  if (hint)
    *hint = '\0';
  fflush(stdout);
  fprintf(stderr, "error: %s\n", text);
  if (hint)
    fprintf(stderr, "%s\n", hint + 2);
  return false;
}

namespace {

perpend_string textOf(const char *text) { return {text, static_cast<int64_t>(strlen(text))}; }

// How the text of an option becomes the member that ProgramOptions.def names.
bool setSwitch(ProgramOptions &, const char *, const char *, bool &value) { return value = true; }

bool setText(ProgramOptions &, const char *, const char *text, const char *&value) {
  value = text;
  return true;
}

template <typename Integer> bool setCount(ProgramOptions &, const char *flag, const char *text, Integer &value) {
  char *end = nullptr;
  errno = 0;
  const long long count = strtoll(text, &end, 10);
  value = static_cast<Integer>(count);
  return (end != text && !*end && !errno && count >= 0 && count <= INT32_MAX) ||
         complain("option '--%s': expected a whole number of at least 0, got '%s'", flag, text);
}

bool setSeed(ProgramOptions &, const char *flag, const char *text, uint64_t &value) {
  char *end = nullptr;
  errno = 0;
  value = strtoull(text, &end, 10);
  return (end != text && !*end && !errno && *text != '-') ||
         complain("option '--%s': expected a whole number of at most 64 bits, got '%s'", flag, text);
}

bool setNumber(ProgramOptions &, const char *flag, const char *text, double &value) {
  char *end = nullptr;
  value = strtod(text, &end);
  return (end != text && !*end && std::isfinite(value)) ||
         complain("option '--%s': expected a number, got '%s'", flag, text);
}

bool setList(ProgramOptions &options, const char *, const char *text, perpend_string (&stops)[mostStopStrings]) {
  if (options.stopCount == mostStopStrings)
    return complain("option '--stop': expected at most %d texts", mostStopStrings);
  stops[options.stopCount++] = textOf(text);
  return true;
}

bool setList(ProgramOptions &options, const char *, const char *text, float (&biases)[mostBiases]) {
  int32_t &count = options.sampler.biasCount;
  if (count == mostBiases)
    return complain("option '--logit-bias': expected at most %d tokens", mostBiases);
  char *equals = nullptr, *end = nullptr;
  errno = 0;
  const long long token = strtoll(text, &equals, 10);
  const bool hasToken = equals != text && *equals == '=' && !errno && token >= 0 && token <= INT32_MAX;
  const float bias = hasToken ? strtof(equals + 1, &end) : NAN;
  const bool isTooLarge = std::isinf(bias) && errno == ERANGE;
  if (!hasToken || end == equals + 1 || *end || isTooLarge || !(bias < INFINITY)) // NaN, too
    return complain("option '--logit-bias': expected the id of a token and a number, such as 11=-2.5 or 11=-inf, got "
                    "'%s'",
                    text);
  options.biasTokens[count] = static_cast<int32_t>(token);
  biases[count++] = bias;
  return true;
}

} // namespace

const OptionInfo programOptions[] = {
#define OPTION(FLAG, KIND, MEMBER, VALUE_NAME, HELP)                                                                   \
  {FLAG, OptionKind::KIND, VALUE_NAME, HELP,                                                                           \
   [](ProgramOptions &options, const char *value) { return set##KIND(options, FLAG, value, options.MEMBER); }},
#include "llm/ProgramOptions.def"
};
const int32_t programOptionCount = sizeof programOptions / sizeof *programOptions;

perpend_string precisionOf(const perpend_model *model) {
  static constexpr char key[] = "\"precision\":\"";
  const char *found = strstr(perpend_model_descriptor(model), key);
  const char *text = found ? found + sizeof key - 1 : "f32";
  return {text, static_cast<int64_t>(strcspn(text, "\""))};
}

bool reportError() { return complain("%s", perpend_error_message()); }

namespace {

volatile sig_atomic_t isInterrupted = 0;

/// While an answer is printed to a terminal, an interruption ends the answer and not the program.
class Interruptions {
public:
  explicit Interruptions(bool isTerminal) : isTerminal(isTerminal) {
    isInterrupted = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) { isInterrupted = 1; };
    action.sa_flags = SA_RESTART | SA_RESETHAND; // the second one ends the program
    if (isTerminal)
      sigaction(SIGINT, &action, &before);
  }
  Interruptions(const Interruptions &) = delete;
  Interruptions &operator=(const Interruptions &) = delete;
  ~Interruptions() {
    if (isTerminal)
      sigaction(SIGINT, &before, nullptr);
  }

private:
  bool isTerminal;
  struct sigaction before = {};
};

/// A model with one sequence.
class Program {
public:
  explicit Program(const ProgramOptions &options) : options(options) {}
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() {
    perpend_llm_sequence_free(sequence);
    perpend_llm_free(llm);
  }
  // Begins a conversation, or goes on with that of the session.
  bool open(perpend_model *model, Conversation &conversation);
  /// Prints what follows the sequence's text; `answer`, unless NULL, gets it, too.
  bool print(tokenizer::Array<char> *answer);

  // An answer was printed.
  bool finishTurn(Conversation &conversation, const tokenizer::Array<char> &answer);
  // These tokens of a text follow the sequence's.
  bool add(perpend_string text);

  // Whether the text so far, if there is one, is a conversation.
  bool hasTurns(const Conversation &conversation) const {
    return !conversation.isEmpty() || !tokenCount() ||
           complain("the session is a text without turns; hint: `run` with --raw continues it");
  }
  int64_t tokenCount() const {
    int64_t count = 0;
    perpend_llm_sequence_tokens(sequence, nullptr, &count, nullptr);
    return count;
  }
  /// Of a conversation, so that there is room for an answer.
  int64_t mostTokens() const {
    const int64_t context = perpend_llm_context(llm), room = context / 4;
    return context - (options.maxTokens >= 0 && options.maxTokens < room ? options.maxTokens : room);
  }

  const ProgramOptions &options;
  perpend_sampler_options sampler = PERPEND_SAMPLER_DEFAULTS;
  perpend_llm *llm = nullptr;
  perpend_llm_sequence *sequence = nullptr;
  bool endsLine = false; // what was printed

private:
  bool readPrinted(int64_t count, tokenizer::Array<char> &text) const;
  bool keepPrinted(const tokenizer::Array<char> &answer);

  int64_t promptCount = 0; // tokens before the answer
  int32_t finish = PERPEND_LLM_GOES_ON;
};

bool Program::open(perpend_model *model, Conversation &conversation) {
  perpend_llm_sequence_options sizes = PERPEND_LLM_SEQUENCE_DEFAULTS;
  sizes.threads = static_cast<int32_t>(options.threads);
  if (!check(perpend_llm_create(model, &llm)) || !check(perpend_llm_sequence_create(llm, &sizes, &sequence)))
    return false;
  sampler = options.samplerFor(llm);
  const perpend_string precision = precisionOf(model);
  if (options.isVerbose)
    fprintf(stderr,
            "temperature %g, top-k %d, top-p %g, min-p %g, repeat-penalty %g, typical-p %g, presence-penalty %g, "
            "frequency-penalty %g, penalty-window %lld, biases %d, beams %d, length-penalty %g, seed %llu, context "
            "%lld tokens, precision "
            "%.*s\n",
            sampler.temperature, sampler.topK, sampler.topP, sampler.minP, sampler.repetitionPenalty, sampler.typicalP,
            sampler.presencePenalty, sampler.frequencyPenalty, static_cast<long long>(sampler.penaltyWindow),
            sampler.biasCount, options.beams, options.lengthPenalty, static_cast<unsigned long long>(sampler.seed),
            static_cast<long long>(perpend_llm_context(llm)), static_cast<int>(precision.sizeBytes), precision.data);
  if (options.session && !conversation.load(options.session, sequence))
    return false;
  if (options.system && tokenCount())
    return complain("--system: the session has begun; hint: leave --system out, or name another file");
  if (options.system && !options.isRaw)
    conversation.add(Role::System, options.system, strlen(options.system));
  return true;
}

bool Program::add(perpend_string text) {
  int32_t *tokens = nullptr;
  int64_t count = 0;
  const bool isGood = check(perpend_tokenizer_encode(perpend_llm_tokenizer(llm), text, 0, &tokens, &count)) &&
                      check(perpend_llm_sequence_add(sequence, tokens, count));
  perpend_tokenizer_release(tokens);
  return isGood;
}

/// What the answer is if it ends with the first `count` tokens of the sequence.
bool Program::readPrinted(int64_t count, tokenizer::Array<char> &text) const {
  const perpend_tokenizer *tokenizer = perpend_llm_tokenizer(llm);
  const int32_t *tokens = nullptr;
  perpend_token_stream *stream = nullptr;
  perpend_llm_sequence_tokens(sequence, &tokens, nullptr, nullptr);
  perpend_status status = perpend_token_stream_create(tokenizer, PERPEND_SKIP_SPECIAL, &stream);
  text.clear();
  for (int64_t i = 0; !status && i <= count; ++i) {
    perpend_string part{nullptr, 0};
    if (i == count)
      status = perpend_token_stream_finish(stream, &part);
    else if (perpend_tokenizer_token(tokenizer, tokens[i]).data) // models may have more tokens than tokenizers
      status = perpend_token_stream_add(stream, tokens[i], &part);
    if (i >= promptCount)
      text.append(part.data, static_cast<size_t>(part.sizeBytes));
  }
  perpend_token_stream_free(stream);
  return check(status);
}

/// The latest token has ended the text, and has a part of it at most. Only what was printed stays: what is left of a
/// token is encoded again, as a text of its own, which some tokenizers begin with a space.
bool Program::keepPrinted(const tokenizer::Array<char> &answer) {
  tokenizer::Memory memory;
  tokenizer::Array<char> text(memory);
  int64_t kept = tokenCount();
  for (bool isPrinted = false; kept > promptCount && !isPrinted;) {
    if (!readPrinted(--kept, text))
      return false;
    isPrinted = text.size() <= answer.size() && !memcmp(text.data(), answer.data(), text.size());
  }
  if (kept == promptCount)
    text.clear();
  if (memory.failed)
    return complain("no memory for the text");
  const size_t size = answer.size() - text.size();
  return check(perpend_llm_sequence_truncate(sequence, kept)) &&
         (!size || add({answer.data() + text.size(), static_cast<int64_t>(size)}));
}

bool Program::finishTurn(Conversation &conversation, const tokenizer::Array<char> &answer) {
  if (!conversation.isEmpty())
    conversation.add(Role::Assistant, answer.data(), answer.size());
  else if (options.session && finish == PERPEND_LLM_STOP && !keepPrinted(answer))
    return false;
  return !options.session || conversation.save(options.session, sequence);
}

bool Program::print(tokenizer::Array<char> *answer) {
  perpend_llm_generation generation = PERPEND_LLM_GENERATION_DEFAULTS;
  generation.sampler = &sampler;
  generation.maxTokens = options.maxTokens;
  generation.stopStrings = options.stops;
  generation.stopStringCount = options.stopCount;
  generation.beams = options.beams;
  generation.lengthPenalty = options.lengthPenalty;
  promptCount = tokenCount();
  if (!check(perpend_llm_sequence_start(sequence, &generation)))
    return false;
  perpend_llm_piece piece{};
  while (!piece.finish && !isInterrupted) {
    if (!check(perpend_llm_sequence_next(sequence, &piece)))
      return false;
    const auto size = static_cast<size_t>(piece.text.sizeBytes);
    if (size && (fwrite(piece.text.data, 1, size, stdout) != size || fflush(stdout))) // EPIPE: nobody reads on
      return errno == EPIPE ? false : complain("cannot write the output: %s", strerror(errno));
    if (size)
      endsLine = piece.text.data[size - 1] == '\n';
    if (answer)
      answer->append(piece.text.data, size);
  }
  finish = piece.finish;
  return piece.finish || check(perpend_llm_sequence_truncate(sequence, tokenCount())); // ends it
}

/// The prompt follows what was said before.
bool setPrompt(Program &program, Conversation &conversation, perpend_string prompt) {
  const ProgramOptions &options = program.options;
  const bool hasTemplate = perpend_llm_has_template(program.llm) || program.llm->refusal.data; // maybe not a usable one
  if (options.isRaw || (!options.system && !hasTemplate)) {
    if (!conversation.isEmpty())
      return complain("--raw: the session is a conversation; hint: leave --raw out, or name another file");
    return program.tokenCount() ? program.add(prompt)
                                : check(perpend_llm_sequence_set_text(program.sequence, prompt, PERPEND_ADD_SPECIAL));
  }
  if (!program.hasTurns(conversation))
    return false;
  conversation.add(Role::User, prompt.data, static_cast<size_t>(prompt.sizeBytes));
  return conversation.set(program.sequence, program.mostTokens());
}

/// A line of standard input without its end. False at the end of the input.
bool readLine(tokenizer::Array<char> &line) {
  line.clear();
  int c;
  while ((c = getchar()) != EOF && c != '\n')
    line.push(static_cast<char>(c));
  return c != EOF || line.size();
}

} // namespace

bool generate(perpend_model *model, const ProgramOptions &options) {
  if (!options.prompt && !(options.session && options.isRaw))
    return complain("no prompt; hint: --prompt TEXT, or --prompt - for standard input");
  Program program(options);
  Conversation conversation;
  tokenizer::Memory memory;
  tokenizer::Array<char> input(memory), answer(memory);
  const char *given = options.prompt ? options.prompt : "";
  const bool readsInput = !strcmp(given, "-");
  if (!program.open(model, conversation))
    return false;
  if (readsInput && !readAll(stdin, input))
    return complain("cannot read the standard input: %s", strerror(errno));
  if (memory.failed)
    return complain("no memory for the prompt");
  const perpend_string prompt =
      readsInput ? perpend_string{input.data(), static_cast<int64_t>(input.size())} : textOf(given);
  if (!setPrompt(program, conversation, prompt) || !program.print(options.session ? &answer : nullptr))
    return false;
  if (isatty(STDOUT_FILENO) && !program.endsLine)
    putchar('\n');
  if (memory.failed)
    return complain("no memory for the text");
  return program.finishTurn(conversation, answer);
}

bool converse(perpend_model *model, const ProgramOptions &options) {
  Program program(options);
  Conversation conversation;
  tokenizer::Memory memory;
  tokenizer::Array<char> line(memory), answer(memory);
  if (!program.open(model, conversation) || !program.hasTurns(conversation))
    return false;
  const bool isTerminal = isatty(STDIN_FILENO);
  bool isGood = true;
  while (true) {
    if (isTerminal)
      fputs("> ", stderr);
    if (!readLine(line))
      break;
    if (!line.size())
      continue;
    conversation.add(Role::User, line.data(), line.size());
    answer.clear();
    const Interruptions interruptions(isTerminal);
    if (!conversation.set(program.sequence, program.mostTokens())) {
      if (!perpend_llm_has_template(program.llm))
        return false;
      isGood = isTerminal; // where somebody has read it
      continue;
    }
    if (!program.print(&answer))
      return false;
    if (memory.failed)
      return complain("no memory for the conversation");
    putchar('\n');
    fflush(stdout);
    if (!program.finishTurn(conversation, answer))
      return false;
  }
  if (isTerminal)
    fputc('\n', stderr);
  return isGood;
}

} // namespace perpend::llm
