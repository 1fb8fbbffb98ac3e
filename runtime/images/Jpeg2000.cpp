// JPEG 2000, files and bare code streams, through OpenJPEG.
#include "images/Picture.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

#include <openjpeg.h>

namespace perpend::images {
namespace {

struct Reader {
  const uint8_t *bytes;
  int64_t sizeBytes, position;
  opj_codec_t *codec;
  opj_stream_t *stream;
  opj_image_t *image;
  char message[160];
};

Reader &readerOf(void *data) { return *static_cast<Reader *>(data); }

OPJ_SIZE_T readBytes(void *target, OPJ_SIZE_T count, void *data) {
  Reader &reader = readerOf(data);
  auto available = static_cast<OPJ_SIZE_T>(reader.sizeBytes - reader.position);
  if (!available)
    return static_cast<OPJ_SIZE_T>(-1);
  count = std::min(count, available);
  memcpy(target, reader.bytes + reader.position, count);
  reader.position += static_cast<int64_t>(count);
  return count;
}

OPJ_OFF_T skip(OPJ_OFF_T count, void *data) {
  Reader &reader = readerOf(data);
  OPJ_OFF_T moved = std::clamp<OPJ_OFF_T>(count, -reader.position, reader.sizeBytes - reader.position);
  reader.position += moved;
  return moved;
}

OPJ_BOOL seek(OPJ_OFF_T position, void *data) {
  Reader &reader = readerOf(data);
  if (position < 0 || position > reader.sizeBytes)
    return OPJ_FALSE;
  reader.position = position;
  return OPJ_TRUE;
}

// The library's messages end with a line break.
void noteError(const char *message, void *data) {
  Reader &reader = readerOf(data);
  if (!reader.message[0])
    snprintf(reader.message, sizeof reader.message, "%.*s", static_cast<int>(strcspn(message, "\n")), message);
}

bool open(Reader &reader) {
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  reader.codec = opj_create_decompress(reader.bytes[0] ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  reader.stream = opj_stream_default_create(OPJ_TRUE);
  if (!reader.codec || !reader.stream)
    return false;
  opj_set_error_handler(reader.codec, noteError, &reader);
  opj_stream_set_read_function(reader.stream, readBytes);
  opj_stream_set_skip_function(reader.stream, skip);
  opj_stream_set_seek_function(reader.stream, seek);
  opj_stream_set_user_data(reader.stream, &reader, nullptr);
  opj_stream_set_user_data_length(reader.stream, static_cast<OPJ_UINT64>(reader.sizeBytes));
  return opj_setup_decoder(reader.codec, &parameters) && opj_read_header(reader.stream, reader.codec, &reader.image);
}

// A component's sample as 8 bits, at a position of the reference grid.
int sampleAt(const opj_image_t &image, const opj_image_comp_t &component, int64_t x, int64_t y) {
  int64_t column = (image.x0 + x) / component.dx - component.x0, row = (image.y0 + y) / component.dy - component.y0;
  column = std::clamp<int64_t>(column, 0, int64_t(component.w) - 1);
  row = std::clamp<int64_t>(row, 0, int64_t(component.h) - 1);
  int64_t value = component.data[row * component.w + column], most = (int64_t(1) << component.prec) - 1;
  value += component.sgnd ? int64_t(1) << (component.prec - 1) : 0;
  if (component.prec > 8)
    value = (value + (int64_t(1) << (component.prec - 9))) >> (component.prec - 8);
  else if (component.prec < 8)
    value = (value * 255 + most / 2) / most;
  return static_cast<int>(std::clamp<int64_t>(value, 0, 255));
}

bool hasChroma(const opj_image_t &image) {
  bool isSaid = image.color_space == OPJ_CLRSPC_SYCC;
  bool isOpen = image.color_space == OPJ_CLRSPC_UNSPECIFIED || image.color_space == OPJ_CLRSPC_UNKNOWN;
  return image.numcomps >= 3 && (isSaid || (isOpen && image.comps[0].dx == 1 && image.comps[1].dx != 1));
}

void chromaToRgb(uint8_t *pixel) {
  double y = pixel[0], blue = pixel[1] - 128, red = pixel[2] - 128;
  double rgb[] = {y + 1.402 * red, y - 0.344136 * blue - 0.714136 * red, y + 1.772 * blue};
  for (int c = 0; c < 3; ++c)
    pixel[c] = static_cast<uint8_t>(std::clamp(rgb[c] + 0.5, 0.0, 255.0));
}

void convert(const opj_image_t &image, uint8_t *rgb, int64_t width, int64_t height) {
  bool chroma = hasChroma(image);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x, rgb += 3) {
      for (uint32_t c = 0; c < 3; ++c) // one or two components: grey, and its opacity
        rgb[c] = static_cast<uint8_t>(sampleAt(image, image.comps[image.numcomps < 3 ? 0 : c], x, y));
      if (chroma)
        chromaToRgb(rgb);
    }
}

const char *complaint(const opj_image_t &image) {
  if (image.numcomps < 1 || image.numcomps > 4 || image.color_space == OPJ_CLRSPC_CMYK)
    return "expected one to four components that are grey, RGB or YCC, and opacity";
  for (const opj_image_comp_t *c = image.comps; c != image.comps + image.numcomps; ++c)
    if (c->prec < 1 || c->prec > 31 || c->dx < 1 || c->dy < 1)
      return "expected samples of 1 to 31 bits";
  return nullptr;
}

bool hasAllSamples(const opj_image_t &image) {
  return std::all_of(image.comps, image.comps + image.numcomps,
                     [](const opj_image_comp_t &c) { return c.data && c.w > 0 && c.h > 0; });
}

void read(Reader &reader, Picture &picture) {
  if (!open(reader))
    return;
  const opj_image_t &image = *reader.image;
  if (const char *text = complaint(image))
    return noteError(text, &reader);
  int64_t width = int64_t(image.x1) - image.x0, height = int64_t(image.y1) - image.y0;
  uint8_t *rgb = picture.begin(width, height);
  if (!rgb || !opj_decode(reader.codec, reader.stream, reader.image) ||
      !opj_end_decompress(reader.codec, reader.stream) || complaint(image) || !hasAllSamples(image))
    return;
  convert(image, rgb, width, height);
  picture.finish();
}

} // namespace

void decodeJpeg2000(Picture &picture) {
  Reader reader{};
  reader.bytes = picture.bytes();
  reader.sizeBytes = picture.sizeBytes();
  read(reader, picture);
  if (!picture.isComplete())
    picture.fail("JPEG 2000: %s", reader.message[0] ? reader.message : "the data is damaged or ends early");
  opj_stream_destroy(reader.stream);
  opj_destroy_codec(reader.codec);
  opj_image_destroy(reader.image);
}

} // namespace perpend::images
