//===- Common.cpp - what descriptions of architectures share --------------===//

#include "frontend/checkpoint/Architecture.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

namespace perpend::checkpoint {
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Widths and heads
//===----------------------------------------------------------------------===//

/// One number, or equal numbers for all layers.
static int64_t sameForLayers(Settings &settings, Key key, int64_t otherwise) {
  const json::Value *value = settings.find(key);
  const json::Array *list = value ? value->getAsArray() : nullptr;
  if (!list)
    return settings.integer(key, otherwise);
  std::optional<int64_t> first = list->empty() ? std::nullopt : list->front().getAsInteger();
  if (first && llvm::all_of(*list, [&](const json::Value &each) { return each.getAsInteger() == first; }))
    return *first;
  settings.fail("'" + settings.nameOf(key) + "': expected one number for all layers, got " + shortText(*value));
  return otherwise;
}

static void describeHeads(Settings &settings, Form &form, std::optional<int64_t> headSize) {
  form.heads = sameForLayers(settings, Key::Heads, 0);
  if (form.heads < 1)
    settings.required(Key::Heads);
  if (settings.hasFailed())
    return;
  form.keyHeads = sameForLayers(settings, Key::KeyHeads, form.heads);
  int64_t equal = headSize.value_or(form.width / form.heads);
  form.headSize = settings.integer(Key::HeadSize, settings.isGguf() ? form.width / form.heads : equal);
  form.valueSize = settings.integer(Key::ValueSize, form.headSize);
  if (form.headSize < 1 || form.valueSize < 1)
    settings.fail("'" + settings.nameOf(Key::HeadSize) + "': expected heads of at least one element");
  else if (form.keyHeads < 1 || form.heads % form.keyHeads)
    settings.fail("'" + settings.nameOf(Key::KeyHeads) + "': expected a divisor of the " + std::to_string(form.heads) +
                  " heads, got " + std::to_string(form.keyHeads));
}

/// A file may have more layers than any model; those without tensors would cost memory before one is missed.
static void describeLayers(Settings &settings, Form &form) {
  constexpr int64_t most = 10000;
  int64_t layers = settings.required(Key::Layers);
  if (layers > most)
    settings.fail("'" + settings.nameOf(Key::Layers) + "': expected at most " + std::to_string(most) + ", got " +
                  std::to_string(layers));
  else
    form.layers.resize(layers);
}

/// Settings of related architectures, which change results: no layer here knows them.
static void refuseOthers(Settings &settings) {
  auto refuse = [&](Key key) {
    settings.fail("'" + settings.nameOf(key) + "': " + shortText(*settings.find(key)) +
                  " is not supported\nhint: the model may be another than its architecture says");
  };
  for (Key key : {Key::EmbeddingScale, Key::ResidualScale, Key::LogitScale, Key::ProjectionClamp})
    if (double value = settings.number(key, 0); value != 0 && (value != 1 || key == Key::ProjectionClamp))
      refuse(key);
  if (!settings.flag(Key::IsCausal, true))
    refuse(Key::IsCausal);
  if (settings.flag(Key::IsBidirectional, false))
    refuse(Key::IsBidirectional);
}

void describeCommon(Settings &settings, Weights &weights, Form &form, const CommonDefaults &defaults) {
  refuseOthers(settings);
  form.width = settings.required(Key::Width);
  form.innerWidth = sameForLayers(settings, Key::InnerWidth, 0);
  form.epsilon = settings.number(Key::RmsEpsilon, defaults.epsilon);
  describeHeads(settings, form, defaults.headSize);
  describeLayers(settings, form);
  // GGUF: the matrix is there or not. The same decides for config.json without a word on it.
  bool hasHead = weights.has({"output"});
  form.isTied = settings.isGguf() ? !hasHead : settings.flag(Key::IsTied, defaults.isTied && !hasHead);
  if (!settings.isGguf() && !settings.has(Key::IsTied))
    form.isTied = !hasHead;
  if (form.isTied)
    weights.ignore({"output"});
  form.vocabulary = weights.rowsOf({"token_embd"});
  if (std::optional<int64_t> size = settings.integer(Key::Vocabulary))
    form.vocabulary = size;
  if (!form.vocabulary)
    form.vocabulary = 1; // the embedding is missing, which is said when it is asked for
  if (settings.hasFailed())
    return;
  double scale = 1 / std::sqrt(static_cast<double>(form.headSize));
  if (defaults.hasRotary)
    form.rotaries.push_back(readRotary(settings, weights, form, defaults.rotaryBase));
  for (LayerForm &layer : form.layers) {
    if (defaults.hasRotary)
      layer.rotary = 0;
    layer.attentionScale = settings.number(Key::AttentionScale, scale);
  }
}

void describeWindows(Settings &settings, Form &form, std::optional<int64_t> window,
                     llvm::function_ref<bool(int64_t)> isLocal) {
  auto types = settings.texts(Key::LayerTypes, static_cast<int64_t>(form.layers.size()));
  if (window && *window < 1)
    settings.fail("'" + settings.nameOf(Key::Window) + "': expected at least 1, got " + std::to_string(*window));
  for (auto [number, layer] : llvm::enumerate(form.layers)) {
    bool hasWindow = types ? (*types)[number] == "sliding_attention" : isLocal(static_cast<int64_t>(number));
    if (types && !hasWindow && (*types)[number] != "full_attention")
      settings.fail("'layer_types': expected sliding_attention or full_attention, got '" + (*types)[number] + "'");
    if (hasWindow)
      layer.window = window;
  }
}

Form::Activation readActivation(Settings &settings, Form::Activation otherwise) {
  using enum Form::Activation;
  std::string name = settings.text(Key::Activation);
  static constexpr std::pair<StringRef, Form::Activation> known[] = {
      {"silu", Silu},         {"swish", Silu}, {"gelu_pytorch_tanh", GeluTanh},
      {"gelu_new", GeluTanh}, {"gelu", Gelu},  {"relu", Relu}};
  for (auto [each, activation] : known)
    if (name == each)
      return activation;
  if (!name.empty())
    settings.fail("'" + settings.nameOf(Key::Activation) + "': the activation '" + name +
                  "' is not supported\nhint: silu, gelu, gelu_pytorch_tanh, gelu_new and relu are");
  return otherwise;
}

bool describeExperts(Settings &settings, Form &form, bool normalises) {
  ExpertsForm &experts = form.experts;
  experts.count = settings.integer(Key::Experts, 0);
  if (experts.count == 0)
    return false;
  experts.used = settings.required(Key::UsedExperts);
  experts.width = settings.integer(Key::ExpertWidth, form.innerWidth);
  experts.normalises = normalises;
  constexpr int64_t most = 65536;
  if (experts.count > most || experts.used > experts.count)
    settings.fail("'" + settings.nameOf(Key::UsedExperts) + "': expected at most the number of experts, " +
                  std::to_string(experts.count) + ", got " + std::to_string(experts.used));
  for (LayerForm &layer : form.layers)
    layer.hasExperts = true;
  return true;
}
} // namespace perpend::checkpoint
