// A template's table, checked.
#ifndef PERPEND_RUNTIME_TEMPLATE_TABLE_H
#define PERPEND_RUNTIME_TEMPLATE_TABLE_H
#include "template/TableFormat.h"
#include <cstddef>

namespace perpend::templates {

struct Span;

class Table {
public:
  // Compares every index, position and count with the table's size; null, or what is wrong.
  const char *open(const void *table, size_t bytes);

  const NodeRecord &root() const { return nodes[head->root]; }
  const NodeRecord &child(const NodeRecord &node, uint32_t i) const { return nodes[children[node.first + i]]; }
  Span text(const NodeRecord &node) const;
  int64_t number(const NodeRecord &node) const { return numbers[node.value]; }

private:
  const char *checkNode(uint32_t index, const uint16_t *depths) const;

  const TableHead *head = nullptr;
  const NodeRecord *nodes = nullptr;
  const uint32_t *children = nullptr;
  const TextRecord *texts = nullptr;
  const int64_t *numbers = nullptr;
};

inline NodeKind kindOf(const NodeRecord &node) { return static_cast<NodeKind>(node.kind); }

} // namespace perpend::templates
#endif
