//===- Gemma.cpp - Gemma 1 to 3 -------------------------------------------===//
//
// GGUF stores the weights of norms with 1 added. It does not store the scale of attention, nor, in older files, the
// pattern of layers with windows, so these are constants here.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Architecture.h"

#include <cmath>

namespace perpend::checkpoint::architectures {

static constexpr TensorName table[] = {
    {"blk.%.attn_q_norm", "model.layers.%.self_attn.q_norm"},
    {"blk.%.attn_k_norm", "model.layers.%.self_attn.k_norm"},
    {"blk.%.post_attention_norm", "model.layers.%.post_attention_layernorm"},
    {"blk.%.ffn_norm", "model.layers.%.pre_feedforward_layernorm"},
    {"blk.%.post_ffw_norm", "model.layers.%.post_feedforward_layernorm"},
};
const ArrayRef<TensorName> gemmaNames = table;

void describeGemma(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form, {.headSize = 256, .isTied = true});
  form.normOffset = settings.isGguf() ? 0 : 1;
  form.activation = Form::Activation::GeluTanh; // configurations say "gelu" and mean this
  form.embeddingScale = std::sqrt(static_cast<double>(form.width));
  form.hasProjectionBias = form.hasOutputBias = settings.flag(Key::AttentionBias, false);
}

/// The scale of scores: that of the configuration, or of the models that have a GGUF file, where the largest, with
/// `largest` layers, differs.
static void describeScale(Settings &settings, Form &form, double scalarOtherwise, size_t largest) {
  double scalar = scalarOtherwise;
  if (settings.isGguf())
    scalar = static_cast<double>(form.layers.size() == largest ? form.width / form.heads : form.headSize);
  scalar = settings.number(Key::QueryScalar, scalar);
  if (scalar <= 0)
    settings.fail("'" + settings.nameOf(Key::QueryScalar) + "': expected a number above 0");
  for (LayerForm &layer : form.layers)
    layer.attentionScale = settings.number(Key::AttentionScale, 1 / std::sqrt(scalar));
}

/// All layers have a window but each `pattern`-th.
static void describePattern(Settings &settings, Form &form, int64_t windowOtherwise, int64_t pattern) {
  std::optional<int64_t> window;
  if (!settings.isNull(Key::Window))
    window = settings.integer(Key::Window, windowOtherwise);
  if (const llvm::json::Value *given = settings.find(Key::WindowPattern); given && !given->getAsArray())
    pattern = settings.required(Key::WindowPattern);
  describeWindows(settings, form, window, [=](int64_t layer) { return (layer + 1) % pattern != 0; });
}

void describeGemma2(Settings &settings, Weights &weights, Form &form) {
  describeGemma(settings, weights, form);
  if (settings.hasFailed())
    return;
  form.activation = readActivation(settings, Form::Activation::GeluTanh);
  form.normalisesResults = true;
  form.attentionCap = settings.number(Key::AttentionCap, settings.isNull(Key::AttentionCap) ? 0 : 50);
  form.finalCap = settings.number(Key::FinalCap, settings.isNull(Key::FinalCap) ? 0 : 30);
  describeScale(settings, form, 256, 46);
  describePattern(settings, form, 4096, 2);
}

void describeGemma3(Settings &settings, Weights &weights, Form &form) {
  describeGemma(settings, weights, form);
  if (settings.hasFailed())
    return;
  form.activation = readActivation(settings, Form::Activation::GeluTanh);
  form.normalisesResults = form.normalisesHeads = true;
  form.finalCap = settings.number(Key::FinalCap, 0);
  describeScale(settings, form, 256, 62);
  describePattern(settings, form, settings.isGguf() ? 1024 : 4096, 6);
  form.rotaries[0] = readRotary(settings, weights, form, 1e6, "full_attention");
  RotaryForm local;
  if (settings.isGguf() || !settings.has(Key::RotaryParameters)) {
    local.base = settings.number(Key::LocalRotaryBase, 1e4);
    local.size = form.rotaries[0].size;
  } else {
    local = readRotary(settings, weights, form, 1e4, "sliding_attention");
  }
  form.rotaries.push_back(local);
  for (LayerForm &layer : form.layers)
    layer.rotary = layer.window ? 1 : 0;
}
} // namespace perpend::checkpoint::architectures
