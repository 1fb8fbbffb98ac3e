// perpend_model_load: looks at the file first (ModelFile.h), then opens the object privately (RTLD_LOCAL).
#include "Errors.h"
#include "Model.h"
#include "ModelFile.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <new>
#include <unistd.h>

namespace perpend::runtime {
namespace {

struct LoadedObject {
  void *handle = nullptr; // of dlopen
  ModelFile file;
};

/// Rewrites `path` to a name that no earlier load used. For a known name, dlopen returns the object loaded then as long
/// as it is in use, even if the file has changed since; for a new name it compares the file. The load's number is
/// encoded before the last component of the path, with "./" and ".//" as digits. False: too long.
bool nameAnew(const char *path, char *name, size_t size) {
  static uint32_t loads = 0;
  const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
  int count = snprintf(name, size, "%.*s", static_cast<int>(last - path), path);
  for (uint32_t number = __atomic_add_fetch(&loads, 1, __ATOMIC_RELAXED); number && count < static_cast<int>(size);
       number /= 2)
    count += snprintf(name + count, size - static_cast<size_t>(count), number % 2 ? ".//" : "./");
  if (count < static_cast<int>(size))
    count += snprintf(name + count, size - static_cast<size_t>(count), "%s", last);
  return count < static_cast<int>(size);
}

void replaceLostPages(const LoadedObject &object) {
  link_map *map = nullptr;
  if (object.file.file >= 0 && dlinfo(object.handle, RTLD_DI_LINKMAP, &map) == 0)
    replaceLostPages(object.file, reinterpret_cast<char *>(map->l_addr));
}

void unloadObject(void *object) {
  auto *loaded = static_cast<LoadedObject *>(object);
  if (loaded->handle) {
    replaceLostPages(*loaded);
    dlclose(loaded->handle);
  }
  closeModelFile(loaded->file);
  free(loaded);
}

perpend_status checkLoadedFile(const perpend_model &model) {
  auto &object = *static_cast<LoadedObject *>(model.handle);
  ModelFile &file = object.file;
  const int64_t known = __atomic_load_n(&file.modified, __ATOMIC_RELAXED);
  int64_t modified = known;
  perpend_status status = checkUnchanged(file, modified);
  if (status != PERPEND_OK)
    replaceLostPages(object);
  if (status == PERPEND_OK && modified != known)
    status = verifyContents(model);
  if (status == PERPEND_OK && modified != known)
    __atomic_store_n(&file.modified, modified, __ATOMIC_RELAXED);
  return status;
}

// By a name that dlopen has not seen. Null: dlerror says why, or the path is too long.
void *openObject(const char *path) {
  char name[4096]; // with a slash: one without would be searched in the library path
  return nameAnew(path, name, sizeof name) ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : nullptr;
}

// From the copy, unless the system lets no code run that lies in no file.
void *openObject(const char *path, ModelFile &file) {
  if (file.copy >= 0) {
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file.copy);
    if (void *handle = openObject(name)) {
      closeModelFile(file); // what is mapped stays
      return handle;
    }
    close(file.copy);
    file.copy = -1;
  }
  return openObject(path);
}

perpend_status loadObject(const char *path, LoadedObject &object, perpend_model **model) {
  object.handle = openObject(path, object.file);
  if (!object.handle) {
    const char *reason = dlerror();
    return fail(PERPEND_NOT_A_MODEL, "'%s': could not be loaded: %s; hint: %s", path,
                reason ? reason : "its path is too long",
                object.file.allowsCode ? "load what `perpend compile MODEL -o model.so` wrote"
                                       : "its folder is mounted without execution (noexec): move it to another, or set "
                                         "TMPDIR to another where perpend.compile or torch.compile made it");
  }
  auto getModule = reinterpret_cast<const perpend_module *(*)()>(dlsym(object.handle, "perpend_module_main"));
  if (!getModule)
    return fail(PERPEND_NOT_A_MODEL,
                "'%s': expected the symbol perpend_module_main, got none; hint: this shared object is no model; load "
                "what `perpend compile MODEL -o model.so` wrote",
                path);
  return perpend_model_from_module(getModule(), model);
}

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

perpend_status perpend_model_load(const char *path, perpend_model **model) {
  if (!path || !model)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_model_load: expected a path and a place for the model, got NULL");
  *model = nullptr;
  void *memory = malloc(sizeof(LoadedObject));
  if (!memory)
    return failAllocation(sizeof(LoadedObject));
  auto *object = new (memory) LoadedObject();
  perpend_status status = openModelFile(path, object->file);
  if (status == PERPEND_OK)
    status = loadObject(path, *object, model);
  if (status != PERPEND_OK) {
    unloadObject(object);
    return status;
  }
  (*model)->unload = unloadObject;
  (*model)->handle = object;
  if (object->file.file >= 0)
    (*model)->checkFile = checkLoadedFile;
  return PERPEND_OK;
}
