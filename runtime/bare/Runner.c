// The main function of images that `perpend run` and `perpend check` make of a model for a processor without an operating
// system: reads the inputs from the debugger's standard input, runs the model, and writes the outputs. Inputs and outputs
// are bytes, one tensor after another.
#include "examples/cortex-m/board.h"
#include <stdint.h>

// Generated for each model (BareProgram.cpp). Behind the last buffer is one without an address.
struct Buffer {
  uint8_t *data;
  uint32_t bytes;
};
extern const struct Buffer perpend_runner_inputs[], perpend_runner_outputs[];
int32_t perpend_runner_call(void);

enum { OPEN = 1, WRITE = 5, READ = 6 };
enum { READ_BYTES = 1, WRITE_BYTES = 5 };          // modes
enum { WRONG_INPUTS = 2, REFUSED = 16, MOST = 127 }; // exit statuses, as BareProgram.cpp reads them

static long openStream(long mode) {
  static const char console[] = ":tt";
  const long block[3] = {(long)console, mode, sizeof console - 1};
  return semihost(OPEN, block);
}

// Whether all buffers were read or written.
static int move(long request, long stream, const struct Buffer *buffer) {
  for (; buffer->data; ++buffer)
    for (uint32_t done = 0; done < buffer->bytes;) {
      const long block[3] = {stream, (long)(buffer->data + done), (long)(buffer->bytes - done)};
      const uint32_t left = (uint32_t)semihost(request, block);
      if (left >= buffer->bytes - done)
        return 0;
      done = buffer->bytes - left;
    }
  return 1;
}

int main(void) {
  if (!move(READ, openStream(READ_BYTES), perpend_runner_inputs))
    return WRONG_INPUTS;
  const int32_t status = perpend_runner_call();
  if (status)
    return status > 0 && status < MOST - REFUSED ? REFUSED + status : MOST;
  return move(WRITE, openStream(WRITE_BYTES), perpend_runner_outputs) ? 0 : WRONG_INPUTS;
}
