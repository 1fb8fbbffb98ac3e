// BMP: headers of 12 or at least 40 bytes, 1 to 32 bits per pixel, run lengths, bit fields.
#include "images/Bytes.h"
#include "images/Picture.h"
#include <cstring>

namespace perpend::images {
namespace {

constexpr int64_t fileHeaderBytes = 14, oldHeaderBytes = 12, headerBytes = 40;
enum Compression : uint32_t { Plain, RunLengths8, RunLengths4, BitFields, AlphaBitFields = 6 };

class Reader {
public:
  Reader(Picture &picture) : picture(picture), file(picture.bytes(), picture.sizeBytes()) {}
  void run();

private:
  bool readHeader();
  bool readOldHeader();
  bool readLayout();
  void readMasks(int64_t at);
  const char *complaint() const;
  void readRows();
  bool readRunLengths();
  bool readEscape(int64_t &at, int64_t &x, int64_t &y);
  uint32_t indexIn(int64_t at, int64_t position) const;
  void put(int64_t x, int64_t y, uint32_t value);
  void putIndex(int64_t x, int64_t y, uint32_t index);

  Picture &picture;
  Bytes file;
  int64_t width = 0, height = 0, dataAt = 0, paletteAt = 0, paletteCount = 0, entryBytes = 4;
  bool isTopDown = false;
  uint32_t bits = 0, compression = Plain, masks[3] = {};
  uint8_t *rgb = nullptr;
};

bool Reader::readOldHeader() {
  width = file.u16(fileHeaderBytes + 4);
  height = file.u16(fileHeaderBytes + 6);
  bits = file.u16(fileHeaderBytes + 10);
  entryBytes = 3;
  paletteAt = fileHeaderBytes + oldHeaderBytes;
  return true;
}

bool Reader::readHeader() {
  int64_t size = file.u32(fileHeaderBytes);
  dataAt = file.u32(10);
  if (size == oldHeaderBytes)
    return file.has(fileHeaderBytes, size) && readOldHeader();
  if (size < headerBytes || !file.has(fileHeaderBytes, size))
    return false;
  auto signedHeight = static_cast<int32_t>(file.u32(fileHeaderBytes + 8));
  width = static_cast<int32_t>(file.u32(fileHeaderBytes + 4));
  isTopDown = signedHeight < 0;
  height = isTopDown ? -int64_t(signedHeight) : signedHeight;
  bits = file.u16(fileHeaderBytes + 14);
  compression = file.u32(fileHeaderBytes + 16);
  paletteCount = file.u32(fileHeaderBytes + 32);
  paletteAt = fileHeaderBytes + size;
  if (size == headerBytes && compression == BitFields)
    paletteAt += 12;
  else if (size == headerBytes && compression == AlphaBitFields)
    paletteAt += 16;
  readMasks(fileHeaderBytes + headerBytes);
  return true;
}

// Red, green and blue in a pixel of 16 or 32 bits.
void Reader::readMasks(int64_t at) {
  constexpr uint32_t usual16[] = {0x7C00, 0x03E0, 0x001F}, usual32[] = {0xFF0000, 0x00FF00, 0x0000FF};
  bool isGiven = compression == BitFields || compression == AlphaBitFields;
  for (int c = 0; c < 3; ++c)
    masks[c] = isGiven ? file.u32(at + 4 * c) : bits == 16 ? usual16[c] : usual32[c];
}

const char *Reader::complaint() const {
  bool hasFields = compression == BitFields || compression == AlphaBitFields;
  if (bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 16 && bits != 24 && bits != 32)
    return "expected 1, 2, 4, 8, 16, 24 or 32 bits for a pixel";
  if (!(compression == Plain || (compression == RunLengths8 && bits == 8) ||
        (compression == RunLengths4 && bits == 4) || (hasFields && (bits == 16 || bits == 32))))
    return "a compression that is not known for this number of bits";
  return nullptr;
}

bool Reader::readLayout() {
  if (!readHeader())
    return picture.fail("BMP: the header is damaged"), false;
  if (const char *text = complaint())
    return picture.fail("BMP: %s", text), false;
  if (bits > 8)
    paletteCount = 0;
  else if (paletteCount == 0 || paletteCount > int64_t(1) << bits)
    paletteCount = int64_t(1) << bits;
  return (rgb = picture.begin(width, height));
}

uint32_t Reader::indexIn(int64_t at, int64_t position) const {
  int64_t bit = position * bits;
  return file.u8(at + bit / 8) >> (8 - bits - bit % 8) & ((1u << bits) - 1);
}

// Indices beyond the palette are black.
void Reader::putIndex(int64_t x, int64_t y, uint32_t index) {
  uint8_t *pixel = rgb + 3 * ((isTopDown ? y : height - 1 - y) * width + x);
  for (int64_t c = 0; c < 3; ++c)
    pixel[c] = index < paletteCount ? static_cast<uint8_t>(file.u8(paletteAt + entryBytes * index + 2 - c)) : 0;
}

void Reader::put(int64_t x, int64_t y, uint32_t value) {
  uint8_t *pixel = rgb + 3 * ((isTopDown ? y : height - 1 - y) * width + x);
  for (int c = 0; c < 3; ++c) {
    int shift = masks[c] ? __builtin_ctz(masks[c]) : 0;
    uint64_t most = masks[c] >> shift, part = (value & masks[c]) >> shift;
    pixel[c] = static_cast<uint8_t>(most ? part * 255 / most : 0);
  }
}

void Reader::readRows() {
  int64_t rowBytes = (width * bits + 31) / 32 * 4;
  // The padding of the last row may be missing.
  if (!file.has(dataAt, rowBytes * (height - 1) + (width * bits + 7) / 8))
    return picture.fail("BMP: the file ends early");
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x) {
      int64_t row = dataAt + y * rowBytes, at = row + x * bits / 8;
      if (bits <= 8)
        putIndex(x, y, indexIn(row, x));
      else
        put(x, y, bits == 16 ? file.u16(at) : bits == 32 ? file.u32(at) : file.u16(at) | file.u8(at + 2) << 16);
    }
  picture.finish();
}

// After a zero: end of row, end of image, a move, or literal pixels. False at the end of the image.
bool Reader::readEscape(int64_t &at, int64_t &x, int64_t &y) {
  int64_t count = file.u8(at++);
  if (count == 0) {
    x = 0;
    ++y;
  } else if (count == 1) {
    return false;
  } else if (count == 2) {
    x += file.u8(at);
    y += file.u8(at + 1);
    at += 2;
  } else {
    for (int64_t i = 0; i < count && y < height; ++i, ++x)
      if (x < width)
        putIndex(x, y, indexIn(at, i));
    at += (count * bits + 15) / 16 * 2;
  }
  return true;
}

bool Reader::readRunLengths() {
  for (int64_t y = 0; y < height; ++y) // pixels that are skipped
    for (int64_t x = 0; x < width; ++x)
      putIndex(x, y, 0);
  int64_t at = dataAt, x = 0, y = 0;
  while (y < height) {
    if (!file.has(at, 2))
      return false;
    int64_t count = file.u8(at++);
    if (count == 0) {
      if (!readEscape(at, x, y))
        return true;
      continue;
    }
    for (int64_t i = 0; i < count; ++i, ++x)
      if (x < width)
        putIndex(x, y, indexIn(at, bits == 4 ? i % 2 : 0));
    ++at;
  }
  return true;
}

void Reader::run() {
  if (!readLayout())
    return;
  if (compression != RunLengths8 && compression != RunLengths4)
    return readRows();
  if (readRunLengths())
    picture.finish();
  else
    picture.fail("BMP: the file ends early");
}

} // namespace

void decodeBmp(Picture &picture) { Reader(picture).run(); }

} // namespace perpend::images
