//===- LanguageModels.cpp - Python bindings of language models ------------===//
//
// perpend/llm.py has the classes that users see. A call that computes releases
// the interpreter lock; a sequence then lets one call in after the other.
//
//===----------------------------------------------------------------------===//

#include "python/LanguageModels.h"

#include "python/Arrays.h"
#include "python/Sampling.h"
#include "support/ReadableText.h"

#include "perpend_llm.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <regex>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {
namespace {

/// Text of a message that quotes nothing, with the names of Python.
std::string withNamesOfPython(std::string text) {
  static const std::pair<std::regex, const char *> names[] = {
      {std::regex("^perpend_(?:llm_)?(?:sequence_)?(\\w+): "), "$1: "},
      {std::regex("\\bperpend_llm_sequence_(save|load)\\b"), "$1_session"},
      {std::regex("\\bPERPEND_ADD_SPECIAL\\b"), "add_special_tokens=True"},
      {std::regex("\\bmaxTokens\\b"), "max_tokens"},
      {std::regex("\\bperpend llm compile --entries (\\w+)"), "perpend.llm.compile(..., entries=['$1'])"},
      {std::regex("\\bperpend llm compile --(\\w+) (\\w+)"), "perpend.llm.compile(..., $1=$2)"},
      {std::regex("\\bperpend llm compile\\b"), "perpend.llm.compile"},
  };
  for (const auto &[name, inPython] : names)
    text = std::regex_replace(text, name, inPython);
  return text;
}

/// A message of the runtime, which names functions of C and options of the command line, with the names of Python. What
/// it quotes, such as the name of a file, is the user's own and stays as it is.
std::string inPython(const std::string &message) {
  static const std::regex quoted("\\B'[^']*'\\B");
  std::string result;
  auto from = message.begin();
  for (std::sregex_iterator match(message.begin(), message.end(), quoted), end; match != end; ++match) {
    result += withNamesOfPython({from, message.begin() + match->position()}) + match->str();
    from = message.begin() + match->position() + match->length();
  }
  return result + withNamesOfPython({from, message.end()});
}

void check(perpend_status status) {
  if (status == PERPEND_OK)
    return;
  PyObject *kind = status == PERPEND_OUT_OF_MEMORY                                        ? PyExc_MemoryError
                   : status == PERPEND_INVALID_ARGUMENT || status == PERPEND_INVALID_DATA ? PyExc_ValueError
                   : status == PERPEND_NOT_FOUND                                          ? PyExc_FileNotFoundError
                                                                                          : PyExc_RuntimeError;
  PyErr_SetString(kind, support::readable(inPython(perpend_error_message()), "\n\t").c_str());
  throw nb::python_error();
}

/// Runs without the interpreter lock; the message of an error is this thread's.
template <typename Work> void checkUnlocked(Work work) {
  perpend_status status;
  {
    nb::gil_scoped_release unlocked;
    status = work();
  }
  check(status);
}

perpend_string view(const nb::bytes &text) { return {text.c_str(), static_cast<int64_t>(text.size())}; }

nb::bytes bytesOf(perpend_string text) {
  return nb::bytes(text.data ? text.data : "", static_cast<size_t>(text.sizeBytes));
}

/// Pairs of a role and a content.
using Messages = std::vector<std::pair<nb::bytes, nb::bytes>>;
std::vector<perpend_llm_message> viewsOf(const Messages &messages) {
  std::vector<perpend_llm_message> views;
  for (const auto &[role, content] : messages)
    views.push_back({view(role), view(content)});
  return views;
}

class LanguageModel {
public:
  LanguageModel(const std::string &path, const std::string &weights) {
    perpend_model *model = nullptr;
    checkUnlocked([&] {
      return perpend_model_load_with_weights(path.c_str(), weights.empty() ? nullptr : weights.c_str(), &model);
    });
    descriptor = perpend_model_descriptor(model);
    const perpend_status status = perpend_llm_create(model, &llm);
    perpend_model_free(model);
    check(status);
  }
  LanguageModel(const LanguageModel &) = delete;
  LanguageModel &operator=(const LanguageModel &) = delete;
  ~LanguageModel() { perpend_llm_free(llm); }

