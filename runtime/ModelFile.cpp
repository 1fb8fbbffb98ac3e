// Looks at the ELF headers and the seal, so that a wrong, truncated or damaged file is an error with a reason and not a
// crash in the dynamic linker or a wrong result.
#include "ModelFile.h"
#include "Checksum.h"
#include "Errors.h"
#include "Seal.h"
#include <algorithm>
#include <ar.h>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <iterator>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

#if defined(__x86_64__)
constexpr uint16_t hostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t hostMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t hostMachine = EM_RISCV;
#endif

const char *machineName(uint16_t machine) {
  return machine == EM_X86_64    ? "x86-64"
         : machine == EM_AARCH64 ? "aarch64"
         : machine == EM_RISCV   ? "riscv64"
                                 : "other";
}

template <typename T> bool readAt(int file, uint64_t offset, T &value) {
  return offset <= INT64_MAX - sizeof value &&
         pread(file, &value, sizeof value, static_cast<off_t>(offset)) == static_cast<ssize_t>(sizeof value);
}

perpend_status checkSegments(const char *path, int file, const Elf64_Ehdr &header, int64_t fileBytes) {
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!readAt(file, header.e_phoff + uint64_t{i} * sizeof segment, segment))
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

// A file that another tool has written again has no seal, and its sections are where its header says. Where they are
// not, its end is lost, and the seal with it.
bool isWhole(int file, const Elf64_Ehdr &header) {
  Elf64_Shdr names;
  return header.e_shnum == 0 ||
         (header.e_shstrndx < header.e_shnum && header.e_shentsize == sizeof names &&
          readAt(file, header.e_shoff + header.e_shstrndx * sizeof names, names) && names.sh_type == SHT_STRTAB);
}

perpend_status checkSeal(const char *path, int file, const Elf64_Ehdr &header, int64_t fileBytes,
                         ModelFile::SealState &state) {
  FileSeal seal;
  uint64_t begin = static_cast<uint64_t>(fileBytes) - sizeof seal;
  if (!readAt(file, begin, seal) || memcmp(seal.magic, fileSealMagic, sizeof seal.magic)) {
    if (isWhole(file, header))
      return PERPEND_OK;
    return fail(PERPEND_CORRUPT, "'%s': truncated: its end is not as its header says; hint: copy the file again", path);
  }
  uint32_t checksum = 0;
  bool isRead = seal.weightsBegin <= seal.weightsEnd && seal.weightsEnd <= begin &&
                crc32cOfFile(file, 0, seal.weightsBegin, checksum) &&
                crc32cOfFile(file, seal.weightsEnd, begin + offsetof(FileSeal, checksum), checksum);
  state = {seal.checksum, true};
  if (isRead && checksum == seal.checksum)
    return PERPEND_OK;
  return fail(PERPEND_CORRUPT,
              "'%s': checksum: expected %08x, got %08x; hint: the file was damaged, copy or compile it again; if you "
              "edited it (patchelf, chrpath), `objcopy FILE` drops the checksum",
              path, seal.checksum, checksum);
}

perpend_status checkElf(const char *path, int file, int64_t fileBytes, ModelFile::SealState &seal) {
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
  perpend_status status = checkSegments(path, file, header, fileBytes);
  return status == PERPEND_OK ? checkSeal(path, file, header, fileBytes, seal) : status;
}

// Of a file that has been checked.
void noteSegments(ModelFile &model) {
  Elf64_Ehdr header;
  if (!readAt(model.file, 0, header))
    return;
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!readAt(model.file, header.e_phoff + uint64_t{i} * sizeof segment, segment))
      continue;
    if (segment.p_type == PT_LOAD && model.segmentCount < std::size(model.segments))
      model.segments[model.segmentCount++] = {segment.p_offset, segment.p_filesz, segment.p_vaddr,
                                              (segment.p_flags & PF_W) != 0};
    if (segment.p_type == PT_GNU_RELRO)
      model.relocated = {segment.p_vaddr, segment.p_filesz};
  }
}

bool allowsCode(int file) {
  struct statvfs mount;
  return fstatvfs(file, &mount) == 0 && !(mount.f_flag & ST_NOEXEC);
}

