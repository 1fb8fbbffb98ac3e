// Checks a table before anything of it is used. Whether a node may stand where it stands is the evaluator's to check:
// it refuses kinds that it does not expect.
#include "template/Table.h"
#include "template/Machine.h"
#include "template/Texts.h"
#include <cstdlib>

namespace perpend::templates {
namespace {

struct NodeRule {
  int32_t least, most;
  Payload payload;
  bool hasText;
};
constexpr NodeRule rules[] = {
#define NODE(NAME, LEAST, MOST, PAYLOAD, HAS_TEXT) {LEAST, MOST, Payload::PAYLOAD, HAS_TEXT},
#include "template/Nodes.def"
};

// Records of a type that lie in the table; null: they do not.
template <typename T> const T *records(const char *base, size_t bytes, uint32_t position, uint32_t count) {
  const bool isInside = position >= sizeof(TableHead) && position <= bytes && position % alignof(T) == 0 &&
                        count <= (bytes - position) / sizeof(T);
  return isInside ? reinterpret_cast<const T *>(base + position) : nullptr;
}

} // namespace

Span Table::text(const NodeRecord &node) const {
  const TextRecord &record = texts[node.text];
  return {reinterpret_cast<const char *>(head) + record.position, record.bytes};
}

const char *Table::checkNode(uint32_t index, const uint16_t *depths) const {
  const NodeRecord &node = nodes[index];
  if (node.kind >= static_cast<uint16_t>(NodeKind::End))
    return "an unknown node";
  const NodeRule &rule = rules[node.kind];
  if (node.first > head->childCount || node.count > head->childCount - node.first ||
      node.count < static_cast<uint32_t>(rule.least) ||
      (rule.most >= 0 && node.count > static_cast<uint32_t>(rule.most)))
    return "a node with too many or too few children";
  for (uint32_t i = 0; i < node.count; ++i)
    if (children[node.first + i] >= index || depths[children[node.first + i]] >= maxTreeDepth)
      return "a node above its parent, or too deep";
  if (rule.hasText && node.text >= head->textCount)
    return "a text that is not there";
  const uint32_t limits[] = {0,
                             maxSlots - 1,
                             head->numberCount - 1,
                             static_cast<uint32_t>(FilterKind::End) - 1,
                             static_cast<uint32_t>(TestKind::End) - 1,
                             maxSlots};
  const uint32_t limit = limits[static_cast<int>(rule.payload)];
  if (rule.payload == Payload::Number ? node.value >= head->numberCount : node.value > limit)
    return "a value out of range";
  return nullptr;
}

const char *Table::open(const void *table, size_t bytes) {
  const auto *base = static_cast<const char *>(table);
  if (!table || bytes < sizeof(TableHead) || reinterpret_cast<uintptr_t>(table) % alignof(int64_t))
    return "too few bytes, or not aligned to 8";
  head = static_cast<const TableHead *>(table);
  if (head->magic != tableMagic || head->version != tableVersion || head->bytes != bytes)
    return "another format, version or size";
  nodes = records<NodeRecord>(base, bytes, head->nodes, head->nodeCount);
  children = records<uint32_t>(base, bytes, head->children, head->childCount);
  texts = records<TextRecord>(base, bytes, head->texts, head->textCount);
  numbers = records<int64_t>(base, bytes, head->numbers, head->numberCount);
  if (!nodes || !children || !texts || !numbers || head->root >= head->nodeCount)
    return "a list that is not inside";
  uint64_t end = 0; // texts come in order, so checking them takes no longer than reading the table
  for (uint32_t i = 0; i < head->textCount; ++i) {
    if (texts[i].position < end || texts[i].position > bytes || texts[i].bytes > bytes - texts[i].position)
      return "a text that is not inside, or not in order";
    if (!isUtf8({base + texts[i].position, texts[i].bytes}))
      return "a text that is not UTF-8";
    end = uint64_t{texts[i].position} + texts[i].bytes;
  }
  auto *depths = static_cast<uint16_t *>(calloc(head->nodeCount, sizeof(uint16_t)));
  if (!depths)
    return "no memory to check it";
  const char *wrong = nullptr;
  for (uint32_t i = 0; i < head->nodeCount && !wrong; ++i) {
    wrong = checkNode(i, depths);
    for (uint32_t c = 0; c < nodes[i].count && !wrong; ++c) {
      const uint16_t depth = depths[children[nodes[i].first + c]];
      depths[i] = depth >= depths[i] ? static_cast<uint16_t>(depth + 1) : depths[i];
    }
  }
  free(depths);
  return wrong ? wrong : root().kind != static_cast<uint16_t>(NodeKind::Function) ? "no function" : nullptr;
}

} // namespace perpend::templates
