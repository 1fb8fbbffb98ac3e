// Portable anymaps: PBM, PGM and PPM as text and as bytes (P1 to P6), and PAM (P7).
#include "images/Bytes.h"
#include "images/Picture.h"
#include <cstring>

namespace perpend::images {
namespace {

class Reader {
public:
  Reader(Picture &picture) : picture(picture), file(picture.bytes(), picture.sizeBytes()) {}
  void run();

private:
  bool readHeader();
  bool readArbitraryHeader();
  void skipSpaces();
  int64_t number();
  bool word(const char *expected);
  int64_t sample();
  int64_t bit();
  void readPixels();

  Picture &picture;
  Bytes file;
  int64_t at = 2, width = 0, height = 0, depth = 1, most = 1;
  char kind = 0;
  bool isText = false, isBits = false, isDamaged = false;
};

bool isSpace(uint32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Comments extend to the end of their line.
void Reader::skipSpaces() {
  while (at < file.size() && (isSpace(file.u8(at)) || file.u8(at) == '#')) {
    if (file.u8(at) == '#')
      while (at < file.size() && file.u8(at) != '\n')
        ++at;
    else
      ++at;
  }
}

int64_t Reader::number() {
  skipSpaces();
  int64_t start = at, value = 0;
  for (; at < file.size() && file.u8(at) >= '0' && file.u8(at) <= '9'; ++at)
    value = value < 1000000 ? value * 10 + static_cast<int64_t>(file.u8(at) - '0') : value;
  isDamaged |= at == start;
  return value;
}

bool Reader::word(const char *expected) {
  skipSpaces();
  auto length = static_cast<int64_t>(strlen(expected));
  if (!file.has(at, length) || memcmp(file.from(at), expected, static_cast<size_t>(length)) != 0)
    return false;
  at += length;
  return true;
}

bool Reader::readArbitraryHeader() {
  while (!word("ENDHDR")) {
    if (word("WIDTH"))
      width = number();
    else if (word("HEIGHT"))
      height = number();
    else if (word("DEPTH"))
      depth = number();
    else if (word("MAXVAL"))
      most = number();
    else if (!word("TUPLTYPE"))
      return false;
    while (at < file.size() && file.u8(at) != '\n')
      ++at;
  }
  return true;
}

bool Reader::readHeader() {
  kind = static_cast<char>(file.u8(1));
  isText = kind <= '3';
  isBits = kind == '1' || kind == '4';
  if (kind == '7') {
    if (!readArbitraryHeader())
      return false;
  } else {
    depth = kind == '3' || kind == '6' ? 3 : 1;
    width = number();
    height = number();
    most = isBits ? 1 : number();
  }
  if (!isText)
    ++at; // exactly one space
  return !isDamaged && most >= 1 && most <= 65535 && depth >= 1 && depth <= 4;
}

// In text form, bits need no space between them.
int64_t Reader::bit() {
  skipSpaces();
  uint32_t c = file.u8(at++);
  isDamaged |= c != '0' && c != '1';
  return c == '0'; // 1 is black
}

int64_t Reader::sample() {
  if (isText)
    return kind == '1' ? bit() : number();
  int64_t size = most > 255 ? 2 : 1;
  isDamaged |= !file.has(at, size);
  int64_t value = size == 2 ? file.u8(at) << 8 | file.u8(at + 1) : file.u8(at);
  at += size;
  return value;
}

void Reader::readPixels() {
  uint8_t *rgb = picture.begin(width, height);
  int64_t rowAt = at, rowBytes = (width + 7) / 8;
  for (int64_t i = 0; rgb && !isDamaged && i < width * height; ++i, rgb += 3) {
    int64_t samples[4] = {};
    if (kind == '4') {
      int64_t byte = rowAt + i / width * rowBytes + i % width / 8;
      isDamaged |= !file.has(byte, 1);
      samples[0] = !(file.u8(byte) >> (7 - i % width % 8) & 1);
    }
    for (int64_t c = 0; kind != '4' && c < depth; ++c)
      samples[c] = sample();
    for (int64_t c = 0; c < 3; ++c) {
      int64_t value = samples[depth < 3 ? 0 : c];
      rgb[c] = static_cast<uint8_t>(value >= most ? 255 : (value * 255 + most / 2) / most);
    }
  }
  if (isDamaged)
    picture.fail("PNM: the file is damaged or ends early");
  else if (rgb)
    picture.finish();
}

void Reader::run() {
  if (readHeader())
    readPixels();
  else
    picture.fail("PNM: the header is damaged");
}

} // namespace

void decodePnm(Picture &picture) { Reader(picture).run(); }

} // namespace perpend::images
