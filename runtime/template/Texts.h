// Operations on UTF-8 texts, as Python's on str: positions and lengths count characters.
#ifndef PERPEND_RUNTIME_TEMPLATE_TEXTS_H
#define PERPEND_RUNTIME_TEMPLATE_TEXTS_H
#include "template/Machine.h"

namespace perpend::templates {

bool isUtf8(Span text);
bool isSpace(uint32_t code);
bool isLineBreak(uint32_t code);
bool isPrintable(uint32_t code);
uint32_t nextCode(Span text, size_t &position); // requires position < size
size_t lengthOf(Span text);
size_t byteOffset(Span text, size_t characters); // of a character, or the size

// side: negative: the start, positive: the end, 0: both. chars: the characters to take away; null: white space.
Span strip(Span text, const Span *chars, int side);
// The first or last occurrence, in bytes; -1: none.
int64_t find(Span text, Span part, bool last = false);
bool startsWith(Span text, Span part);
bool endsWith(Span text, Span part);

enum class Case { Upper, Lower, Capital };
void addInCase(Machine &machine, Builder &out, Span text, Case wanted);
Span inCase(Machine &machine, Span text, Case wanted);
Span titleFilter(Machine &machine, Span text);  // Jinja's `title`
Value titleMethod(Machine &machine, Span text); // Python's str.title
Span replace(Machine &machine, Span text, Span old, Span with, int64_t most);
Value splitAtSpace(Machine &machine, Span text, int64_t most, bool fromEnd);
Value split(Machine &machine, Span text, Span separator, int64_t most, bool fromEnd);
Value splitLines(Machine &machine, Span text, bool keepEnds);
// Fills up to a width; side: where the fill goes, 0: both.
Value pad(Machine &machine, Span text, int64_t width, Span fill, int side);

} // namespace perpend::templates
#endif
