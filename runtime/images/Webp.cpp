// WebP by libwebp; of an animation the first frame, which must fill the canvas.
#include "images/Picture.h"

#include <webp/decode.h>
#include <webp/demux.h>

namespace perpend::images {

static void decodeStill(Picture &picture, const uint8_t *bytes, size_t sizeBytes, int width, int height) {
  uint8_t *rgb = picture.begin(width, height);
  if (!rgb)
    return;
  size_t rowBytes = size_t(3) * static_cast<size_t>(width);
  if (WebPDecodeRGBInto(bytes, sizeBytes, rgb, rowBytes * static_cast<size_t>(height), static_cast<int>(rowBytes)))
    picture.finish();
  else
    picture.fail("WebP: the data is damaged or ends early");
}

static void decodeFirstFrame(Picture &picture, const WebPBitstreamFeatures &features) {
  WebPData data{picture.bytes(), static_cast<size_t>(picture.sizeBytes())};
  WebPDemuxer *demuxer = WebPDemux(&data);
  WebPIterator frame{};
  if (!demuxer || !WebPDemuxGetFrame(demuxer, 1, &frame))
    picture.fail("WebP: the animation is damaged or has no frame");
  else if (frame.width != features.width || frame.height != features.height)
    picture.fail("WebP: expected a first frame that fills the animation, got %d x %d of %d x %d", frame.width,
                 frame.height, features.width, features.height);
  else
    decodeStill(picture, frame.fragment.bytes, frame.fragment.size, frame.width, frame.height);
  WebPDemuxReleaseIterator(&frame);
  WebPDemuxDelete(demuxer);
}

void decodeWebp(Picture &picture) {
  WebPBitstreamFeatures features;
  auto sizeBytes = static_cast<size_t>(picture.sizeBytes());
  if (WebPGetFeatures(picture.bytes(), sizeBytes, &features) != VP8_STATUS_OK)
    picture.fail("WebP: the header is damaged");
  else if (features.has_animation)
    decodeFirstFrame(picture, features);
  else
    decodeStill(picture, picture.bytes(), sizeBytes, features.width, features.height);
}

} // namespace perpend::images
