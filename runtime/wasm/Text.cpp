// What the engine needs of the C library's texts, and copies by single instructions. The C library's own would bring
// its files, and a third of an artifact's size. Formats are those of this runtime: %d %i %u %x %c %s %% with + and 0, a
// width, a precision, and the lengths h, l and z.
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Writes what fits, and counts all.
class Writer {
public:
  Writer(char *text, size_t room) : text(text), room(room) {}
  void put(char letter) {
    if (used + 1 < room)
      text[used] = letter;
    ++used;
  }
  void put(const char *from, size_t count) {
    for (size_t i = 0; i < count; ++i)
      put(from[i]);
  }
  void fill(char letter, int32_t count) {
    for (; count > 0; --count)
      put(letter);
  }
  int end() {
    if (room)
      text[used < room ? used : room - 1] = 0;
    return static_cast<int>(used);
  }

private:
  char *text;
  size_t room, used = 0;
};

struct Format {
  bool isLeft = false, hasSign = false, hasZeros = false;
  int32_t width = 0, precision = -1, longs = 0; // longs: -1 for h
};

int32_t readNumber(const char *&format, va_list &arguments) {
  if (*format == '*')
    return ++format, va_arg(arguments, int);
  int32_t number = 0;
  for (; *format >= '0' && *format <= '9'; ++format)
    number = 10 * number + (*format - '0');
  return number;
}

Format readFormat(const char *&format, va_list &arguments) {
  Format result;
  for (;; ++format)
    if (*format == '-')
      result.isLeft = true;
    else if (*format == '+')
      result.hasSign = true;
    else if (*format == '0')
      result.hasZeros = true;
    else
      break;
  result.width = readNumber(format, arguments);
  if (*format == '.')
    result.precision = readNumber(++format, arguments);
  for (;; ++format)
    if (*format == 'l')
      ++result.longs;
    else if (*format == 'h')
      --result.longs;
    else if (*format != 'z')
      return result; // size_t has 32 bits
}

void putInteger(Writer &writer, const Format &format, uint64_t number, bool isNegative, uint32_t base) {
  char digits[24];
  size_t at = sizeof digits;
  do
    digits[--at] = "0123456789abcdef"[number % base];
  while (number /= base);
  const char sign = isNegative ? '-' : format.hasSign ? '+' : 0;
  const int32_t padding = format.width - static_cast<int32_t>(sizeof digits - at) - (sign != 0);
  if (!format.hasZeros && !format.isLeft)
    writer.fill(' ', padding);
  if (sign)
    writer.put(sign);
  if (format.hasZeros && !format.isLeft)
    writer.fill('0', padding);
  writer.put(digits + at, sizeof digits - at);
  if (format.isLeft)
    writer.fill(' ', padding);
}

void putText(Writer &writer, const Format &format, const char *text) {
  size_t count = 0;
  while ((format.precision < 0 || count < static_cast<size_t>(format.precision)) && text[count])
    ++count;
  const int32_t padding = format.width - static_cast<int32_t>(count);
  if (!format.isLeft)
    writer.fill(' ', padding);
  writer.put(text, count);
  if (format.isLeft)
    writer.fill(' ', padding);
}

void put(Writer &writer, const Format &format, char kind, va_list &arguments) {
  if (kind == 's')
    return putText(writer, format, va_arg(arguments, const char *));
  if (kind == 'c')
    return writer.put(static_cast<char>(va_arg(arguments, int)));
  if (kind == 'd' || kind == 'i') {
    const int64_t number = format.longs > 1 ? va_arg(arguments, long long) : va_arg(arguments, int);
    return putInteger(writer, format, number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number),
                      number < 0, 10);
  }
  if (kind == 'u' || kind == 'x') {
    const uint64_t number = format.longs > 1 ? va_arg(arguments, unsigned long long) : va_arg(arguments, unsigned);
    return putInteger(writer, format, number, false, kind == 'x' ? 16 : 10);
  }
  writer.put(kind);
}

} // namespace

extern "C" {

int vsnprintf(char *text, size_t room, const char *format, va_list arguments) {
  Writer writer(text, room);
  va_list rest;
  va_copy(rest, arguments);
  for (; *format; ++format)
    if (*format != '%') {
      writer.put(*format);
    } else {
      ++format;
      const Format read = readFormat(format, rest);
      put(writer, read, *format, rest);
    }
  va_end(rest);
  return writer.end();
}

int snprintf(char *text, size_t room, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = vsnprintf(text, room, format, arguments);
  va_end(arguments);
  return count;
}

// Of decimal numbers, without spaces in front.
long long strtoll(const char *text, char **end, int) {
  const bool isNegative = *text == '-';
  const char *at = text + isNegative;
  uint64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at)
    number = 10 * number + static_cast<uint64_t>(*at - '0');
  if (end)
    *end = const_cast<char *>(at == text + isNegative ? text : at);
  return static_cast<long long>(isNegative ? 0 - number : number);
}

// The compiler makes one instruction of each call in these.
void *memcpy(void *to, const void *from, size_t count) { return __builtin_memcpy(to, from, count); }
void *memmove(void *to, const void *from, size_t count) { return __builtin_memmove(to, from, count); }
void *memset(void *to, int value, size_t count) { return __builtin_memset(to, value, count); }

// Numbers that the C library reads would otherwise bring its files, to be closed at the end of a program.
void __stdio_exit_needed() {}
}
