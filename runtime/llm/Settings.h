// What an artifact says of its language model beside graph and weights: assets (perpend_model_asset) that src/llm
// writes.
#ifndef PERPEND_RUNTIME_LLM_SETTINGS_H
#define PERPEND_RUNTIME_LLM_SETTINGS_H
#include <cstdint>

namespace perpend::llm {

constexpr char settingsAsset[] = "llm.settings";   // SettingsHead, then the stop tokens, int32_t
constexpr char tokenizerAsset[] = "llm.tokenizer"; // the table of perpend_tokenizer_create
constexpr char templateAsset[] = "llm.template";   // the table of perpend_template_render; optional
constexpr char refusalAsset[] = "llm.refusal";     // a text: why there is no template; optional

constexpr uint32_t settingsMagic = 0x4D4C4C50; // "PLLM"
constexpr uint32_t settingsVersion = 2;

struct SettingsHead {
  uint32_t magic, version;
  int64_t contextTokens;        // the most tokens of a sequence: the capacity of the states
  int32_t startToken, endToken; // bos_token and eos_token of templates; -1: none
  uint32_t stopTokenCount;      // any of these ends an answer
  int32_t topK;                 // how the checkpoint wants tokens to be chosen; -1: it does not say
  double temperature, topP, minP, repetitionPenalty; // the same; NaN: it does not say
};

} // namespace perpend::llm
#endif
