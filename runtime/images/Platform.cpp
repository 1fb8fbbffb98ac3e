// Replaces the image libraries' platform layer: no files and no streams, which decoding from memory does not need (and
// whose variables static libraries could not reach from a shared library); memory functions of libtiff, whose own file
// for them opens files; and none of the TIFF compressions that would require further libraries.
#include <cstdlib>
#include <cstring>

#include <tiffio.h>

// Streams do not exist.
#define PERPEND_NO_STREAM(NAME, RESULT, VALUE)                                                                         \
  extern "C" RESULT perpend_image_##NAME(...) __asm__(#NAME);                                                          \
  extern "C" RESULT perpend_image_##NAME(...) { return VALUE; }
PERPEND_NO_STREAM(__fprintf_chk, int, -1)
PERPEND_NO_STREAM(fclose, int, -1)
PERPEND_NO_STREAM(ferror, int, 1)
PERPEND_NO_STREAM(fflush, int, -1)
PERPEND_NO_STREAM(fopen, void *, nullptr)
PERPEND_NO_STREAM(fputc, int, -1)
PERPEND_NO_STREAM(fread, size_t, 0)
PERPEND_NO_STREAM(fseeko, int, -1)
PERPEND_NO_STREAM(ftello, long, -1)
PERPEND_NO_STREAM(fwrite, size_t, 0)
PERPEND_NO_STREAM(remove, int, -1)
#undef PERPEND_NO_STREAM
extern "C" {
extern void *perpend_image_stdout __asm__("stdout"), *perpend_image_stderr __asm__("stderr");
void *perpend_image_stdout = nullptr, *perpend_image_stderr = nullptr;
}

namespace {
size_t size(tmsize_t bytes) { return static_cast<size_t>(bytes); }
} // namespace

extern "C" {
TIFFErrorHandler _TIFFwarningHandler = nullptr, _TIFFerrorHandler = nullptr;

void *_TIFFmalloc(tmsize_t bytes) { return bytes > 0 ? malloc(size(bytes)) : nullptr; }
void *_TIFFcalloc(tmsize_t count, tmsize_t bytes) {
  return count > 0 && bytes > 0 ? calloc(size(count), size(bytes)) : nullptr;
}
void *_TIFFrealloc(void *memory, tmsize_t bytes) { return realloc(memory, size(bytes)); }
void _TIFFfree(void *memory) { free(memory); }
void _TIFFmemset(void *memory, int value, tmsize_t bytes) { memset(memory, value, size(bytes)); }
void _TIFFmemcpy(void *target, const void *source, tmsize_t bytes) { memcpy(target, source, size(bytes)); }
int _TIFFmemcmp(const void *a, const void *b, tmsize_t bytes) { return memcmp(a, b, size(bytes)); }

#define PERPEND_TIFF_WITHOUT(NAME)                                                                                     \
  int NAME(TIFF *, int);                                                                                               \
  int NAME(TIFF *, int) { return 0; }
PERPEND_TIFF_WITHOUT(TIFFInitJBIG)
PERPEND_TIFF_WITHOUT(TIFFInitLERC)
PERPEND_TIFF_WITHOUT(TIFFInitLZMA)
PERPEND_TIFF_WITHOUT(TIFFInitSGILog)
PERPEND_TIFF_WITHOUT(TIFFInitWebP)
PERPEND_TIFF_WITHOUT(TIFFInitZSTD)
#undef PERPEND_TIFF_WITHOUT
}
