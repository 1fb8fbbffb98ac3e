#include "MappedFiles.h"
#include "Checksum.h"
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <pthread.h>

namespace perpend::runtime {
namespace {

// A file as it was mapped last. Never freed: an object may stay when nobody uses it any more.
struct MappedFile {
  uint64_t device, inode;
  int64_t bytes, modified;
  ModelFile::SealState seal;
  uint32_t relocated;
  MappedFile *next;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
MappedFile *files = nullptr;

MappedFile *entryOf(const ModelFile &file) {
  for (MappedFile *entry = files; entry; entry = entry->next)
    if (entry->device == file.device && entry->inode == file.inode)
      return entry;
  void *memory = malloc(sizeof(MappedFile));
  if (memory)
    files = new (memory) MappedFile{file.device, file.inode, 0, 0, {}, 0, files};
  return static_cast<MappedFile *>(memory);
}

bool isAsMapped(const MappedFile &entry, const ModelFile &file, void *object) {
  return entry.bytes == file.bytes && entry.seal.isSealed == file.seal.isSealed &&
         (file.seal.isSealed ? entry.seal.checksum == file.seal.checksum : entry.modified == file.modified) &&
         entry.relocated == checksumOfRelocated(file, object);
}

} // namespace

char *baseOf(void *object) {
  link_map *map = nullptr;
  return dlinfo(object, RTLD_DI_LINKMAP, &map) == 0 ? reinterpret_cast<char *>(map->l_addr) : nullptr;
}

uint32_t checksumOfRelocated(const ModelFile &file, void *object) {
  const char *base = baseOf(object);
  return base ? crc32c(base + file.relocated.address, file.relocated.bytes) : 0;
}

void *openMapped(const ModelFile &file, void *(*open)(const char *path, int flags), const char *path,
                 uint32_t &relocated, bool &isOther) {
  pthread_mutex_lock(&mutex);
  MappedFile *entry = entryOf(file);
  void *object = entry ? open(path, RTLD_NOLOAD) : nullptr;
  isOther = object && !isAsMapped(*entry, file, object);
  if (isOther) {
    dlclose(object);
    object = nullptr;
  } else if (entry && !object && (object = open(path, 0))) {
    *entry = {file.device, file.inode, file.bytes, file.modified, file.seal, checksumOfRelocated(file, object),
              entry->next};
  }
  relocated = entry ? entry->relocated : 0;
  pthread_mutex_unlock(&mutex);
  return object;
}

} // namespace perpend::runtime