  int64_t context() const { return perpend_llm_context(llm); }
  int64_t vocabulary() const { return perpend_llm_vocabulary(llm); }
  bool hasTemplate() const { return perpend_llm_has_template(llm); }
  std::vector<int32_t> stopTokens() const {
    int32_t count = 0;
    const int32_t *tokens = perpend_llm_stop_tokens(llm, &count);
    return {tokens, tokens + count};
  }
  nb::bytes render(const Messages &messages) const {
    const std::vector<perpend_llm_message> views = viewsOf(messages);
    char *text = nullptr;
    int64_t size = 0;
    check(perpend_llm_render(llm, views.data(), static_cast<int32_t>(views.size()), &text, &size));
    const std::unique_ptr<char, decltype(&perpend_tokenizer_release)> owner(text, perpend_tokenizer_release);
    return bytesOf({text, size});
  }
  /// What the checkpoint says of the choice of tokens, by the names of perpend.sampling.Sampler.
  nb::dict sampling() const {
    constexpr double silent = std::numeric_limits<double>::quiet_NaN();
    perpend_sampler_options options = PERPEND_SAMPLER_DEFAULTS;
    options.temperature = options.topP = options.minP = options.repetitionPenalty = silent;
    options.topK = -1;
    perpend_llm_sampling(llm, &options);
    nb::dict said;
    for (const auto &[name, value] :
         {std::pair("temperature", options.temperature), std::pair("top_p", options.topP),
          std::pair("min_p", options.minP), std::pair("repetition_penalty", options.repetitionPenalty)})
      if (!std::isnan(value))
        said[name] = value;
    if (options.topK >= 0)
      said["top_k"] = options.topK;
    return said;
  }
  int64_t embeddingSize() const { return perpend_llm_embedding_size(llm); }
  bool hasTokenizer() const { return perpend_llm_tokenizer(llm) != nullptr; }
  const perpend_tokenizer *tokenizer() const {
    if (!hasTokenizer())
      throw nb::value_error("this model has no tokenizer, so its texts are tokens\nhint: compile it with a tokenizer");
    return perpend_llm_tokenizer(llm);
  }
  std::vector<int32_t> encode(nb::bytes text, uint32_t flags) const {
    int32_t *found = nullptr;
    int64_t count = 0;
    check(perpend_tokenizer_encode(tokenizer(), view(text), flags, &found, &count));
    const std::unique_ptr<int32_t, decltype(&perpend_tokenizer_release)> owner(found, perpend_tokenizer_release);
    return {found, found + count};
  }
  nb::bytes decode(const std::vector<int32_t> &tokens, uint32_t flags) const {
    char *text = nullptr;
    int64_t size = 0;
    check(
        perpend_tokenizer_decode(tokenizer(), tokens.data(), static_cast<int64_t>(tokens.size()), flags, &text, &size));
    const std::unique_ptr<char, decltype(&perpend_tokenizer_release)> owner(text, perpend_tokenizer_release);
    return bytesOf({text, size});
  }

  std::string descriptor; // of the model, JSON
  perpend_llm *llm = nullptr;
};

class Sequence {
public:
  Sequence(std::shared_ptr<LanguageModel> model, int32_t threads, int32_t chunkTokens) : model(std::move(model)) {
    perpend_llm_sequence_options options = PERPEND_LLM_SEQUENCE_DEFAULTS;
    options.threads = threads;
    options.chunkTokens = chunkTokens;
    check(perpend_llm_sequence_create(this->model->llm, &options, &sequence));
  }
  Sequence(const Sequence &) = delete;
  Sequence &operator=(const Sequence &) = delete;
  ~Sequence() { perpend_llm_sequence_free(sequence); }

