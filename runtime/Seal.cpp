// Compares code and constants in memory with what the compiler has linked.
#include "Seal.h"
#include "Checksum.h"
#include "Errors.h"
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace perpend::runtime {

#if !defined(__wasm__)
// The compiler fills it in when it has linked the runtime with a model: of that object this is, whatever model is asked
// for.
[[gnu::section(PERPEND_SEAL_SECTION)]] static volatile Seal sealOfThisObject = {};

static const char *beginOf(const volatile Seal::Range &range) {
  return reinterpret_cast<const char *>(const_cast<Seal *>(&sealOfThisObject)) + range.distance;
}

static uint64_t readHexadecimal(const char *&text) {
  uint64_t number = 0;
  for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); ++text)
    number = number << 4 | static_cast<uint64_t>(*text <= '9' ? *text - '0' : *text - 'a' + 10);
  return number;
}

// Opens the file that is mapped at an address, and says where in it that is. -1: there is none.
static int openMapped(const char *at, uint64_t &offset) {
  FILE *maps = fopen("/proc/self/maps", "re");
  const auto address = reinterpret_cast<uintptr_t>(at);
  char line[4300]; // "begin-end r-xp offset device inode path"
  int file = -1;
  while (maps && file < 0 && fgets(line, sizeof line, maps)) {
    const char *text = line, *path = strchr(line, '/');
    const uint64_t begin = readHexadecimal(text), end = readHexadecimal(++text);
    if (!path || address < begin || address >= end)
      continue;
    text += strlen(" r-xp ");
    offset = readHexadecimal(text) + (address - begin);
    line[strcspn(line, "\n")] = '\0';
    file = open(path, O_RDONLY | O_CLOEXEC);
  }
  if (maps)
    fclose(maps);
  return file;
}

// What debuggers and profilers write into code (breakpoints, uprobes) is in memory alone.
static bool isRightInFile() {
  uint32_t checksum = 0;
  bool isRead = true;
  for (const volatile Seal::Range &range : sealOfThisObject.ranges) {
    uint64_t offset = 0;
    int file = isRead && range.bytes ? openMapped(beginOf(range), offset) : -1;
    isRead = !range.bytes || (file >= 0 && crc32cOfFile(file, offset, offset + range.bytes, checksum));
    if (file >= 0)
      close(file);
  }
  return isRead && checksum == sealOfThisObject.checksum;
}
#endif

perpend_status compareChecksum(const char *what, uint32_t expected, uint32_t got) {
  if (got == expected)
    return PERPEND_OK;
  return fail(PERPEND_CORRUPT,
              "%s: checksum: expected %08x, got %08x; hint: the file was damaged, copy or compile it again", what,
              expected, got);
}

#if defined(__wasm__)
// An engine has compiled the code, and nothing shows it.
perpend_status verifySeal() { return PERPEND_OK; }
#else
perpend_status verifySeal() {
  if (!sealOfThisObject.isSet)
    return PERPEND_OK;
  uint32_t got = 0;
  for (const volatile Seal::Range &range : sealOfThisObject.ranges)
    got = crc32c(beginOf(range), static_cast<size_t>(range.bytes), got);
  const uint32_t expected = sealOfThisObject.checksum;
  return got != expected && isRightInFile() ? PERPEND_OK : compareChecksum("code", expected, got);
}
#endif

} // namespace perpend::runtime
