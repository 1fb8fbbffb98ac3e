// Strict parser of the header, which is a Python dictionary with three known keys.
#include "Npy.h"
#include "Types.h"
#include "perpend_module.h"
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perpend::runtime {
namespace {

__attribute__((format(printf, 2, 3))) bool failNpy(NpyError &error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error.message, sizeof error.message, format, arguments);
  va_end(arguments);
  return false;
}

// The format's type names, indexed by perpend_type; a name is read as the first match.
const char *const typeNames[PERPEND_TYPE_COUNT] = {
    "f4", "f8", "f2", "V2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1", "V1",
    "V1", "V1", "V1", "V1", "V1", "V1", "V1", "V1", "V1", "V1", "V1", "?",  "?",  "?"}; // strings and lists have none

class HeaderReader {
public:
  HeaderReader(const char *text, size_t count) : cursor(text), end(text + count) {}

  bool take(char expected) {
    skipSpace();
    bool matches = cursor < end && *cursor == expected;
    cursor += matches;
    return matches;
  }

  bool word(const char *expected) {
    skipSpace();
    size_t length = strlen(expected);
    bool matches = static_cast<size_t>(end - cursor) >= length && !memcmp(cursor, expected, length);
    cursor += matches ? length : 0;
    return matches;
  }

  // Reads 'text' or "text", without escapes, of less than capacity characters.
  bool string(char *text, size_t capacity) {
    char quote = take('\'') ? '\'' : take('"') ? '"' : '\0';
    size_t length = 0;
    while (quote && cursor < end && *cursor != quote && length + 1 < capacity)
      text[length++] = *cursor++;
    text[length] = '\0';
    return quote && take(quote);
  }

  bool extent(int64_t &value) {
    skipSpace();
    value = 0;
    const char *start = cursor;
    for (; cursor < end && *cursor >= '0' && *cursor <= '9'; ++cursor)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *cursor - '0', &value))
        return false;
    return cursor != start;
  }

  bool atEnd() {
    skipSpace();
    return cursor == end;
  }

private:
  void skipSpace() {
    while (cursor < end && (*cursor == ' ' || *cursor == '\n' || *cursor == '\t'))
      ++cursor;
  }
  const char *cursor, *end;
};

// For "<U5" the bytes of an element; 0 for other types.
int64_t textBytes(const char *descr) {
  char *end = nullptr;
  bool isText = (descr[0] == '<' || descr[0] == '=') && descr[1] == 'U' && descr[2] >= '1' && descr[2] <= '9';
  long characters = isText ? strtol(descr + 2, &end, 10) : 0;
  return characters && !*end && characters < INT32_MAX / 4 ? characters * 4 : 0;
}

bool readDescr(HeaderReader &reader, NpyArray &array, NpyError &error) {
  char descr[16];
  if (!reader.string(descr, sizeof descr))
    return failNpy(error, "dtype: expected a simple type such as '<f4', got a structured or unknown one");
  if (descr[0] == '>')
    return failNpy(error, "dtype: expected little endian, got '%s'; hint: array.astype(array.dtype.newbyteorder('<'))",
                   descr);
  for (int i = 0; i < PERPEND_TYPE_COUNT; ++i)
    if ((descr[0] == '<' || descr[0] == '|' || descr[0] == '=') && !strcmp(descr + 1, typeNames[i])) {
      array.type = static_cast<perpend_type>(i);
      array.elementBytes = perpend_type_size_bytes(array.type);
      return true;
    }
  array.type = PERPEND_STRING;
  array.elementBytes = textBytes(descr);
  if (array.elementBytes)
    return true;
  return failNpy(error, "dtype: expected float, integer, bool or unicode text, got '%s'; hint: array.astype(...)",
                 descr);
}

bool readShape(HeaderReader &reader, NpyArray &array, NpyError &error) {
  array.rank = 0;
  bool isSeparated = reader.take('(');
  while (!reader.take(')')) {
    if (!isSeparated || array.rank == PERPEND_MAX_RANK || !reader.extent(array.shape[array.rank]))
      return failNpy(error, "shape: expected a tuple of at most %d integers, got something else", PERPEND_MAX_RANK);
    ++array.rank;
    isSeparated = reader.take(',');
  }
  return true;
}

bool readOrder(HeaderReader &reader, bool &isFortran, NpyError &error) {
  isFortran = reader.word("True");
  return isFortran || reader.word("False") || failNpy(error, "fortran_order: expected True or False");
}