  std::unique_ptr<Sequence> fork() {
    std::unique_ptr<Sequence> copy(new Sequence(model));
    call([&] { return perpend_llm_sequence_fork(sequence, &copy->sequence); });
    return copy;
  }
  void set(const std::vector<int32_t> &tokens) {
    call([&] { return perpend_llm_sequence_set(sequence, tokens.data(), static_cast<int64_t>(tokens.size())); });
  }
  void add(const std::vector<int32_t> &tokens) {
    call([&] { return perpend_llm_sequence_add(sequence, tokens.data(), static_cast<int64_t>(tokens.size())); });
  }
  void setText(nb::bytes text, uint32_t flags) {
    const perpend_string bytes = view(text);
    call([&] { return perpend_llm_sequence_set_text(sequence, bytes, flags); });
  }
  void setChat(const Messages &messages) {
    const std::vector<perpend_llm_message> views = viewsOf(messages);
    call([&] { return perpend_llm_sequence_set_chat(sequence, views.data(), static_cast<int32_t>(views.size())); });
  }
  void truncate(int64_t count) {
    call([&] { return perpend_llm_sequence_truncate(sequence, count); });
  }
  nb::bytes save() {
    std::string bytes;
    call([&] {
      int64_t size = 0;
      perpend_status status = perpend_llm_sequence_save(sequence, nullptr, 0, &size);
      if (status != PERPEND_OK)
        return status;
      bytes.resize(static_cast<size_t>(size));
      return perpend_llm_sequence_save(sequence, bytes.data(), size, &size);
    });
    return nb::bytes(bytes.data(), bytes.size());
  }
  void load(nb::bytes data) {
    const perpend_string bytes = view(data);
    call([&] { return perpend_llm_sequence_load(sequence, bytes.data, bytes.sizeBytes); });
  }
  std::pair<std::vector<int32_t>, int64_t> tokens() {
    std::lock_guard lock(mutex);
    const int32_t *tokens = nullptr;
    int64_t count = 0, cachedCount = 0;
    perpend_llm_sequence_tokens(sequence, &tokens, &count, &cachedCount);
    return {{tokens, tokens + count}, cachedCount};
  }
  nb::object logits() {
    std::vector<float> values;
    call([&] {
      const float *logits = nullptr;
      int64_t count = 0;
      const perpend_status status = perpend_llm_sequence_logits(sequence, &logits, &count);
      if (status == PERPEND_OK)
        values.assign(logits, logits + count);
      return status;
    });
    const auto count = static_cast<int64_t>(values.size());
    OutputArray array(nullptr, PERPEND_F32, &count, 1);
    std::copy(values.begin(), values.end(), static_cast<float *>(array.data));
    return array.take();
  }
  /// [rows, vocabulary].
  nb::object rowLogits(int64_t rows) {
    std::vector<float> values;
    call([&] {
      const float *logits = nullptr;
      const perpend_status status = perpend_llm_sequence_row_logits(sequence, rows, &logits);
      if (status == PERPEND_OK)
        values.assign(logits, logits + rows * perpend_llm_vocabulary(model->llm));
      return status;
    });
    return rowsOf(values, perpend_llm_vocabulary(model->llm));
  }
  /// [1, size], or that of each token.
  nb::object embed(int32_t pooling) {
    std::vector<float> values;
    call([&] {
      const float *found = nullptr;
      int64_t count = 0;
      const perpend_status status = perpend_llm_sequence_embed(sequence, pooling, &found, &count);
      if (status == PERPEND_OK)
        values.assign(found, found + count);
      return status;
    });
    return rowsOf(values, perpend_llm_embedding_size(model->llm));
  }
  static nb::object rowsOf(const std::vector<float> &values, int64_t size) {
    const int64_t dims[] = {static_cast<int64_t>(values.size()) / size, size};
    OutputArray array(nullptr, PERPEND_F32, dims, 2);
    std::copy(values.begin(), values.end(), static_cast<float *>(array.data));
    return array.take();
  }
  void start(nb::dict numbers, const std::vector<std::pair<int32_t, float>> &bias, std::vector<int32_t> stopTokens,
             int64_t maxTokens, const std::vector<nb::bytes> &stops, bool ignoresStopTokens, uint32_t choice,
             int32_t beams, double lengthPenalty);
  /// The token, the text, the finish, the stop string; the token's log-probability and those of the most probable
  /// tokens, NaN and none unless they were asked for.
  std::tuple<int32_t, nb::bytes, int32_t, int32_t, double, std::vector<std::pair<int32_t, double>>> next() {
    perpend_llm_piece piece{};
    std::string text;
    double logprob = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::pair<int32_t, double>> top;
    call([&] {
      perpend_status status = perpend_llm_sequence_next(sequence, &piece);
      if (status == PERPEND_OK && piece.text.sizeBytes)
        text.assign(piece.text.data, static_cast<size_t>(piece.text.sizeBytes));
      if (status != PERPEND_OK || piece.token < 0 || !hasLogprobs)
        return status;
      const int32_t *tokens = nullptr;
      const double *logprobs = nullptr;
      int32_t count = 0;
      status = perpend_llm_sequence_logprobs(sequence, &logprob, &tokens, &logprobs, &count);
      for (int32_t i = 0; status == PERPEND_OK && i < count; ++i)
        top.emplace_back(tokens[i], logprobs[i]);
      return status;
    });
    return {piece.token, nb::bytes(text.data(), text.size()), piece.finish, piece.stopString, logprob, std::move(top)};
  }

private:
  explicit Sequence(std::shared_ptr<LanguageModel> model) : model(std::move(model)) {}
  template <typename Work> void call(Work work) {
    checkUnlocked([&] {
      std::lock_guard lock(mutex);
      return work();
    });
  }

