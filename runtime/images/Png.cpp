// PNG by libpng. Samples of 16 bits lose their lower half; transparency and gamma are ignored.
#include "images/Picture.h"
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

namespace perpend::images {
namespace {

// longjmp skips destructors.
struct Reader {
  png_structp png;
  png_infop info;
  const uint8_t *next, *end;
  jmp_buf trap;
  char message[160];
};

[[noreturn]] void leave(png_structp png, const char *message) {
  auto *reader = static_cast<Reader *>(png_get_error_ptr(png));
  snprintf(reader->message, sizeof reader->message, "%s", message);
  longjmp(reader->trap, 1);
}

void readBytes(png_structp png, png_bytep target, size_t count) {
  auto *reader = static_cast<Reader *>(png_get_io_ptr(png));
  if (static_cast<size_t>(reader->end - reader->next) < count)
    png_error(png, "the file ends early");
  memcpy(target, reader->next, count);
  reader->next += count;
}

void read(Reader &reader, Picture &picture) {
  png_structp png = reader.png;
  png_set_read_fn(png, &reader, readBytes);
  png_read_info(png, reader.info);
  png_uint_32 width = png_get_image_width(png, reader.info), height = png_get_image_height(png, reader.info);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_16(png);
  png_set_gray_to_rgb(png);
  png_set_strip_alpha(png);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
  if (png_get_rowbytes(png, reader.info) != size_t(3) * width)
    png_error(png, "perpend bug: the rows are not of red, green and blue");
  uint8_t *rgb = picture.begin(width, height);
  if (!rgb)
    return;
  for (int pass = 0; pass < passes; ++pass)
    for (png_uint_32 y = 0; y < height; ++y)
      png_read_row(png, rgb + size_t(3) * width * y, nullptr);
  picture.finish();
}

bool readGuarded(Reader &reader, Picture &picture) {
  if (setjmp(reader.trap))
    return false;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, leave, [](png_structp, const char *) {});
  reader.info = reader.png ? png_create_info_struct(reader.png) : nullptr;
  if (reader.info)
    read(reader, picture);
  return reader.info;
}

} // namespace

void decodePng(Picture &picture) {
  Reader reader{};
  reader.next = picture.bytes();
  reader.end = reader.next + picture.sizeBytes();
  if (!readGuarded(reader, picture))
    picture.fail("PNG: %s", reader.message[0] ? reader.message : "no memory");
  png_destroy_read_struct(&reader.png, &reader.info, nullptr);
}

} // namespace perpend::images
