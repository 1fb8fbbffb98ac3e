//===- Qwen.cpp - Qwen 2, Qwen 3, with experts too ------------------------===//

#include "frontend/checkpoint/Architecture.h"

namespace perpend::checkpoint::architectures {

static constexpr TensorName table[] = {
    {"blk.%.attn_q_norm", "model.layers.%.self_attn.q_norm"},
    {"blk.%.attn_k_norm", "model.layers.%.self_attn.k_norm"},
    {"blk.%.ffn_gate_inp", "model.layers.%.mlp.gate"},
    {"blk.%.ffn_gate_exps", "model.layers.%.mlp.experts.#.gate_proj"},
    {"blk.%.ffn_up_exps", "model.layers.%.mlp.experts.#.up_proj"},
    {"blk.%.ffn_down_exps", "model.layers.%.mlp.experts.#.down_proj"},
};
const ArrayRef<TensorName> qwenNames = table;

/// Windows only if the model says so, and from one layer on.
static void describeQwenWindows(Settings &settings, Form &form, int64_t firstOtherwise) {
  std::optional<int64_t> window;
  if (!settings.isGguf() && settings.flag(Key::UsesWindow, false) && !settings.isNull(Key::Window))
    window = settings.integer(Key::Window, 4096);
  int64_t first = settings.integer(Key::FirstWindowLayer, firstOtherwise);
  describeWindows(settings, form, window, [=](int64_t layer) { return window && layer >= first; });
}

void describeQwen2(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form);
  form.activation = readActivation(settings, Form::Activation::Silu);
  form.hasProjectionBias = true;
  describeQwenWindows(settings, form, 28);
}

static void describeHeadNorms(Settings &settings, Weights &weights, Form &form, std::optional<int64_t> headSize) {
  describeCommon(settings, weights, form, {.headSize = headSize});
  form.activation = readActivation(settings, Form::Activation::Silu);
  form.normalisesHeads = true;
  form.hasProjectionBias = form.hasOutputBias = settings.flag(Key::AttentionBias, false);
}

void describeQwen3(Settings &settings, Weights &weights, Form &form) {
  describeHeadNorms(settings, weights, form, 128);
  describeQwenWindows(settings, form, 28);
}

/// Every so many layers have experts, but for some that are listed.
static void describeExpertLayers(Settings &settings, Form &form) {
  int64_t step = settings.integer(Key::ExpertStep, 1);
  if (step < 1)
    settings.fail("'" + settings.nameOf(Key::ExpertStep) + "': expected at least 1, got 0");
  for (size_t number = 0; step > 0 && number < form.layers.size(); ++number)
    form.layers[number].hasExperts = (number + 1) % static_cast<size_t>(step) == 0;
  const llvm::json::Value *dense = settings.find(Key::DenseLayers);
  const llvm::json::Array *list = dense ? dense->getAsArray() : nullptr;
  for (const llvm::json::Value &number : list ? *list : llvm::json::Array())
    if (std::optional<uint64_t> layer = number.getAsUINT64(); layer && *layer < form.layers.size())
      form.layers[*layer].hasExperts = false;
}

void describeQwen3Moe(Settings &settings, Weights &weights, Form &form) {
  describeHeadNorms(settings, weights, form, std::nullopt);
  describeQwenWindows(settings, form, 0);
  if (describeExperts(settings, form, settings.flag(Key::NormalisesShares, settings.isGguf())))
    describeExpertLayers(settings, form);
}
} // namespace perpend::checkpoint::architectures