// -1: the system gives no memory for it.
int copyOf(int file, const char *path, int64_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < static_cast<uint64_t>(bytes))
    return -1; // a copy in memory is a file, and a larger one ends the process
  const char *slash = strrchr(path, '/');
  char name[200] = ""; // the system takes no longer ones
  strncpy(name, slash ? slash + 1 : path, sizeof name - 1);
  int copy = memfd_create(name, MFD_CLOEXEC);
  char part[16384];
  for (int64_t done = 0; copy >= 0 && done < bytes;) {
    ssize_t count = pread(file, part, sizeof part, done);
    if (count > 0 && write(copy, part, static_cast<size_t>(count)) == count) {
      done += count;
    } else if (count >= 0 || errno != EINTR) {
      close(copy);
      copy = -1;
    }
  }
  return copy;
}

int64_t modificationTime(const struct stat &attributes) {
  return attributes.st_mtim.tv_sec * int64_t{1000000000} + attributes.st_mtim.tv_nsec;
}

// False: it is closed, or its number is another file's by now.
bool isOpen(const ModelFile &model, struct stat &attributes) {
  return model.file >= 0 && fstat(model.file, &attributes) == 0 && attributes.st_dev == model.device &&
         attributes.st_ino == model.inode;
}

} // namespace

perpend_status openModelFile(const char *path, ModelFile &model) {
  constexpr int64_t mostCopiedBytes = int64_t{4} << 20; // a millisecond
  model.file = open(path, O_RDONLY | O_CLOEXEC);
  if (model.file < 0)
    return fail(PERPEND_NOT_FOUND, "'%s': expected a readable file, got error %d%s; hint: check the path", path, errno,
                errno == ENOENT   ? " (no such file)"
                : errno == EACCES ? " (permission denied)"
                                  : "");
  struct stat attributes = {};
  perpend_status status;
  bool isFile = fstat(model.file, &attributes) == 0 && S_ISREG(attributes.st_mode);
  model.device = attributes.st_dev;
  model.inode = attributes.st_ino;
  if (!isFile) {
    status = fail(PERPEND_NOT_A_MODEL, "'%s': expected a file, got a folder or device; hint: check the path", path);
  } else {
    model.bytes = attributes.st_size;
    model.modified = modificationTime(attributes);
    model.allowsCode = allowsCode(model.file);
    if (model.bytes <= mostCopiedBytes)
      copyModelFile(path, model);
    status = checkElf(path, model.copy >= 0 ? model.copy : model.file, model.bytes, model.seal);
  }
  if (status == PERPEND_OK)
    noteSegments(model);
  else
    closeModelFile(model);
  return status;
}

void copyModelFile(const char *path, ModelFile &model) {
  if (model.allowsCode)
    model.copy = copyOf(model.file, path, model.bytes);
}

perpend_status checkUnchanged(const ModelFile &model, int64_t &modified) {
  struct stat attributes;
  if (!isOpen(model, attributes))
    return PERPEND_OK;
  if (attributes.st_size < model.bytes)
    return fail(PERPEND_CORRUPT,
                "the model's file was cut short after it had been loaded: expected %lld bytes, got %lld; hint: load it "
                "again; to replace the file of a model that runs, rename a new one",
                static_cast<long long>(model.bytes), static_cast<long long>(attributes.st_size));
  int64_t before = modified;
  modified = modificationTime(attributes);
  if (modified == before)
    return PERPEND_OK;
  ModelFile::SealState seal;
  perpend_status status = checkElf("the model's file", model.file, attributes.st_size, seal);
  if (status != PERPEND_OK || (seal.isSealed && model.seal.isSealed && seal.checksum == model.seal.checksum))
    return status;
  return fail(PERPEND_CORRUPT,
              "the model's file was written again after it had been loaded: expected checksum %08x, got %08x; hint: "
              "load it again; to replace the file of a model that runs, rename a new one",
              model.seal.checksum, seal.checksum);
}

void replaceLostPages(const ModelFile &model, char *base) {
  struct stat attributes;
  if (!isOpen(model, attributes))
    return;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t left = (static_cast<uint64_t>(attributes.st_size) + page - 1) / page * page; // the rest of a page is 0
  for (uint32_t i = 0; i < model.segmentCount; ++i) {
    const ModelFile::Segment &segment = model.segments[i];
    const uint64_t begin = std::max(segment.offset / page * page, left), end = segment.offset + segment.bytes;
    if (begin < end)
      mmap(base + (segment.address - segment.offset) + begin, end - begin,
           segment.isWritable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
}

void closeModelFile(ModelFile &model) {
  struct stat attributes;
  if (isOpen(model, attributes))
    close(model.file);
  if (model.copy >= 0)
    close(model.copy);
  model.file = model.copy = -1;
}

} // namespace perpend::runtime
