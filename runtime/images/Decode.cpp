// image.decode(bytes): the image of a file in memory, as [height, width, 3] or [height, width, 1] bytes. Parameter:
// format (rgb, bgr or grayscale). Ignores opacity, colour profiles and the orientation of photographs; decodes the
// first of several images. Source: ONNX ImageDecoder-20.
#include "images/Picture.h"
#include <cstring>

using namespace perpend::images;

namespace {

struct Format {
  const char *start; // start of the file; ? matches any byte
  int64_t sizeBytes;
  void (*decode)(Picture &picture);
};

const Format formats[] = {
    {"BM", 2, decodeBmp},
    {"\xFF\xD8\xFF", 3, decodeJpeg},
    {"\0\0\0\x0CjP  \r\n\x87\n", 12, decodeJpeg2000},
    {"\xFF\x4F\xFF\x51", 4, decodeJpeg2000},
    {"\x89PNG\r\n\x1A\n", 8, decodePng},
    {"P1", 2, decodePnm},
    {"P2", 2, decodePnm},
    {"P3", 2, decodePnm},
    {"P4", 2, decodePnm},
    {"P5", 2, decodePnm},
    {"P6", 2, decodePnm},
    {"P7", 2, decodePnm},
    {"II*\0", 4, decodeTiff},
    {"MM\0*", 4, decodeTiff},
    {"II+\0", 4, decodeTiff},
    {"MM\0+", 4, decodeTiff},
    {"RIFF????WEBP", 12, decodeWebp},
};

bool startsWith(const Picture &picture, const Format &format) {
  if (picture.sizeBytes() < format.sizeBytes)
    return false;
  for (int64_t i = 0; i < format.sizeBytes; ++i)
    if (format.start[i] != '?' && format.start[i] != static_cast<char>(picture.bytes()[i]))
      return false;
  return true;
}

PixelFormat pixelFormatOf(perpend_call *call) {
  char word[12] = {};
  perpend_call_word(call, "format", word, sizeof word - 1);
  return !strcmp(word, "bgr") ? PixelFormat::Bgr : !strcmp(word, "grayscale") ? PixelFormat::Gray : PixelFormat::Rgb;
}

} // namespace

extern "C" __attribute__((visibility("default"))) perpend_status perpend_image_decode(perpend_call *call) {
  Picture picture(call, pixelFormatOf(call));
  for (const Format &format : formats) {
    if (!startsWith(picture, format))
      continue;
    format.decode(picture);
    if (!picture.isComplete())
      picture.fail("no reason is known");
    return picture.result();
  }
  picture.fail("expected the bytes of a BMP, JPEG, JPEG 2000, PNG, PNM, TIFF or WebP file, got %lld bytes that start "
               "like none of them",
               static_cast<long long>(picture.sizeBytes()));
  return picture.result();
}