  std::shared_ptr<LanguageModel> model;
  perpend_llm_sequence *sequence = nullptr;
  bool hasLogprobs = false; // the generation computes them
  std::mutex mutex;
};

void Sequence::start(nb::dict numbers, const std::vector<std::pair<int32_t, float>> &bias,
                     std::vector<int32_t> stopTokens, int64_t maxTokens, const std::vector<nb::bytes> &stops,
                     bool ignoresStopTokens, uint32_t choice, int32_t beams, double lengthPenalty) {
  const SamplerSettings sampler(numbers, bias, std::move(stopTokens));
  std::vector<perpend_string> texts;
  for (const nb::bytes &stop : stops)
    texts.push_back(view(stop));
  perpend_llm_generation options = PERPEND_LLM_GENERATION_DEFAULTS;
  options.sampler = &sampler.options;
  options.maxTokens = maxTokens;
  options.stopStrings = texts.data();
  options.stopStringCount = static_cast<int32_t>(texts.size());
  options.ignoresStopTokens = ignoresStopTokens;
  options.choice = choice;
  options.beams = beams;
  options.lengthPenalty = lengthPenalty;
  call([&] {
    hasLogprobs = sampler.options.topLogprobs >= 0;
    return perpend_llm_sequence_start(sequence, &options);
  });
}

} // namespace

void bindLanguageModels(nb::module_ &module) {
  nb::class_<LanguageModel>(module, "LanguageModel")
      .def(nb::init<const std::string &, const std::string &>(), "path"_a, "weights"_a = "")
      .def_prop_ro("context", &LanguageModel::context)
      .def_prop_ro("vocabulary", &LanguageModel::vocabulary)
      .def_prop_ro("embedding_size", &LanguageModel::embeddingSize)
      .def_prop_ro("has_tokenizer", &LanguageModel::hasTokenizer)
      .def_prop_ro("has_template", &LanguageModel::hasTemplate)
      .def_ro("descriptor", &LanguageModel::descriptor)
      .def_prop_ro("sampling", &LanguageModel::sampling)
      .def_prop_ro("stop_tokens", &LanguageModel::stopTokens)
      .def("render", &LanguageModel::render, "messages"_a)
      .def("encode", &LanguageModel::encode, "text"_a, "flags"_a)
      .def("decode", &LanguageModel::decode, "tokens"_a, "flags"_a);
  nb::class_<Sequence>(module, "TokenSequence")
      .def(nb::init<std::shared_ptr<LanguageModel>, int32_t, int32_t>(), "model"_a, "threads"_a, "chunk_tokens"_a)
      .def("fork", &Sequence::fork)
      .def("set", &Sequence::set, "tokens"_a)
      .def("add", &Sequence::add, "tokens"_a)
      .def("set_text", &Sequence::setText, "text"_a, "flags"_a)
      .def("set_chat", &Sequence::setChat, "messages"_a)
      .def("truncate", &Sequence::truncate, "count"_a)
      .def("save", &Sequence::save)
      .def("load", &Sequence::load, "data"_a)
      .def("tokens", &Sequence::tokens)
      .def("row_logits", &Sequence::rowLogits, "rows"_a)
      .def("embed", &Sequence::embed, "pooling"_a)
      .def("logits", &Sequence::logits)
      .def("start", &Sequence::start, "numbers"_a, "bias"_a, "stop_tokens"_a, "max_tokens"_a, "stops"_a,
           "ignores_stop_tokens"_a, "choice"_a, "beams"_a, "length_penalty"_a)
      .def("next", &Sequence::next);
}
} // namespace perpend::python
