// An image while it is decoded from the bytes of a file to a tensor [height, width, channels] of bytes.
#ifndef PERPEND_RUNTIME_IMAGES_PICTURE_H
#define PERPEND_RUNTIME_IMAGES_PICTURE_H
#include "include/perpend_operator.h"

namespace perpend::images {

enum class PixelFormat { Rgb, Bgr, Gray };

class Picture {
public:
  static constexpr int64_t maxPixels = int64_t(1) << 26, maxExtent = 65535;

  Picture(perpend_call *call, PixelFormat format);
  Picture(const Picture &) = delete;
  Picture &operator=(const Picture &) = delete;
  ~Picture();

  const uint8_t *bytes() const { return static_cast<const uint8_t *>(call->inputs[0].data); }
  int64_t sizeBytes() const { return call->inputs[0].shape[0]; }

  // Called once by a decoder when it knows the extents: memory for rows of red, green and blue. Null: the picture has
  // failed and the decoder must return.
  uint8_t *begin(int64_t width, int64_t height);
  // The rows are complete: converts them to the requested format.
  void finish();

  // Records why the image cannot be decoded; the first reason counts.
  void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
  bool isComplete() const { return status == PERPEND_OK && complete; }
  perpend_status result() const { return status; }

private:
  perpend_call *call;
  PixelFormat format;
  perpend_status status = PERPEND_OK;
  bool complete = false;
  uint8_t *pixels = nullptr, *rgb = nullptr; // the same memory unless the result has one channel
  int64_t pixelCount = 0;
};

// Each decodes the picture's bytes between begin() and finish(), or fails it.
void decodeBmp(Picture &picture);
void decodeJpeg(Picture &picture);
void decodeJpeg2000(Picture &picture);
void decodePng(Picture &picture);
void decodePnm(Picture &picture);
void decodeTiff(Picture &picture);
void decodeWebp(Picture &picture);

} // namespace perpend::images
#endif
