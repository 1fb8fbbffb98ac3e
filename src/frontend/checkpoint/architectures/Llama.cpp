//===- Llama.cpp - Llama 1 to 3, Mistral, Mixtral -------------------------===//
//
// GGUF calls all of them "llama", and has no setting for attention windows. Its rows of query and key are in the order
// in which the rotary embedding turns neighbouring elements.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Architecture.h"

namespace perpend::checkpoint::architectures {

const ArrayRef<TensorName> usualNames;

static constexpr TensorName mixtralTable[] = {
    {"blk.%.ffn_gate_inp", "model.layers.%.block_sparse_moe.gate"},
    {"blk.%.ffn_gate_exps", "model.layers.%.block_sparse_moe.experts.#.w1"},
    {"blk.%.ffn_up_exps", "model.layers.%.block_sparse_moe.experts.#.w3"},
    {"blk.%.ffn_down_exps", "model.layers.%.block_sparse_moe.experts.#.w2"},
};
const ArrayRef<TensorName> mixtralNames = mixtralTable;

void describeLlama(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form);
  form.interleavesPairs = settings.isGguf();
  form.activation = readActivation(settings, Form::Activation::Silu);
  // GGUF has no word for biases: they are there or not.
  form.hasProjectionBias = settings.isGguf() ? weights.has({"blk.%.attn_q", 0, "bias"}) //
                                             : settings.flag(Key::AttentionBias, false);
  form.hasOutputBias = settings.isGguf() ? weights.has({"blk.%.attn_output", 0, "bias"}) : form.hasProjectionBias;
  form.hasInnerBias =
      settings.isGguf() ? weights.has({"blk.%.ffn_up", 0, "bias"}) : settings.flag(Key::InnerBias, false);
  describeExperts(settings, form, /*normalises=*/true);
}

static void describeWithWindow(Settings &settings, Form &form, int64_t otherwise) {
  form.activation = readActivation(settings, Form::Activation::Silu);
  int64_t window = settings.integer(Key::Window, settings.isNull(Key::Window) ? 0 : otherwise);
  if (window > 0)
    describeWindows(settings, form, window, [](int64_t) { return true; });
}

void describeMistral(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form);
  describeWithWindow(settings, form, 4096);
}

void describeMixtral(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form, {.epsilon = 1e-5, .rotaryBase = 1e6});
  describeWithWindow(settings, form, 0);
  if (!describeExperts(settings, form, /*normalises=*/true))
    settings.required(Key::Experts);
}
} // namespace perpend::checkpoint::architectures