bool readHeader(HeaderReader reader, NpyArray &array, NpyError &error) {
  bool hasDescr = false, hasShape = false, hasOrder = false;
  bool isSeparated = reader.take('{');
  while (!reader.take('}')) {
    char key[16];
    if (!isSeparated || !reader.string(key, sizeof key) || !reader.take(':'))
      return failNpy(error, "header: expected a dictionary, got something else");
    bool *seen = !strcmp(key, "descr") ? &hasDescr : !strcmp(key, "shape") ? &hasShape : &hasOrder;
    if (*seen || (seen == &hasOrder && strcmp(key, "fortran_order")))
      return failNpy(error, "header: expected descr, fortran_order and shape once each, got '%s'", key);
    *seen = true;
    bool isRead = seen == &hasDescr   ? readDescr(reader, array, error)
                  : seen == &hasShape ? readShape(reader, array, error)
                                      : readOrder(reader, array.isFortran, error);
    if (!isRead)
      return false;
    isSeparated = reader.take(',');
  }
  if (!hasDescr || !hasShape || !hasOrder || !reader.atEnd())
    return failNpy(error, "header: expected descr, fortran_order and shape, got fewer or more");
  return true;
}

} // namespace

bool parseNpy(const uint8_t *bytes, size_t count, NpyArray &array, NpyError &error) {
  if (count < 10 || memcmp(bytes, "\x93NUMPY", 6))
    return failNpy(error, "expected a .npy file, got something else; hint: save it with numpy.save");
  int version = bytes[6];
  size_t prefix = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || count < prefix)
    return failNpy(error, "format version: expected 1 to 3, got %d", version);
  size_t headerBytes = bytes[8] | size_t{bytes[9]} << 8;
  if (version > 1)
    headerBytes |= size_t{bytes[10]} << 16 | size_t{bytes[11]} << 24;
  if (headerBytes > count - prefix)
    return failNpy(error, "truncated: expected a header of %zu bytes, got %zu", headerBytes, count - prefix);
  if (!readHeader(HeaderReader(reinterpret_cast<const char *>(bytes) + prefix, headerBytes), array, error))
    return false;
  if (!tensorBytes(array.shape, array.rank, PERPEND_I8, array.dataBytes) ||
      __builtin_mul_overflow(array.dataBytes, array.elementBytes, &array.dataBytes))
    return failNpy(error, "shape: the size does not fit 64 bits");
  array.dataOffset = static_cast<int64_t>(prefix + headerBytes);
  if (static_cast<uint64_t>(array.dataBytes) > count - prefix - headerBytes)
    return failNpy(error, "truncated: expected %lld bytes of data, got %zu", static_cast<long long>(array.dataBytes),
                   count - prefix - headerBytes);
  return true;
}

perpend_type npyTypeFor(perpend_type file, perpend_type wanted) {
  bool isBits = file == PERPEND_U8 || file == PERPEND_U16 || file == PERPEND_BF16 || file == PERPEND_I4 ||
                (file == PERPEND_I8 && (wanted == PERPEND_I4 || wanted == PERPEND_I2));
  bool stands =
      isBits && typeNames[wanted][0] == 'V' && perpend_type_size_bytes(file) == perpend_type_size_bytes(wanted);
  return stands ? wanted : file;
}

