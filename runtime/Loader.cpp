// perpend_model_load: looks at the file first (ModelFile.h), then opens the object privately (RTLD_LOCAL).
#include "Errors.h"
#include "MappedFiles.h"
#include "Model.h"
#include "ModelFile.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <unistd.h>

namespace perpend::runtime {
namespace {

struct LoadedObject {
  void *handle = nullptr; // of dlopen
  uint32_t relocated = 0; // checksum
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
  if (char *base = object.file.file >= 0 ? baseOf(object.handle) : nullptr)
    replaceLostPages(object.file, base);
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
  if (status != PERPEND_OK || modified == known)
    return status;
  if (checksumOfRelocated(file, object.handle) != object.relocated)
    return fail(PERPEND_CORRUPT, "the model's file was cut short and is whole again after it had been loaded; hint: "
                                 "load it again; to replace the file of a model that runs, rename a new one");
  status = verifyContents(model);
  if (status == PERPEND_OK)
    __atomic_store_n(&file.modified, modified, __ATOMIC_RELAXED);
  return status;
}

// By a name that dlopen has not seen. Null: dlerror says why, or the path is too long.
void *openObject(const char *path, int flags) {
  char name[4096]; // with a slash: one without would be searched in the library path
  return nameAnew(path, name, sizeof name) ? dlopen(name, RTLD_NOW | RTLD_LOCAL | flags) : nullptr;
}

void *openCopy(ModelFile &file) {
  char name[40];
  snprintf(name, sizeof name, "/proc/self/fd/%d", file.copy);
  void *handle = file.copy >= 0 ? openObject(name, 0) : nullptr;
  if (handle) {
    closeModelFile(file); // what is mapped stays
  } else if (file.copy >= 0) {
    close(file.copy);
    file.copy = -1;
  }
  return handle;
}

// From the copy, unless the system lets no code run that lies in no file. isOther: the file is none that this process
// can map, and there is no copy.
void *openObject(const char *path, LoadedObject &object, bool &isOther) {
  if (void *handle = openCopy(object.file))
    return handle;
  void *handle = openMapped(object.file, openObject, path, object.relocated, isOther);
  if (handle || !isOther)
    return handle;
  copyModelFile(path, object.file);
  return openCopy(object.file);
}

perpend_status loadObject(const char *path, const char *weightsFolder, LoadedObject &object, perpend_model **model) {
  bool isOther = false;
  object.handle = openObject(path, object, isOther);
  if (!object.handle && isOther)
    return fail(
        PERPEND_CORRUPT,
        "'%s': it was written again while a model from it was loaded; hint: copy it to another file, or start a "
        "new process; to replace the file of a model that runs, rename a new one",
        path);
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
  // This object stays in the process, and may have a handler of signals (segments/BusGuard.h).
  return openModel(getModule(), {object.file.file >= 0, path, weightsFolder, &perpend_segment_functions_v1}, model);
}

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

perpend_status perpend_model_load(const char *path, perpend_model **model) {
  return perpend_model_load_with_weights(path, nullptr, model);
}

perpend_status perpend_model_load_with_weights(const char *path, const char *folder, perpend_model **model) {
  if (!path || !model)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_model_load: expected a path and a place for the model, got NULL");
  *model = nullptr;
  void *memory = malloc(sizeof(LoadedObject));
  if (!memory)
    return failAllocation(sizeof(LoadedObject));
  auto *object = new (memory) LoadedObject();
  perpend_status status = openModelFile(path, object->file);
  if (status == PERPEND_OK)
    status = loadObject(path, folder, *object, model);
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
