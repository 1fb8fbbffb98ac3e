// Opens the assets of a model, and finds its entries by their inputs and outputs.
#include "llm/LanguageModel.h"
#include "Errors.h"
#include "Model.h"
#include <cstdlib>
#include <cstring>
#include <new>

using perpend::runtime::fail;
using perpend::runtime::failAllocation;

namespace perpend::llm {

perpend_status readVersioned(const char *what, const void *given, void *known, int64_t knownBytes) {
  int64_t sizeBytes;
  memcpy(&sizeBytes, given, sizeof sizeBytes);
  if (sizeBytes < static_cast<int64_t>(sizeof sizeBytes) || sizeBytes > 4096)
    return fail(PERPEND_INVALID_ARGUMENT, "%s: expected sizeBytes to be the size of the struct, %lld, got %lld", what,
                static_cast<long long>(knownBytes), static_cast<long long>(sizeBytes));
  const char *bytes = static_cast<const char *>(given);
  for (int64_t i = knownBytes; i < sizeBytes; ++i)
    if (bytes[i])
      return fail(PERPEND_INCOMPATIBLE,
                  "%s: expected nothing after the %lld bytes that this version knows, got an option in byte %lld; "
                  "hint: link a newer libperpend_llm.a",
                  what, static_cast<long long>(knownBytes), static_cast<long long>(i));
  memcpy(known, given, static_cast<size_t>(sizeBytes < knownBytes ? sizeBytes : knownBytes));
  return PERPEND_OK;
}

static perpend_status readSettings(const perpend_model *model, perpend_llm &llm) {
  int64_t sizeBytes = 0;
  const void *bytes = perpend_model_asset(model, settingsAsset, &sizeBytes);
  if (!bytes)
    return fail(PERPEND_INVALID_ARGUMENT,
                "model '%.60s': expected a language model, got one without '%s'; hint: perpend llm compile makes one "
                "of a checkpoint",
                perpend_model_name(model), settingsAsset);
  const auto *settings = static_cast<const SettingsHead *>(bytes);
  constexpr auto headBytes = static_cast<int64_t>(sizeof(SettingsHead));
  if (sizeBytes < headBytes || settings->magic != settingsMagic)
    return fail(PERPEND_CORRUPT, "model '%.60s': its settings are damaged; hint: compile it again",
                perpend_model_name(model));
  if (settings->version != settingsVersion)
    return fail(PERPEND_INCOMPATIBLE,
                "model '%.60s': its settings: expected version %u, got %u; hint: compile it again",
                perpend_model_name(model), settingsVersion, settings->version);
  if (settings->contextTokens < 1 || settings->stopTokenCount != static_cast<uint64_t>(sizeBytes - headBytes) / 4)
    return fail(PERPEND_CORRUPT, "model '%.60s': its settings are damaged; hint: compile it again",
                perpend_model_name(model));
  llm.settings = settings;
  llm.stopTokens = reinterpret_cast<const int32_t *>(settings + 1);
  return PERPEND_OK;
}

// The length of a chunk of tokens that the entry takes, -1: any; 0: the entry is something else.
static int64_t tokensOf(const perpend_model *entry, int64_t &vocabulary) {
  const perpend_tensor_info *tokens = perpend_model_input(entry, 0), *logits = perpend_model_output(entry, 0);
  if (perpend_model_input_count(entry) != 1 || perpend_model_output_count(entry) != 1 || tokens->type != PERPEND_I64 ||
      tokens->rank != 1 || logits->type != PERPEND_F32 || logits->rank != 1 || logits->dims[0] < 1)
    return 0;
  vocabulary = logits->dims[0];
  return tokens->dims[0] < 0 || tokens->dims[0] == 1 ? tokens->dims[0] : 0;
}

// An entry for rows, by its name; NULL: there is none. *size: the elements of a row.
static perpend_model *takeRows(perpend_model *model, const char *name, int64_t *size) {
  perpend_model *entry = nullptr;
  if (perpend_model_entry(model, name, &entry))
    return nullptr;
  const perpend_tensor_info *tokens = perpend_model_input(entry, 0), *rows = perpend_model_output(entry, 0);
  if (perpend_model_input_count(entry) == 1 && perpend_model_output_count(entry) == 1 && tokens->type == PERPEND_I64 &&
      tokens->rank == 1 && tokens->dims[0] < 0 && rows->type == PERPEND_F32 && rows->rank == 2 && rows->dims[1] > 0) {
    *size = rows->dims[1];
    return entry;
  }
  perpend_model_free(entry);
  return nullptr;
}

static perpend_status findEntries(perpend_model *model, perpend_llm &llm) {
  for (int32_t i = 0; i < perpend_model_entry_count(model); ++i) {
    perpend_model *entry = nullptr;
    if (perpend_status status = perpend_model_entry(model, perpend_model_entry_name(model, i), &entry))
      return status;
    int64_t vocabulary = 0;
    const int64_t tokens = tokensOf(entry, vocabulary);
    perpend_model *&place = tokens == 1 ? llm.single : llm.chunk;
    const bool fits = tokens && !place && (!llm.vocabulary || llm.vocabulary == vocabulary);
    if (fits) {
      place = entry;
      llm.vocabulary = vocabulary;
    } else {
      perpend_model_free(entry);
    }
  }
  int64_t vocabulary = 0;
  llm.embed = takeRows(model, "embed", &llm.width);
  llm.verify = takeRows(model, "verify", &vocabulary);
  if (llm.verify && vocabulary != llm.vocabulary) {
    perpend_model_free(llm.verify);
    llm.verify = nullptr;
  }
  if (!llm.vocabulary || !perpend_model_state_count(model))
    return fail(PERPEND_INVALID_ARGUMENT,
                "model '%.60s': expected an entry from tokens, i64 [n], to logits, f32, with states, got none; hint: "
                "perpend llm compile makes one of a checkpoint",
                perpend_model_name(model));
  return PERPEND_OK;
}

static perpend_status openTokenizer(const perpend_model *model, perpend_llm &llm) {
  int64_t sizeBytes = 0;
  const void *table = perpend_model_asset(model, tokenizerAsset, &sizeBytes);
  return table ? perpend_tokenizer_create(table, sizeBytes, &llm.tokenizer) : PERPEND_OK;
}

perpend_status requireTokenizer(const perpend_llm &llm) {
  if (llm.tokenizer)
    return PERPEND_OK;
  return fail(PERPEND_INVALID_ARGUMENT,
              "model '%.60s' has no tokenizer, so its texts are tokens; hint: give tokens, or "
              "compile it with a tokenizer",
              perpend_model_name(llm.single ? llm.single : llm.chunk));
}

// Whether a text that is cut back leaves states as they were when it was that long.
static bool allStatesGrow(const perpend_model &model) {
  const perpend_tables *tables = model.module->tables;
  const auto *facts = reinterpret_cast<const perpend_state_record *>(reinterpret_cast<const char *>(tables) +
                                                                     tables->stateFacts.position);
  for (int32_t i = 0; i < perpend_model_state_count(&model); ++i)
    if (facts[i].growing >= static_cast<uint32_t>(perpend_model_state(&model, i)->rank))
      return false;
  return true;
}

static perpend_status open(perpend_model *model, perpend_llm &llm) {
  perpend_status status = readSettings(model, llm);
  if (!status)
    status = findEntries(model, llm);
  if (!status)
    status = openTokenizer(model, llm);
  llm.canCut = !status && allStatesGrow(*model);
  llm.chatTemplate = perpend_model_asset(model, templateAsset, &llm.templateBytes);
  llm.refusal.data = static_cast<const char *>(perpend_model_asset(model, refusalAsset, &llm.refusal.sizeBytes));
  return status;
}

} // namespace perpend::llm

