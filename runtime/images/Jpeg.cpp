// JPEG by libjpeg-turbo, with its defaults: exact integer transform, smooth upsampling of chroma.
#include "images/Picture.h"
#include <csetjmp>
#include <cstdio> // jpeglib.h needs it
#include <cstdlib>

#include <jpeglib.h>

#include <jerror.h>

namespace perpend::images {
namespace {

// longjmp skips destructors, so everything that must be released is here.
struct Reader {
  jpeg_error_mgr errors; // first member: the library passes it back
  jmp_buf trap;
  jpeg_progress_mgr progress;
  jpeg_decompress_struct info;
  uint8_t *inks; // one row of four components
  char message[JMSG_LENGTH_MAX];
};

Reader &readerOf(j_common_ptr info) { return *reinterpret_cast<Reader *>(info->err); }

[[noreturn]] void leave(j_common_ptr info) {
  Reader &reader = readerOf(info);
  reader.errors.format_message(info, reader.message);
  longjmp(reader.trap, 1);
}

// A truncated or wrong file is an error; damage that the library repairs is not.
void warn(j_common_ptr info, int level) {
  if (level < 0 && info->err->msg_code == JWRN_JPEG_EOF)
    leave(info);
}

// Each scan costs a pass over the whole image, and a small file can contain many.
void limitScans(j_common_ptr info) {
  constexpr int maxScans = 100;
  if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= maxScans)
    return;
  snprintf(readerOf(info).message, JMSG_LENGTH_MAX, "more than %d scans", maxScans);
  longjmp(readerOf(info).trap, 1);
}

// Files store inks inverted.
void inksToRgb(const uint8_t *inks, uint8_t *rgb, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < 3; ++c) {
      uint32_t black = inks[4 * i + 3], product = (255u - inks[4 * i + c]) * black + 128;
      rgb[3 * i + c] = static_cast<uint8_t>(black - (((product >> 8) + product) >> 8));
    }
}

void readRows(Reader &reader, uint8_t *rgb, bool hasInks) {
  jpeg_decompress_struct &info = reader.info;
  while (info.output_scanline < info.output_height) {
    uint8_t *target = rgb + size_t(3) * info.output_width * info.output_scanline, *row = hasInks ? reader.inks : target;
    jpeg_read_scanlines(&info, &row, 1);
    if (hasInks)
      inksToRgb(row, target, info.output_width);
  }
}

void read(Reader &reader, Picture &picture) {
  jpeg_decompress_struct &info = reader.info;
  jpeg_create_decompress(&info);
  info.progress = &reader.progress;
  jpeg_mem_src(&info, picture.bytes(), static_cast<unsigned long>(picture.sizeBytes()));
  jpeg_read_header(&info, TRUE);
  bool hasInks = info.num_components == 4;
  info.out_color_space = hasInks ? JCS_CMYK : JCS_RGB;
  uint8_t *rgb = picture.begin(info.image_width, info.image_height);
  reader.inks = rgb && hasInks ? static_cast<uint8_t *>(malloc(size_t(4) * info.image_width)) : nullptr;
  if (!rgb || (hasInks && !reader.inks))
    return;
  jpeg_start_decompress(&info);
  readRows(reader, rgb, hasInks);
  picture.finish();
}

bool readGuarded(Reader &reader, Picture &picture) {
  if (setjmp(reader.trap))
    return false;
  read(reader, picture);
  return true;
}

} // namespace

void decodeJpeg(Picture &picture) {
  Reader reader{};
  reader.info.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = leave;
  reader.errors.emit_message = warn;
  reader.progress.progress_monitor = limitScans;
  if (!readGuarded(reader, picture))
    picture.fail("JPEG: %s", reader.message);
  jpeg_destroy_decompress(&reader.info);
  free(reader.inks);
}

} // namespace perpend::images
