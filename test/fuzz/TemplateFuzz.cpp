//===- TemplateFuzz.cpp - libFuzzer target: bytes as a chat template ------===//
//
// Bytes behind a NUL, if there is one, are the variables as JSON. What the compiler wrote is rendered, and rendered
// again with bytes of its table changed.
//
//===----------------------------------------------------------------------===//

#include "perpend_template.h"
#include "templates/Template.h"

static constexpr char conversation[] =
    R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " Hello <s> caf\u00e9 "},
    {"role": "assistant", "content": null, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments":
    {"x": [1, 2.5, null, true]}}}]}, {"role": "tool", "content": "{}"}], "tools": [{"type": "function", "function":
    {"name": "f", "description": "Does f.", "parameters": {"type": "object", "properties": {"x": {"type": "array"}}}}}],
    "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>", "n": -3, "t": "a-b c"})";

static void render(llvm::StringRef table, const perpend_value &variables) {
  perpend_template_limits limits = {/*steps=*/20000, /*memoryBytes=*/1 << 22, /*outputBytes=*/1 << 20, /*depth=*/200};
  perpend_rendering rendering;
  (void)perpend_template_render(table.data(), table.size(), &variables, &limits, &rendering);
  perpend_rendering_free(&rendering);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto [text, given] = llvm::StringRef(reinterpret_cast<const char *>(data), size).split('\0');
  llvm::StringRef json = given.empty() ? conversation : given;
  std::string error;
  std::optional<std::string> table = perpend::templates::compileTemplate(text, error);
  if (!table) {
    if (error.empty())
      __builtin_trap(); // a refusal says why
    return 0;
  }
  perpend_json variables;
  if (!perpend_json_read(json.data(), json.size(), nullptr, &variables)) {
    render(*table, variables.value);
    uint64_t random = size;
    for (int change = 0; change < 4; ++change) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      (*table)[(random >> 33) % table->size()] ^= char(1u << (random >> 29 & 7));
      render(*table, variables.value);
    }
  }
  perpend_json_free(&variables);
  return 0;
}
