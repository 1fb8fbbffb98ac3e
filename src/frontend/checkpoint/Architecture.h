//===- Architecture.h - the list of architectures ---------------*- C++ -*-===//
//
// An architecture consists of the names of tensors in which it differs from others, and of a function that derives the
// form of the decoder (Form.h) from the settings. Each is in a file in architectures/.
//
//===----------------------------------------------------------------------===//

#ifndef PERPEND_FRONTEND_CHECKPOINT_ARCHITECTURE_H
#define PERPEND_FRONTEND_CHECKPOINT_ARCHITECTURE_H

#include "frontend/checkpoint/Form.h"
#include "frontend/checkpoint/Settings.h"
#include "frontend/checkpoint/Weights.h"

namespace perpend::checkpoint {

/// Fills in the form. Errors stay in the settings, or are diagnostics of the weights.
using Describe = void (*)(Settings &settings, Weights &weights, Form &form);

struct Architecture {
  /// model_type of config.json, and general.architecture of GGUF; empty: it has none of its own there.
  StringRef configName, ggufName;
  ArrayRef<TensorName> names;
  Describe describe;
};

/// Null if there is none of that name.
const Architecture *findArchitecture(StringRef name, bool isGguf);
/// The names of all, for messages.
std::string architectureNames(bool isGguf);

//===----------------------------------------------------------------------===//
// What descriptions share
//===----------------------------------------------------------------------===//

/// Widths, heads, norms, vocabulary, windows of no layer and one rotary embedding for all layers. Defaults are those of
/// the architecture's configuration in transformers.
struct CommonDefaults {
  double epsilon = 1e-6, rotaryBase = 10000;
  std::optional<int64_t> headSize = std::nullopt;
  bool isTied = false, hasRotary = true;
};
void describeCommon(Settings &settings, Weights &weights, Form &form, const CommonDefaults &defaults = {});

/// The window of every layer for which `isLocal` holds. Where config.json lists the layers' types, these decide.
void describeWindows(Settings &settings, Form &form, std::optional<int64_t> window,
                     llvm::function_ref<bool(int64_t layer)> isLocal);

/// One rotary embedding. `type`: of the layers for which config.json may have an entry of its own.
RotaryForm readRotary(Settings &settings, Weights &weights, const Form &form, double base, StringRef type = "");

/// The number and the width of experts, if there are any. False: there are none.
bool describeExperts(Settings &settings, Form &form, bool normalises);

Form::Activation readActivation(Settings &settings, Form::Activation otherwise);

namespace architectures {
extern const ArrayRef<TensorName> usualNames, mixtralNames, qwenNames, gemmaNames, phi3Names, gpt2Names, deepseekNames;
#define ARCHITECTURE(CONFIG, GGUF, NAMES, DESCRIBE) void DESCRIBE(Settings &settings, Weights &weights, Form &form);
#include "frontend/checkpoint/Architectures.def"
} // namespace architectures
} // namespace perpend::checkpoint

#endif
