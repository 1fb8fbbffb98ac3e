//===- Gpt2.cpp - GPT-2 ---------------------------------------------------===//

#include "frontend/checkpoint/Architecture.h"

#include <cmath>

namespace perpend::checkpoint::architectures {

static constexpr TensorName table[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"blk.%.attn_norm", "transformer.h.%.ln_1"},
    {"blk.%.attn_qkv", "transformer.h.%.attn.c_attn"},
    {"blk.%.attn_output", "transformer.h.%.attn.c_proj"},
    {"blk.%.ffn_norm", "transformer.h.%.ln_2"},
    {"blk.%.ffn_up", "transformer.h.%.mlp.c_fc"},
    {"blk.%.ffn_down", "transformer.h.%.mlp.c_proj"},
};
const ArrayRef<TensorName> gpt2Names = table;

void describeGpt2(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form, {.isTied = true, .hasRotary = false});
  if (settings.hasFailed())
    return;
  form.norm = Form::Norm::Layer;
  form.epsilon = settings.number(Key::LayerEpsilon, 1e-5);
  form.activation = readActivation(settings, Form::Activation::GeluTanh);
  form.innerWidth = form.innerWidth ? form.innerWidth : 4 * form.width;
  form.positions = settings.required(Key::Positions);
  form.hasProjectionBias = form.hasOutputBias = form.hasInnerBias = form.fusesProjections = true;
  form.hasGate = false;
  form.transposesMatrices = !settings.isGguf();
  bool scales = settings.flag(Key::ScalesByRoot, true), byLayer = settings.flag(Key::ScalesByLayer, false);
  for (auto [number, layer] : llvm::enumerate(form.layers)) {
    layer.attentionScale = scales ? 1 / std::sqrt(static_cast<double>(form.headSize)) : 1;
    if (byLayer)
      layer.attentionScale /= static_cast<double>(number + 1);
  }
}
} // namespace perpend::checkpoint::architectures
