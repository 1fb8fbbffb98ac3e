// TIFF by libtiff: samples of 1 to 16 bits, grey, palette, RGB, CMYK and YCbCr.
#include "images/Picture.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <tiffio.h>

namespace perpend::images {
namespace {

struct Reader {
  const uint8_t *bytes;
  int64_t sizeBytes, position;
  char message[160];
};

Reader &readerOf(thandle_t handle) { return *static_cast<Reader *>(handle); }

tmsize_t readBytes(thandle_t handle, void *target, tmsize_t count) {
  Reader &reader = readerOf(handle);
  tmsize_t available = std::clamp<int64_t>(reader.sizeBytes - reader.position, 0, count);
  if (available)
    memcpy(target, reader.bytes + reader.position, static_cast<size_t>(available));
  reader.position += available;
  return available;
}

toff_t seek(thandle_t handle, toff_t offset, int origin) {
  Reader &reader = readerOf(handle);
  int64_t base = origin == SEEK_SET ? 0 : origin == SEEK_CUR ? reader.position : reader.sizeBytes, target;
  if (__builtin_add_overflow(base, static_cast<int64_t>(offset), &target) || target < 0)
    return static_cast<toff_t>(-1);
  reader.position = target;
  return static_cast<toff_t>(target);
}

int noteError(TIFF *, void *reader, const char *, const char *format, va_list arguments) {
  char *message = static_cast<Reader *>(reader)->message;
  if (!*message)
    vsnprintf(message, sizeof Reader::message, format, arguments);
  return 1;
}

TIFF *open(Reader &reader) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options)
    return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, 4 * Picture::maxPixels);
  TIFFOpenOptionsSetErrorHandlerExtR(options, noteError, &reader);
  TIFFOpenOptionsSetWarningHandlerExtR(
      options, [](TIFF *, void *, const char *, const char *, va_list) { return 1; }, nullptr);
  TIFF *tiff = TIFFClientOpenExt(
      "image", "rm", &reader, readBytes, [](thandle_t, void *, tmsize_t) { return tmsize_t(0); }, seek,
      [](thandle_t) { return 0; }, [](thandle_t handle) { return static_cast<toff_t>(readerOf(handle).sizeBytes); },
      nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
  return tiff;
}

// Keeps colours unchanged: the library would multiply them by opacity.
void forgetOpacity(TIFF *tiff) {
  uint16_t count = 0, *kinds = nullptr, unspecified[16] = {};
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) && count > 0 && count <= 16)
    TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, count, unspecified);
}

void read(TIFF *tiff, Reader &reader, Picture &picture) {
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  forgetOpacity(tiff);
  uint8_t *rgb = picture.begin(width, height);
  auto *raster = static_cast<uint32_t *>(rgb ? malloc(size_t(4) * width * height) : nullptr);
  if (raster && TIFFReadRGBAImageOriented(tiff, width, height, raster, ORIENTATION_TOPLEFT, /*stop=*/1)) {
    for (size_t i = 0; i < size_t(width) * height; ++i)
      for (size_t c = 0; c < 3; ++c)
        rgb[3 * i + c] = static_cast<uint8_t>(raster[i] >> (8 * c));
    picture.finish();
  } else {
    picture.fail("TIFF: %s", reader.message[0] ? reader.message : "no memory");
  }
  free(raster);
}

} // namespace

void decodeTiff(Picture &picture) {
  Reader reader{picture.bytes(), picture.sizeBytes(), 0, {}};
  TIFF *tiff = open(reader);
  if (!tiff)
    return picture.fail("TIFF: %s", reader.message[0] ? reader.message : "no memory");
  read(tiff, reader, picture);
  TIFFClose(tiff);
}

} // namespace perpend::images
