// The tables of a model (perpend_tables.h) in the form that the runtime uses: checked, with addresses for positions.
#ifndef PERPEND_RUNTIME_TABLES_H
#define PERPEND_RUNTIME_TABLES_H
#include "Region.h"
#include "include/perpend_module.h"

namespace perpend::runtime {

struct NameList {
  const char *tables = nullptr;
  const uint32_t *positions = nullptr;
  uint32_t count = 0;
  const char *operator[](uint32_t i) const { return tables + positions[i]; }
};

struct TensorList {
  const perpend_tensor_info *tensors = nullptr;
  uint32_t count = 0;
};

struct RepeatList {
  const perpend_repeat_record *entries = nullptr; // by input, then dimension
  uint32_t count = 0;
};

struct EntryStates {
  const perpend_entry_state_record *entries = nullptr;
  uint32_t count = 0;
};

struct Entry {
  const char *name = nullptr;
  NameList symbols;
  TensorList inputs, outputs;
  EntryStates states;
  RepeatList repeats;
  const perpend_buffer_lifetime *lifetimes = nullptr;
  const int64_t *offsets = nullptr; // valid with arenaBytes
  int64_t arenaBytes = -1;          // -1: the runtime plans
  uint32_t bufferCount = 0, growingCount = 0;
  uint32_t strategy = 0; // with which the runtime plans
};

struct SegmentList {
  const perpend_segment_record *records = nullptr;
  uint32_t count = 0;
  bool areFiles() const { return count && records[0].file; }
};

struct AssetList {
  const perpend_asset_record *records = nullptr;
  uint32_t count = 0;
};

struct Tables {
  const perpend_tables *head = nullptr;
  const char *name = nullptr, *target = "", *descriptor = nullptr;
  const char *hint = nullptr; // for a model that this machine cannot run
  NameList kernels, isa;
  TensorList states; // dims: the largest extents
  const Entry *entries = nullptr;
  uint32_t entryCount = 0;
  Entry entry; // of the handle: the first, unless it is another one's
  SegmentList segments;
  AssetList assets;
  uint64_t process = 0; // whose memory has the weights; 0: the artifact has them
};

// Reads the module's tables. What it returns points into them, or into a copy, and is safe to use as it is. Errors:
// CORRUPT, OUT_OF_MEMORY.
perpend_status readTables(const perpend_module &module, bool isCopied, Region &region, Tables &tables);

} // namespace perpend::runtime
#endif
