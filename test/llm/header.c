/* perpend_llm.h is C99. */
#include "perpend_llm.h"

int perpend_llm_is_c(void) {
  perpend_llm_generation generation = PERPEND_LLM_GENERATION_DEFAULTS;
  perpend_llm_sequence_options options = PERPEND_LLM_SEQUENCE_DEFAULTS;
  return generation.maxTokens == -1 && options.threads == 0;
}
