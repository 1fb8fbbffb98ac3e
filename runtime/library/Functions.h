// All functions of the library (Functions.def).
#ifndef PERPEND_RUNTIME_LIBRARY_FUNCTIONS_H
#define PERPEND_RUNTIME_LIBRARY_FUNCTIONS_H
#include "include/perpend_operator.h"

extern "C" {
#define LIBRARY_FUNCTION(LIBRARY, NAME) perpend_status perpend_##LIBRARY##_##NAME(perpend_call *call);
#define LIBRARY_PART(LIBRARY, NAME, PART, TYPE, SETS) LIBRARY_FUNCTION(LIBRARY, NAME##_##PART)
#include "library/Functions.def"
}
#endif
