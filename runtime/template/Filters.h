// Filters, in groups.
#ifndef PERPEND_RUNTIME_TEMPLATE_FILTERS_H
#define PERPEND_RUNTIME_TEMPLATE_FILTERS_H
#include "template/Operations.h"

namespace perpend::templates {

// Each gets an argument for every parameter of Filters.def.
Value textFilter(Machine &machine, FilterKind filter, Value operand, const Value *a);
Value numberFilter(Machine &machine, FilterKind filter, Value operand, const Value *a);
Value sequenceFilter(Machine &machine, FilterKind filter, Value operand, const Value *a);
Value escapeHtml(Machine &machine, Value value);
inline bool isGivenTrue(Machine &machine, Value value) { return isGiven(value) && isTrue(machine, value); }

} // namespace perpend::templates
#endif
