// Runs a model in an object of macOS (Mach-O, AArch64) on Linux: places its sections in memory, relocates them, and
// calls the function. For test_macos.py, which has no macOS.
//
// run_macho OBJECT FUNCTION (+INPUT | SIZE:OUTPUT)...
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { segment = 0x19, symbolTable = 2, zeroFill = 1, undefined = 0, inSection = 0xe, mostArguments = 24 };
enum { unsigned64, subtractor, branch26, page21, pageOffset12, gotPage21, gotPageOffset12, addend = 10 };

struct Header {
  uint32_t magic, cpu, subtype, type, commandCount, commandBytes, flags, reserved;
};
struct Segment {
  uint32_t command, bytes;
  char name[16];
  uint64_t address, size, offset, fileSize;
  uint32_t protections[2], sectionCount, flags;
};
struct Section {
  char name[16], segment[16];
  uint64_t address, size;
  uint32_t offset, alignment, relocations, relocationCount, flags, reserved[3];
};
struct Symbol {
  uint32_t name;
  uint8_t type, section;
  uint16_t description;
  uint64_t value;
};
struct SymbolTable {
  uint32_t command, bytes, symbols, symbolCount, strings, stringBytes;
};
struct Relocation {
  int32_t address;
  uint32_t symbol : 24, isRelative : 1, length : 2, isExternal : 1, type : 4;
};
/// What an undefined symbol is: its address, and a jump to it, which a branch reaches.
struct Stub {
  uint32_t load, jump;
  uint64_t address;
};

static void fill16(void *to, const void *pattern, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    ((char *)to)[i] = ((const char *)pattern)[i % 16];
}
static void clear(void *to, size_t bytes) { memset(to, 0, bytes); }

#define FUNCTION(name) {"_" #name, (void *)name}
static const struct {
  const char *name;
  void *address;
} known[] = {FUNCTION(memset),         FUNCTION(memcpy), FUNCTION(memmove),
             FUNCTION(expf),           FUNCTION(logf),   FUNCTION(sinf),
             FUNCTION(cosf),           FUNCTION(tanhf),  FUNCTION(erff),
             FUNCTION(powf),           FUNCTION(fmodf),  FUNCTION(log1pf),
             FUNCTION(exp2f),          FUNCTION(expm1f), {"_memset_pattern16", (void *)fill16},
             {"_bzero", (void *)clear}};

static void fail(const char *what, const char *which) {
  fprintf(stderr, "%s: %s\n", what, which);
  exit(1);
}

static char *readFile(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail("cannot open", path);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = aligned_alloc(64, (*size + 64) / 64 * 64);
  if (fread(bytes, 1, *size, file) != *size)
    fail("cannot read", path);
  fclose(file);
  return bytes;
}

static const char *file, *strings;
static const struct Symbol *symbols;
static struct Stub *stubs;
static char *memory;

static uint64_t addressOf(uint32_t number) {
  const struct Symbol *symbol = &symbols[number];
  return (symbol->type & 0xe) == inSection ? (uint64_t)memory + symbol->value : (uint64_t)&stubs[number];
}

static void relocate(uint32_t *place, struct Relocation relocation, int64_t more) {
  if (!relocation.isExternal)
    fail("relocation", "of no symbol");
  const uint64_t target = addressOf(relocation.symbol) + (uint64_t)more;
  const uint64_t entry = (uint64_t)&stubs[relocation.symbol].address;
  const uint64_t wanted = relocation.type == gotPage21 || relocation.type == gotPageOffset12 ? entry : target;
  const int64_t pages = (int64_t)(wanted >> 12) - (int64_t)((uint64_t)place >> 12);
  uint32_t code = *place;
  switch (relocation.type) {
  case unsigned64:
    *(uint64_t *)place += target;
    return;
  case branch26:
    *place = (code & 0xfc000000) | (((target - (uint64_t)place) >> 2) & 0x3ffffff);
    return;
  case page21:
  case gotPage21:
    *place = (code & 0x9f00001f) | (uint32_t)(pages & 3) << 29 | ((uint32_t)(pages >> 2) & 0x7ffff) << 5;
    return;
  case pageOffset12:
  case gotPageOffset12: {
    int scale = 0;
    if ((code & 0x3b000000) == 0x39000000)
      scale = (code & 0x04800000) == 0x04800000 ? 4 : (int)(code >> 30);
    *place = code | ((uint32_t)(wanted & 0xfff) >> scale) << 10;
    return;
  }
  default:
    fail("relocation", "of an unknown kind");
  }
}

