// Reads a file in memory; reading beyond its end is safe.
#ifndef PERPEND_RUNTIME_IMAGES_BYTES_H
#define PERPEND_RUNTIME_IMAGES_BYTES_H
#include <cstdint>

namespace perpend::images {

class Bytes {
public:
  Bytes(const uint8_t *data, int64_t count) : data(data), count(count) {}

  bool has(int64_t at, int64_t size) const { return at >= 0 && size >= 0 && at <= count && size <= count - at; }
  const uint8_t *from(int64_t at) const { return data + at; }
  int64_t size() const { return count; }

  // Little-endian numbers; 0 beyond the end.
  uint32_t u8(int64_t at) const { return has(at, 1) ? data[at] : 0u; }
  uint32_t u16(int64_t at) const { return u8(at) | u8(at + 1) << 8; }
  uint32_t u32(int64_t at) const { return u16(at) | u16(at + 2) << 16; }

private:
  const uint8_t *data;
  int64_t count;
};

} // namespace perpend::images
#endif
