//===- TablesFuzz.cpp - libFuzzer target: bytes as the tables of a model --===//

#include "FakeModel.h"
#include "ReadModel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  perpend_module module = fake::makeModule();
  (void)fake::readModel(module, reinterpret_cast<const char *>(data), size);
  return 0;
}