static void relocateSection(const struct Section *section) {
  const struct Relocation *relocations = (const struct Relocation *)(file + section->relocations);
  int64_t more = 0;
  for (uint32_t i = 0; i < section->relocationCount; ++i) {
    if (relocations[i].type == addend) {
      more = (int32_t)(relocations[i].symbol << 8) >> 8;
      continue;
    }
    relocate((uint32_t *)(memory + section->address + relocations[i].address), relocations[i], more);
    more = 0;
  }
}

static void *knownFunction(const char *name) {
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (!strcmp(known[i].name, name))
      return known[i].address;
  return NULL; // an error once it is called
}

static void *load(const char *path, const char *function) {
  size_t size;
  file = readFile(path, &size);
  const struct Header *header = (const struct Header *)file;
  if (header->magic != 0xfeedfacf || header->cpu != 0x0100000c || header->type != 1)
    fail("not an object of macOS for AArch64", path);
  const struct Segment *whole = NULL;
  const struct SymbolTable *table = NULL;
  const char *command = file + sizeof *header;
  for (uint32_t i = 0; i < header->commandCount; ++i, command += ((const uint32_t *)command)[1]) {
    if (*(const uint32_t *)command == segment)
      whole = (const struct Segment *)command;
    if (*(const uint32_t *)command == symbolTable)
      table = (const struct SymbolTable *)command;
  }
  if (!whole || !table)
    fail("no segment or symbols", path);
  symbols = (const struct Symbol *)(file + table->symbols);
  strings = file + table->strings;
  const uint64_t bytes = (whole->size + 4095) / 4096 * 4096;
  memory = mmap(NULL, bytes + table->symbolCount * sizeof *stubs, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail("no memory", path);
  stubs = (struct Stub *)(memory + bytes);
  void *found = NULL;
  for (uint32_t i = 0; i < table->symbolCount; ++i) {
    const char *name = strings + symbols[i].name;
    const int isDefined = (symbols[i].type & 0xe) == inSection;
    const uint64_t address = isDefined ? (uint64_t)memory + symbols[i].value : (uint64_t)knownFunction(name);
    stubs[i] = (struct Stub){0x58000050 /* ldr x16, #8 */, 0xd61f0200 /* br x16 */, address};
    if (isDefined && !strcmp(name, function))
      found = (void *)address;
  }
  const struct Section *sections = (const struct Section *)(whole + 1);
  for (uint32_t i = 0; i < whole->sectionCount; ++i)
    if ((sections[i].flags & 0xff) != zeroFill)
      memcpy(memory + sections[i].address, file + sections[i].offset, sections[i].size);
  for (uint32_t i = 0; i < whole->sectionCount; ++i)
    relocateSection(&sections[i]);
  __builtin___clear_cache(memory, memory + bytes + table->symbolCount * sizeof *stubs);
  if (!found)
    fail("no function", function);
  return found;
}

int main(int count, char **words) {
  typedef int32_t Model(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);
  if (count < 3 || count - 3 > mostArguments)
    fail("arguments", "OBJECT FUNCTION (+INPUT | SIZE:OUTPUT)...");
  Model *model = (Model *)load(words[1], words[2]);
  void *a[mostArguments] = {0};
  for (int i = 3; i < count; ++i) {
    size_t size;
    a[i - 3] = words[i][0] == '+' ? readFile(words[i] + 1, &size)
                                  : aligned_alloc(64, ((size_t)atoll(words[i]) + 64) / 64 * 64);
  }
  const int32_t status = model(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13],
                               a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
  for (int i = 3; i < count; ++i) {
    const char *path = strchr(words[i], ':');
    if (words[i][0] == '+')
      continue;
    FILE *output = fopen(path + 1, "wb");
    if (!output || fwrite(a[i - 3], 1, (size_t)atoll(words[i]), output) != (size_t)atoll(words[i]) || fclose(output))
      fail("cannot write", path + 1);
  }
  return status;
}