static bool readAll(int file, uint8_t *bytes, size_t count) {
  while (count) {
    ssize_t got = read(file, bytes, count);
    if (got <= 0)
      return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

static uint8_t *allocate(size_t count) {
  return static_cast<uint8_t *>(aligned_alloc(PERPEND_ALIGNMENT, (count / PERPEND_ALIGNMENT + 1) * PERPEND_ALIGNMENT));
}

// Copies the elements of a Fortran-order array into C order; null if out of memory.
static uint8_t *reordered(const NpyArray &array, const uint8_t *data) {
  uint8_t *result = allocate(static_cast<size_t>(array.dataBytes));
  const size_t bytes = static_cast<size_t>(array.elementBytes);
  int64_t index[PERPEND_MAX_RANK] = {}, count = array.dataBytes / static_cast<int64_t>(bytes);
  for (int64_t target = 0; result && target < count; ++target) {
    int64_t source = 0;
    for (int32_t dim = array.rank - 1; dim >= 0; --dim)
      source = source * array.shape[dim] + index[dim];
    memcpy(result + static_cast<size_t>(target) * bytes, data + static_cast<size_t>(source) * bytes, bytes);
    for (int32_t dim = array.rank - 1; dim >= 0 && ++index[dim] == array.shape[dim]; --dim)
      index[dim] = 0;
  }
  return result;
}

static uint8_t *readFile(const char *path, size_t &count) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat attributes;
  uint8_t *bytes = nullptr;
  if (file >= 0 && fstat(file, &attributes) == 0 && S_ISREG(attributes.st_mode)) {
    count = static_cast<size_t>(attributes.st_size);
    bytes = allocate(count);
    if (bytes && !readAll(file, bytes, count)) {
      free(bytes);
      bytes = nullptr;
    }
  }
  if (file >= 0)
    close(file);
  return bytes;
}

bool readNpy(const char *path, NpyArray &array, uint8_t *&data, NpyError &error) {
  size_t count = 0;
  errno = 0;
  data = readFile(path, count);
  if (!data)
    return failNpy(error, "cannot read '%.120s': %s; hint: the path of a .npy file that numpy.save wrote", path,
                   errno ? strerror(errno) : "it is not a file");
  if (!parseNpy(data, count, array, error)) {
    free(data);
    data = nullptr;
    return false;
  }
  if (!array.isFortran || array.rank < 2) {
    memmove(data, data + array.dataOffset, static_cast<size_t>(array.dataBytes));
    return true;
  }
  uint8_t *inFileOrder = data;
  data = reordered(array, data + array.dataOffset);
  free(inFileOrder);
  return data || failNpy(error, "'%.200s': not enough memory", path);
}

namespace {
// Replaces a file once the new one is complete. A file that is not regular, such as a pipe, and a file in a folder that
// accepts no other are written in place.
class Replacement {
public:
  explicit Replacement(const char *path) {
    struct stat old;
    bool isOpenFile = !strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6); // an open file under another name
    bool isOld = realpath(path, target) && stat(target, &old) == 0;
    if (!isOld)
      snprintf(target, sizeof target, "%s", path);
    int length = snprintf(unfinished, sizeof unfinished, "%s.%ld.part", target, static_cast<long>(getpid()));
    bool isReplaced = !isOpenFile && length < static_cast<int>(sizeof unfinished) &&
                      (isOld ? S_ISREG(old.st_mode) && access(target, W_OK) == 0 : lstat(path, &old) != 0);
    int file = isReplaced ? open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (file < 0)
      *unfinished = '\0';
    else if (isOld)
      (void)!fchmod(file, old.st_mode & 07777);
    stream = file < 0 ? fopen(path, "wb") : fdopen(file, "wb");
  }
  bool finish() {
    bool isWritten = !ferror(stream);
    isWritten &= fclose(stream) == 0;
    if (*unfinished && (!isWritten || rename(unfinished, target) != 0))
      isWritten = false, unlink(unfinished);
    return isWritten;
  }
  FILE *stream = nullptr;

private:
  char target[4096], unfinished[4096]; // PATH_MAX, which realpath() asks for
};
} // namespace

bool writeNpy(const char *path, const perpend_tensor &tensor, NpyError &error) {
  int64_t dataBytes;
  if (isHandle(tensor.type))
    return failNpy(error, "'%.200s': texts and lists cannot be written", path);
  if (!isType(tensor.type) || !tensorBytes(tensor.shape, tensor.rank, tensor.type, dataBytes))
    return failNpy(error, "'%.200s': the tensor's type or shape is not valid", path);
  char type[8];
  snprintf(type, sizeof type, "%c%s", perpend_type_size_bytes(tensor.type) == 1 ? '|' : '<', typeNames[tensor.type]);
  return writeNpyAs(path, type, tensor, tensor.data, dataBytes, error);
}

bool writeNpyAs(const char *path, const char *type, const perpend_tensor &tensor, const void *data, int64_t dataBytes,
                NpyError &error) {
  char header[1024];
  int used = snprintf(header, sizeof header, "{'descr': '%.20s', 'fortran_order': False, 'shape': (", type);
  for (int32_t i = 0; i < tensor.rank; ++i)
    used += snprintf(header + used, sizeof header - static_cast<size_t>(used), "%lld,%s",
                     static_cast<long long>(tensor.shape[i]), i + 1 < tensor.rank ? " " : "");
  used += snprintf(header + used, sizeof header - static_cast<size_t>(used), "), }");
  int headerBytes = (10 + used + 1 + 63) / 64 * 64 - 10; // so that the data starts at a multiple of 64
  uint8_t prefix[10] = {0x93,
                        'N',
                        'U',
                        'M',
                        'P',
                        'Y',
                        1,
                        0,
                        static_cast<uint8_t>(headerBytes & 255),
                        static_cast<uint8_t>(headerBytes >> 8)};
  Replacement file(path);
  if (!file.stream)
    return failNpy(error, "'%.200s': could not be written; hint: check that the folder exists", path);
  fwrite(prefix, 1, sizeof prefix, file.stream);
  fprintf(file.stream, "%-*s\n", headerBytes - 1, header);
  fwrite(data, 1, static_cast<size_t>(dataBytes), file.stream);
  return file.finish() || failNpy(error, "'%.200s': could not be written; hint: is the disk full?", path);
}

} // namespace perpend::runtime
