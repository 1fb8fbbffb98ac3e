//===- Phi3.cpp - Phi 3 and 4 ---------------------------------------------===//

#include "frontend/checkpoint/Architecture.h"

#include <cmath>

namespace perpend::checkpoint::architectures {

static constexpr TensorName table[] = {
    {"blk.%.attn_qkv", "model.layers.%.self_attn.qkv_proj"},
    {"blk.%.ffn_up", "model.layers.%.mlp.gate_up_proj"},
};
const ArrayRef<TensorName> phi3Names = table;

void describePhi3(Settings &settings, Weights &weights, Form &form) {
  describeCommon(settings, weights, form, {.epsilon = 1e-5});
  form.activation = readActivation(settings, Form::Activation::Silu);
  form.fusesProjections = form.fusesGate = true;
  int64_t window = settings.integer(Key::Window, 0);
  if (window > 0)
    describeWindows(settings, form, window, [](int64_t) { return true; });
}
} // namespace perpend::checkpoint::architectures
