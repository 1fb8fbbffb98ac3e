/* What start.c has for programs. */
#ifndef BOARD_H
#define BOARD_H

/* A request to the debugger or the emulator (Arm semihosting). Without one, the processor takes a fault. */
long semihost(long request, const void *argument);
/* Prints a text there. */
void print(const char *text);
/* Ends the program there. */
void finish(int status);

#endif
