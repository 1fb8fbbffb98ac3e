/* Recognises two digits on a Cortex-M4 without an operating system. demo.py makes digits.o and digits.h of the model, and
 * pictures.h of two pictures. */
#include "board.h"
#include "digits.h"
#include "pictures.h"

int main(void) {
  static float probabilities[PICTURES * 10];
  const int32_t status = perpend_run_digits(pictures, probabilities);
  if (status)
    return status;
  for (int picture = 0; picture < PICTURES; ++picture) {
    const float *row = probabilities + picture * 10;
    int best = 0;
    for (int digit = 1; digit < 10; ++digit)
      if (row[digit] > row[best])
        best = digit;
    static char text[] = "digit 0\n";
    text[6] = (char)('0' + best);
    print(text);
  }
  return 0;
}
