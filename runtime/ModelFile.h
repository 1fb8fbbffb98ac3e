// The file of a model: everything that can be checked before the dynamic linker sees it, and what may happen to it
// later.
#ifndef PERPEND_RUNTIME_MODELFILE_H
#define PERPEND_RUNTIME_MODELFILE_H
#include "perpend.h"
#include <cstddef>
#include <cstdint>

namespace perpend::runtime {

// An object that the dynamic linker has mapped is read from its file while it runs: where that is cut short, a run ends
// with a signal. A small file is copied into memory and loaded from there; a large one is looked at before each run,
// which then takes long enough.
struct ModelFile {
  // What the dynamic linker maps of the file.
  struct Segment {
    uint64_t offset, bytes, address; // in the file; in the object
    bool isWritable;
  };
  Segment segments[8];
  uint32_t segmentCount = 0;
  // What it writes addresses into, and then protects.
  struct {
    uint64_t address = 0, bytes = 0; // in the object
  } relocated;
  int file = -1;                  // open for reading
  int copy = -1;                  // in memory; -1: there is none
  uint64_t device = 0, inode = 0; // of `file`, whose number may be another file's when the process has closed it
  bool allowsCode = true;         // of its mount (noexec)
  int64_t bytes = 0;
  int64_t modified = 0; // time in ns, as the system gives it
  // A file that another tool has written has none.
  struct SealState {
    uint32_t checksum = 0;
    bool isSealed = false;
  } seal;
};

// Errors: NOT_FOUND, NOT_A_MODEL, INCOMPATIBLE, CORRUPT; everything is closed then.
perpend_status openModelFile(const char *path, ModelFile &model);

// Makes the copy in memory, if the system gives memory for it, and code of the file's mount may run.
void copyModelFile(const char *path, ModelFile &model);

// Whether the file has what it had when it was opened. modified: when it was looked at last, from model.modified on;
// where the file is newer, its time, and its weights are to be verified. OK too when `file` is no longer the model's,
// which is then never closed. Errors: CORRUPT.
perpend_status checkUnchanged(const ModelFile &model, int64_t &modified);

// Zeros in place of what the object at `base` has lost of its file: the dynamic linker reads it when it unloads the
// object or the process ends.
void replaceLostPages(const ModelFile &model, char *base);

void closeModelFile(ModelFile &model);

} // namespace perpend::runtime
#endif
