//===- Settings.h - what a checkpoint says beside its weights ---*- C++ -*-===//
//
// The context, the tokens that end an answer, how tokens are chosen, and the chat
// template of a language model, from the metadata of a GGUF file or the files in a folder. What a file
// does not say stays unknown; nothing is guessed from the names of tokens.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_LLM_SETTINGS_H
#define PERPEND_LLM_SETTINGS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace perpend::llm {

struct Settings {
  std::optional<int64_t> context;    ///< the tokens that the model was trained with
  llvm::SmallVector<int32_t> stops;  ///< any of these tokens ends an answer
  std::optional<int32_t> start, end; ///< bos_token and eos_token of templates, by id
  std::string startText, endText;    ///< the same, by their spelling; empty: not known
  /// How tokens are chosen; what the checkpoint does not say is unknown.
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
  std::string chatTemplate;                             ///< empty: none
  std::string templateFile = "tokenizer.chat_template"; ///< where it stands, for messages
};

/// Whether the values that decide how tokens are chosen are possible; `name` gives the key of each, for the message.
llvm::Error checkSampling(const Settings &settings, llvm::function_ref<std::string(llvm::StringRef option)> name);

/// Errors: a file that cannot be read, or a value that is something else than it should be.
llvm::Expected<Settings> readGgufSettings(llvm::StringRef path);
llvm::Expected<Settings> readFolderSettings(llvm::StringRef folder);
} // namespace perpend::llm

#endif
