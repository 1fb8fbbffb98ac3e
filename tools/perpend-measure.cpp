// Runs and times candidates of a tuner; src/tune/MeasureProgram.h says how.
#include "tune/MeasureProgram.h"

int main(int argumentCount, char **arguments) { return perpend::tune::measureMain(argumentCount, arguments); }
