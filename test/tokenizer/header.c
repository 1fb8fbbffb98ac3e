#include "perpend_tokenizer.h"

int isEmpty(perpend_string text);
int isEmpty(perpend_string text) { return text.sizeBytes == 0; }
