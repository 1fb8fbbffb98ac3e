// The files of which this process has mapped objects. For a file that it has mapped, the dynamic linker returns the
// object as it is, whatever has become of the file: relocated for what it was, or not at all, where it was cut short in
// between and the system has dropped the pages.
#ifndef PERPEND_RUNTIME_MAPPEDFILES_H
#define PERPEND_RUNTIME_MAPPEDFILES_H
#include "ModelFile.h"

namespace perpend::runtime {

// What the dynamic linker adds to the addresses of an object; null: it does not say.
char *baseOf(void *object);

// Of the addresses that it has written into an object. They stay as they are, unless pages are dropped.
uint32_t checksumOfRelocated(const ModelFile &file, void *object);

// Opens the object of a file, by `open`, which takes more flags for dlopen; relocated: its checksum. Null with
// `isOther`: what is mapped of the file is not what it has.
void *openMapped(const ModelFile &file, void *(*open)(const char *path, int flags), const char *path,
                 uint32_t &relocated, bool &isOther);

} // namespace perpend::runtime
#endif
