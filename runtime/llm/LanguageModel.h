// A language model: handles of its entries, and its assets.
#ifndef PERPEND_RUNTIME_LLM_LANGUAGEMODEL_H
#define PERPEND_RUNTIME_LLM_LANGUAGEMODEL_H
#include "include/perpend_llm.h"
#include "llm/Settings.h"
#include <cstddef>

struct perpend_llm {
  // Entries from tokens to the logits of the last one: for a single token, and for any number. Either may be missing.
  perpend_model *single = nullptr, *chunk = nullptr;
  // From tokens to something of each of them: hidden states, and logits. Either may be missing.
  perpend_model *embed = nullptr, *verify = nullptr;
  int64_t width = 0;                      // of hidden states
  perpend_tokenizer *tokenizer = nullptr; // NULL: texts are tokens
  const perpend::llm::SettingsHead *settings = nullptr;
  const int32_t *stopTokens = nullptr;
  const void *chatTemplate = nullptr;
  int64_t templateBytes = 0;
  perpend_string refusal = {nullptr, 0}; // why there is no template
  int64_t vocabulary = 0;
  bool canCut = false; // all states grow by a row for each token
};

namespace perpend::llm {

// Copies a struct whose first member is its size, as the caller knows it. Errors: INVALID_ARGUMENT, INCOMPATIBLE.
perpend_status readVersioned(const char *what, const void *given, void *known, int64_t knownBytes);

// Errors: INVALID_ARGUMENT for a model without a tokenizer.
perpend_status requireTokenizer(const perpend_llm &llm);

} // namespace perpend::llm
#endif
