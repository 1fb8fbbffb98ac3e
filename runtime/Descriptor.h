// The parsed descriptor of a model. perpend_module.h defines the JSON format.
#ifndef PERPEND_RUNTIME_DESCRIPTOR_H
#define PERPEND_RUNTIME_DESCRIPTOR_H
#include "Region.h"
#include "include/perpend_module.h"

namespace perpend::runtime {

struct NameList {
  const char *const *names = nullptr;
  uint32_t count = 0;
};

struct TensorList {
  const perpend_tensor_info *tensors = nullptr;
  uint32_t count = 0;
  const uint32_t *repeats = nullptr; // one bit per dimension
};

// A dimension of an input that may be 1 instead of its symbol's value.
struct Repeat {
  uint32_t input, dim, symbol;
};

struct RepeatList {
  const Repeat *entries = nullptr; // by input, then dimension
  uint32_t count = 0;
};

struct Descriptor {
  const char *version = nullptr, *name = nullptr, *target = "", *precision = "";
  const char *hint = nullptr; // for a model that this machine cannot run
  int64_t abi = -1, weightsBytes = -1;
  int64_t process = -1; // whose memory has the weights; -1: the artifact has them
  NameList symbols, dataSymbols, kernels, isa;
  TensorList inputs, outputs;
  RepeatList repeats;
  bool hasChecksum = false;
  uint32_t checksum = 0;
};

// Reads the module's descriptor and checks it against the module's counts. Errors: CORRUPT, INCOMPATIBLE.
perpend_status parseDescriptor(const perpend_module &module, Region &region, Descriptor &descriptor);

} // namespace perpend::runtime
#endif
