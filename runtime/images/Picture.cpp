#include "images/Picture.h"
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace perpend::images {

Picture::Picture(perpend_call *call, PixelFormat format) : call(call), format(format) {}

Picture::~Picture() {
  if (rgb != pixels)
    free(rgb);
}

void Picture::fail(const char *text, ...) {
  if (status != PERPEND_OK)
    return;
  char reason[200];
  va_list arguments;
  va_start(arguments, text);
  vsnprintf(reason, sizeof reason, text, arguments);
  va_end(arguments);
  status = perpend_call_fail(call, "the image cannot be decoded: %s", reason);
}

uint8_t *Picture::begin(int64_t width, int64_t height) {
  if (width < 1 || height < 1 || width > maxExtent || height > maxExtent || width * height > maxPixels) {
    fail("expected at most %lld pixels in rows of at most %lld, got %lld x %lld", static_cast<long long>(maxPixels),
         static_cast<long long>(maxExtent), static_cast<long long>(width), static_cast<long long>(height));
    return nullptr;
  }
  pixelCount = width * height;
  int64_t shape[] = {height, width, format == PixelFormat::Gray ? 1 : 3};
  pixels = static_cast<uint8_t *>(perpend_call_allocate(call, 0, shape, 3));
  rgb = pixels && format == PixelFormat::Gray ? static_cast<uint8_t *>(malloc(static_cast<size_t>(3 * pixelCount)))
                                              : pixels;
  if (!rgb)
    status = PERPEND_OUT_OF_MEMORY;
  return rgb;
}

void Picture::finish() {
  complete = true;
  if (format == PixelFormat::Rgb)
    return;
  const uint8_t *in = rgb;
  for (int64_t i = 0; i < pixelCount; ++i, in += 3) {
    if (format == PixelFormat::Bgr)
      std::swap(rgb[3 * i], rgb[3 * i + 2]);
    else // ITU-R BT.601, in units of 2^-16
      pixels[i] = static_cast<uint8_t>((in[0] * 19595u + in[1] * 38470u + in[2] * 7471u + 0x8000u) >> 16);
  }
}

} // namespace perpend::images
