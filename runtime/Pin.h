// Keeps an object in the process that others may unload.
#ifndef PERPEND_RUNTIME_PIN_H
#define PERPEND_RUNTIME_PIN_H
#include <dlfcn.h>

// Weak, because a static program has no dynamic loader, and because the library that defines these functions differs
// between versions of glibc, so an artifact does not name it; a process that can unload an artifact has them.
extern "C" __attribute__((weak)) int dladdr(const void *, Dl_info *) noexcept;
extern "C" __attribute__((weak)) void *dlopen(const char *, int) noexcept;

namespace perpend::runtime {

// The object with this code stays loaded, whatever is asked for.
inline void pinObjectOf(const void *code) {
  Dl_info info;
  if (dladdr && dlopen && dladdr(code, &info) && info.dli_fname)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

} // namespace perpend::runtime
#endif
