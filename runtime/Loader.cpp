// perpend_model_load: checks the ELF headers first, so that a wrong or truncated file gives an error with a reason
// instead of a crash in the dynamic linker, then opens the object privately (RTLD_LOCAL).
#include "Errors.h"
#include "Model.h"
#include <ar.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

#if defined(__x86_64__)
constexpr uint16_t hostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t hostMachine = EM_AARCH64;
#endif

const char *machineName(uint16_t machine) {
  return machine == EM_X86_64 ? "x86-64" : machine == EM_AARCH64 ? "aarch64" : machine == EM_RISCV ? "riscv" : "other";
}

perpend_status checkSegments(const char *path, int file, const Elf64_Ehdr &header, int64_t fileBytes) {
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    auto at = static_cast<off_t>(header.e_phoff + uint64_t{i} * sizeof segment);
    if (pread(file, &segment, sizeof segment, at) != static_cast<ssize_t>(sizeof segment))
      return fail(PERPEND_CORRUPT, "'%s': truncated: no program header %u in %lld bytes; hint: copy the file again",
                  path, i, static_cast<long long>(fileBytes));
    uint64_t end;
    if (segment.p_type != PT_LOAD)
      continue;
    if (__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) || end > static_cast<uint64_t>(fileBytes))
      return fail(PERPEND_CORRUPT, "'%s': truncated: expected at least %llu bytes, got %lld; hint: copy the file again",
                  path, static_cast<unsigned long long>(end), static_cast<long long>(fileBytes));
  }
  return PERPEND_OK;
}

perpend_status checkElf(const char *path, int file, int64_t fileBytes) {
  Elf64_Ehdr header;
  ssize_t bytes = pread(file, &header, sizeof header, 0);
  if (bytes >= SARMAG && !memcmp(header.e_ident, ARMAG, SARMAG))
    return fail(PERPEND_NOT_A_MODEL,
                "'%s': expected an ELF shared object, got an archive; hint: link it into a program, or compile the "
                "model to a .so (perpend compile MODEL -o model.so)",
                path);
  if (bytes != static_cast<ssize_t>(sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG))
    return fail(PERPEND_NOT_A_MODEL,
                "'%s': expected an ELF shared object, got something else; hint: load what `perpend compile MODEL -o "
                "model.so` wrote, or compile and load at once (perpend.compile in Python)",
                path);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != hostMachine)
    return fail(PERPEND_INCOMPATIBLE,
                "'%s': expected a 64-bit object for %s, got one for %s; hint: compile the model for "
                "this machine",
                path, machineName(hostMachine), machineName(header.e_machine));
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr))
    return fail(PERPEND_NOT_A_MODEL,
                "'%s': expected a shared object, got another kind of ELF file; hint: run a program "
                "by itself, and load what `perpend compile MODEL -o model.so` wrote",
                path);
  return checkSegments(path, file, header, fileBytes);
}

perpend_status checkFile(const char *path) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return fail(PERPEND_NOT_FOUND, "'%s': expected a readable file, got error %d%s; hint: check the path", path, errno,
                errno == ENOENT   ? " (no such file)"
                : errno == EACCES ? " (permission denied)"
                                  : "");
  struct stat attributes;
  perpend_status status;
  if (fstat(file, &attributes) != 0 || !S_ISREG(attributes.st_mode))
    status = fail(PERPEND_NOT_A_MODEL, "'%s': expected a file, got a folder or device; hint: check the path", path);
  else
    status = checkElf(path, file, attributes.st_size);
  close(file);
  return status;
}

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

void unloadObject(void *handle) { dlclose(handle); }

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

perpend_status perpend_model_load(const char *path, perpend_model **model) {
  if (!path || !model)
    return fail(PERPEND_INVALID_ARGUMENT, "perpend_model_load: expected a path and a place for the model, got NULL");
  *model = nullptr;
  perpend_status status = checkFile(path);
  if (status != PERPEND_OK)
    return status;
  char name[4096]; //  with a slash, so that the library path is not searched
  if (!nameAnew(path, name, sizeof name))
    return fail(PERPEND_NOT_FOUND, "model path: expected fewer than %zu bytes", sizeof name - 100);
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    return fail(PERPEND_NOT_A_MODEL,
                "'%s': could not be loaded: %s; hint: load what `perpend compile MODEL -o model.so` wrote", path,
                reason ? reason : "unknown reason");
  }
  auto getModule = reinterpret_cast<const perpend_module *(*)()>(dlsym(handle, "perpend_module_main"));
  if (!getModule)
    status = fail(PERPEND_NOT_A_MODEL,
                  "'%s': expected the symbol perpend_module_main, got none; hint: this shared object is no model; load "
                  "what `perpend compile MODEL -o model.so` wrote",
                  path);
  else
    status = perpend_model_from_module(getModule(), model);
  if (status != PERPEND_OK) {
    dlclose(handle);
    return status;
  }
  (*model)->unload = unloadObject;
  (*model)->handle = handle;
  return PERPEND_OK;
}
