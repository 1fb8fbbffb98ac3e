//===- Deepseek.cpp - DeepSeek V2 and V3 ----------------------------------===//
//
// Latent attention, dense layers and then layers with experts. GGUF has one name for both; the function of the router
// tells them apart. Its old files have the matrices of keys and values in one tensor, its newer ones in two, beside
// settings of a model with one head of keys, which are of no use here.
//
//===----------------------------------------------------------------------===//

#include "frontend/checkpoint/Architecture.h"

#include <cmath>

namespace perpend::checkpoint::architectures {

static constexpr TensorName table[] = {
    {"blk.%.attn_q_a", "model.layers.%.self_attn.q_a_proj"},
    {"blk.%.attn_q_a_norm", "model.layers.%.self_attn.q_a_layernorm"},
    {"blk.%.attn_q_b", "model.layers.%.self_attn.q_b_proj"},
    {"blk.%.attn_kv_a_mqa", "model.layers.%.self_attn.kv_a_proj_with_mqa"},
    {"blk.%.attn_kv_a_norm", "model.layers.%.self_attn.kv_a_layernorm"},
    {"blk.%.attn_kv_b", "model.layers.%.self_attn.kv_b_proj"},
    {"blk.%.ffn_gate_inp", "model.layers.%.mlp.gate"},
    {"blk.%.exp_probs_b.bias", "model.layers.%.mlp.gate.e_score_correction_bias"},
    {"blk.%.ffn_gate_exps", "model.layers.%.mlp.experts.#.gate_proj"},
    {"blk.%.ffn_up_exps", "model.layers.%.mlp.experts.#.up_proj"},
    {"blk.%.ffn_down_exps", "model.layers.%.mlp.experts.#.down_proj"},
    {"blk.%.ffn_gate_shexp", "model.layers.%.mlp.shared_experts.gate_proj"},
    {"blk.%.ffn_up_shexp", "model.layers.%.mlp.shared_experts.up_proj"},
    {"blk.%.ffn_down_shexp", "model.layers.%.mlp.shared_experts.down_proj"},
};
const ArrayRef<TensorName> deepseekNames = table;

static bool fail(Settings &settings, Key key, const llvm::Twine &expected) {
  const llvm::json::Value *value = settings.find(key);
  return settings.fail("'" + settings.nameOf(key) + "': expected " + expected + ", got " +
                       (value ? shortText(*value) : "nothing"));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static void describeSizes(Settings &settings, Weights &weights, Form &form, LatentForm &latent) {
  latent.size = settings.required(Key::LatentSize);
  latent.querySize = weights.has({"blk.%.attn_q_a", 0}) ? settings.required(Key::QueryLatentSize) : 0;
  latent.rotatedSize = settings.required(Key::RotatedSize);
  if (settings.isGguf()) {
    latent.epsilon = form.epsilon;
    latent.splitsMatrices = settings.has(Key::LatentKeySize);
    form.headSize = settings.required(latent.splitsMatrices ? Key::LatentKeySize : Key::HeadSize);
    form.valueSize = settings.required(latent.splitsMatrices ? Key::LatentValueSize : Key::ValueSize);
    latent.plainSize = form.headSize - latent.rotatedSize;
    if (latent.plainSize < 1)
      fail(settings, Key::RotatedSize, "less than the size of a head, " + std::to_string(form.headSize));
  } else {
    latent.plainSize = settings.required(Key::PlainSize);
    form.headSize = latent.plainSize + latent.rotatedSize;
    form.valueSize = settings.required(Key::LatentValueSize);
    if (form.keyHeads != form.heads)
      fail(settings, Key::KeyHeads, "as many as heads, " + std::to_string(form.heads));
  }
}

static void describeLatent(Settings &settings, Weights &weights, Form &form) {
  LatentForm latent;
  describeSizes(settings, weights, form, latent);
  if (settings.hasFailed())
    return;
  form.keyHeads = form.heads;
  Form turned; // only this part of a head has a rotary embedding
  turned.headSize = latent.rotatedSize;
  turned.latent = form.latent = latent;
  RotaryForm rotary = readRotary(settings, weights, turned, /*base=*/10000);
  if (!settings.hasFailed() && rotary.size != latent.rotatedSize)
    settings.fail("expected rotary embeddings of " + std::to_string(latent.rotatedSize) + " elements, got " +
                  std::to_string(rotary.size));
  if (settings.has(Key::AttentionTemperature))
    fail(settings, Key::AttentionTemperature, "no such scale");
  double scale = rotary.scores / std::sqrt(static_cast<double>(form.headSize));
  for (LayerForm &layer : form.layers) {
    layer.rotary = 0;
    layer.attentionScale = scale;
  }
  form.rotaries.push_back(std::move(rotary));
}

//===----------------------------------------------------------------------===//
// Experts
//===----------------------------------------------------------------------===//

using Gating = ExpertsForm::Gating;

static Gating gatingOf(Settings &settings, Gating ofModel) {
  if (!settings.isGguf()) {
    StringRef name = ofModel == Gating::Sigmoid ? "sigmoid" : "softmax";
    if (settings.text(Key::Gating, name) != name)
      fail(settings, Key::Gating, "'" + name + "', which this architecture has");
    return ofModel;
  }
  constexpr int64_t softmax = 1, sigmoid = 2;
  int64_t number = settings.integer(Key::Gating, softmax); // older files do not say it
  if (number != softmax && number != sigmoid)
    fail(settings, Key::Gating, "1 (softmax) or 2 (sigmoid)");
  return number == sigmoid ? Gating::Sigmoid : Gating::Softmax;
}

/// Whether only experts of some groups are chosen.
static bool hasGroups(Settings &settings, Gating gating) {
  if (settings.isGguf())
    return settings.has(Key::ExpertGroups);
  if (gating == Gating::Sigmoid) {
    if (settings.text(Key::ChoiceMethod, "noaux_tc") != "noaux_tc")
      fail(settings, Key::ChoiceMethod, "noaux_tc");
    return !settings.isNull(Key::ExpertGroups);
  }
  std::string method = settings.text(Key::ChoiceMethod, "greedy");
  if (method != "greedy" && method != "group_limited_greedy")
    fail(settings, Key::ChoiceMethod, "greedy or group_limited_greedy");
  return method == "group_limited_greedy";
}

static void describeGroups(Settings &settings, ExpertsForm &experts) {
  if (!hasGroups(settings, experts.gating) || settings.hasFailed())
    return;
  experts.groups = settings.required(Key::ExpertGroups);
  experts.usedGroups = settings.required(Key::UsedGroups);
  experts.groupBest = experts.gating == Gating::Sigmoid ? 2 : 1;
  const int64_t size = experts.count / experts.groups;
  if (experts.count % experts.groups)
    fail(settings, Key::ExpertGroups, "a divisor of the " + std::to_string(experts.count) + " experts");
  else if (experts.usedGroups > experts.groups || experts.usedGroups * size < experts.used)
    fail(settings, Key::UsedGroups,
         "at most " + std::to_string(experts.groups) + " groups, with at least " + std::to_string(experts.used) +
             " experts");
  else if (experts.groups > 1 && size < experts.groupBest)
    fail(settings, Key::ExpertGroups, "groups of at least " + std::to_string(experts.groupBest) + " experts");
  if (experts.usedGroups == experts.groups)
    experts.groups = experts.usedGroups = 1; // all experts are in a group that is used
}

/// Shares of the first model are never divided by their sum in transformers, whatever its configuration says.
static bool dividesShares(Settings &settings, Gating gating) {
  bool divides = settings.flag(Key::NormalisesShares, !settings.isGguf() && gating == Gating::Sigmoid);
  if (divides && !settings.isGguf() && gating == Gating::Softmax)
    fail(settings, Key::NormalisesShares, "false with shares of a softmax");
  return divides;
}

static void describeLayersWithExperts(Settings &settings, Weights &weights, Form &form, Gating ofModel) {
  if (!describeExperts(settings, form, /*normalises=*/false))
    return;
  ExpertsForm &experts = form.experts;
  experts.gating = gatingOf(settings, ofModel);
  experts.normalises = dividesShares(settings, experts.gating);
  experts.scale = settings.number(Key::ShareScale, settings.isGguf() || ofModel == Gating::Softmax ? 1 : 2.5);
  if (experts.scale == 0 && settings.isGguf())
    experts.scale = 1; // what files without a scale have
  experts.sharedWidth = settings.integer(Key::SharedExperts, 0) * experts.width;
  const int64_t first =
      settings.integer(Key::FirstExpertLayer, settings.isGguf() || ofModel == Gating::Softmax ? 0 : 3);
  if (settings.integer(Key::ExpertFrequency, 1) != 1)
    fail(settings, Key::ExpertFrequency, "1");
  for (auto [number, layer] : llvm::enumerate(form.layers))
    layer.hasExperts = static_cast<int64_t>(number) >= first;
  experts.hasChoiceBias =
      settings.isGguf() ? weights.has({"blk.%.exp_probs_b.bias", first, ""}) : experts.gating == Gating::Sigmoid;
  if (!settings.hasFailed())
    describeGroups(settings, experts);
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

static void describe(Settings &settings, Weights &weights, Form &form, Gating gating) {
  describeCommon(settings, weights, form, {.hasRotary = false});
  if (settings.hasFailed())
    return;
  form.activation = readActivation(settings, Form::Activation::Silu);
  form.hasProjectionBias = form.hasOutputBias = settings.flag(Key::AttentionBias, false);
  form.interleavesPairs = true;
  describeLatent(settings, weights, form);
  describeLayersWithExperts(settings, weights, form, gating);
  // Layers that predict more than one token ahead; the next one does not depend on them.
  constexpr int64_t most = 64;
  const int64_t layers = static_cast<int64_t>(form.layers.size());
  const int64_t further = std::min(settings.integer(Key::PredictingLayers, 0), most);
  for (int64_t layer = layers; !settings.isGguf() && layer < layers + further; ++layer)
    weights.ignoreLayer(layer);
}

void describeDeepseekV2(Settings &settings, Weights &weights, Form &form) {
  describe(settings, weights, form, Gating::Softmax);
  form.hasInnerBias = settings.flag(Key::InnerBias, false);
}

void describeDeepseekV3(Settings &settings, Weights &weights, Form &form) {
  describe(settings, weights, form, Gating::Sigmoid);
  form.interleavesPairs = settings.flag(Key::InterleavesPairs, true);
}
} // namespace perpend::checkpoint::architectures
