//===- ParseModelFuzz.cpp - libFuzzer target: bytes as an ONNX file -------===//

#include "frontend/onnx/Functions.h"

using namespace perpend::onnx;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string error;
  std::optional<ModelProto> model = parseModel({reinterpret_cast<const char *>(data), size}, error);
  if (model)
    (void)inlineFunctions(*model, error);
  return 0;
}
