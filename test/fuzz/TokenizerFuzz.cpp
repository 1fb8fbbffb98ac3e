//===- TokenizerFuzz.cpp - libFuzzer target: bytes as a tokenizer's file --===//

#include "perpend_tokenizer.h"
#include "tokenizer/Load.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace perpend::tokenizer;
  llvm::Expected<TableBytes> table = readTokenizer({reinterpret_cast<const char *>(data), size}, "file", {"llama-bpe"});
  if (!table)
    return llvm::consumeError(table.takeError()), 0;
  perpend_tokenizer *tokenizer = nullptr;
  if (perpend_tokenizer_create(table->data(), static_cast<int64_t>(table->sizeBytes()), &tokenizer))
    __builtin_trap(); // what the compiler writes can be opened
  int32_t *ids = nullptr;
  int64_t count = 0;
  const char text[] = "Hello <s> world, caf\xC3\xA9 e\xCC\x81 \xFF\xE4\xBD 123  hello";
  if (!perpend_tokenizer_encode(tokenizer, {text, sizeof text - 1}, PERPEND_PARSE_SPECIAL, &ids, &count)) {
    char *back = nullptr;
    int64_t bytes = 0;
    (void)perpend_tokenizer_decode(tokenizer, ids, count, 0, &back, &bytes);
    perpend_tokenizer_release(back);
  }
  perpend_tokenizer_release(ids);
  perpend_tokenizer_free(tokenizer);
  return 0;
}
