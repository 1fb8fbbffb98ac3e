// The table of a template: its syntax tree as records. src/templates writes it, runtime/template reads it. Like the
// tables of models (perpend_tables.h) it is little-endian, has no addresses, and positions count bytes from its start.
#ifndef PERPEND_RUNTIME_TEMPLATE_TABLEFORMAT_H
#define PERPEND_RUNTIME_TEMPLATE_TABLEFORMAT_H
#include <cstdint>

namespace perpend::templates {

// What the field `value` of a node's record holds.
enum class Payload : uint8_t { Nothing, Slot, Number, Filter, Test, Count };

enum class NodeKind : uint16_t {
#define NODE(NAME, LEAST, MOST, PAYLOAD, HAS_TEXT) NAME,
#include "template/Nodes.def"
  End
};

enum class FilterKind : uint32_t {
#define FILTER(NAME, LEAST, PARAMETERS) NAME,
#include "template/Filters.def"
  End
};

enum class TestKind : uint32_t {
#define TEST(NAME, ARGUMENTS) NAME,
#include "template/Tests.def"
  End
};

enum class Comparison : uint16_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, NotIn, End };

// Children come before their parents in the list of nodes, so a tree has no cycles.
struct NodeRecord {
  uint16_t kind;         // NodeKind
  uint16_t detail;       // a Comparison; of a Name, how many functions outwards its slot is
  uint32_t line;         // in the template, from 1
  uint32_t value;        // a Payload
  uint32_t text;         // index in the list of texts
  uint32_t first, count; // children: indexes of nodes, from `first` in the list of children
};

struct TextRecord {
  uint32_t position, bytes; // UTF-8
};

struct TableHead {
  uint32_t magic; // "PTPL"
  uint32_t version;
  uint32_t bytes;                // of the table
  uint32_t root;                 // a node: the Function of the whole template
  uint32_t nodes, nodeCount;     // NodeRecord
  uint32_t children, childCount; // uint32_t
  uint32_t texts, textCount;     // TextRecord
  uint32_t numbers, numberCount; // int64_t, or the bits of a double
};

constexpr uint32_t tableMagic = 0x4C505450, tableVersion = 1;
// The tree is at most that deep; a function (the template, a macro, a block of a call) has at most that many slots.
constexpr uint32_t maxTreeDepth = 400, maxSlots = 4096;
constexpr uint32_t usesCaller = 1; // detail of a Function: the parameter `caller` comes last

} // namespace perpend::templates
#endif