using namespace perpend::llm;

perpend_status perpend_llm_create(perpend_model *model, perpend_llm **llm) {
  if (!model || !llm)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_llm_create: expected a model and a place for the result, got NULL");
  *llm = nullptr;
  void *memory = malloc(sizeof(perpend_llm));
  if (!memory)
    return failAllocation(sizeof(perpend_llm));
  auto *created = new (memory) perpend_llm();
  if (perpend_status status = open(model, *created)) {
    perpend_llm_free(created);
    return status;
  }
  *llm = created;
  return PERPEND_OK;
}

void perpend_llm_free(perpend_llm *llm) {
  if (!llm)
    return;
  if (llm->tokenizer)
    perpend_tokenizer_free(llm->tokenizer);
  perpend_model_free(llm->single);
  perpend_model_free(llm->chunk);
  perpend_model_free(llm->embed);
  perpend_model_free(llm->verify);
  free(llm);
}

int64_t perpend_llm_context(const perpend_llm *llm) { return llm->settings->contextTokens; }
int64_t perpend_llm_vocabulary(const perpend_llm *llm) { return llm->vocabulary; }
int64_t perpend_llm_embedding_size(const perpend_llm *llm) { return llm->width; }
const perpend_tokenizer *perpend_llm_tokenizer(const perpend_llm *llm) { return llm->tokenizer; }
const int32_t *perpend_llm_stop_tokens(const perpend_llm *llm, int32_t *count) {
  *count = static_cast<int32_t>(llm->settings->stopTokenCount);
  return llm->stopTokens;
}
int32_t perpend_llm_has_template(const perpend_llm *llm) { return llm->chatTemplate != nullptr; }

void perpend_llm_sampling(const perpend_llm *llm, perpend_sampler_options *options) {
  const perpend::llm::SettingsHead &head = *llm->settings;
  auto set = [](double &option, double value) { option = value == value ? value : option; };
  set(options->temperature, head.temperature);
  set(options->topP, head.topP);
  set(options->minP, head.minP);
  set(options->repetitionPenalty, head.repetitionPenalty);
  if (head.topK >= 0)
    options->topK = head.topK;
}
