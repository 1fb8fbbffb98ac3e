/* Start-up code of a Cortex-M with floating point: vectors, memory, main. It goes with sections.ld. A board's own start-up
 * code, with its clocks and pins, takes its place. */
#include "board.h"
#include <stdint.h>

int main(void);
void reset(void);

extern const uint32_t data_image[];
extern uint32_t data_begin[], data_end[], bss_begin[], bss_end[], stack_top[];

enum { PRINT = 4, EXIT = 0x20, APPLICATION_EXIT = 0x20026, FAULT = 3 };

long semihost(long request, const void *argument) {
  register long first __asm__("r0") = request;
  register const void *second __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(first) : "r"(second) : "memory");
  return first;
}

void print(const char *text) { semihost(PRINT, text); }

void finish(int status) {
  const long block[2] = {APPLICATION_EXIT, status};
  semihost(EXIT, block);
  for (;;) {
  }
}

static void fault(void) { finish(FAULT); }

/* Access to the registers of floats and vectors is off at first. */
static void enable_floats(void) {
  volatile uint32_t *access = (volatile uint32_t *)0xE000ED88;
  *access |= 0xFu << 20;
  __asm__ volatile("dsb\n\tisb" ::: "memory");
}

void reset(void) {
  enable_floats();
  const uint32_t *from = data_image;
  for (uint32_t *to = data_begin; to < data_end;)
    *to++ = *from++;
  for (uint32_t *to = bss_begin; to < bss_end;)
    *to++ = 0;
  finish(main());
}

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault};
