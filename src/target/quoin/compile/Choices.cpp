//===- Choices.cpp - tiles of nests that have been seen -------------------===//
#include "target/quoin/compile/Choices.h"

#include "llvm/Support/raw_ostream.h"

namespace perpend::quoin {

std::string shapeOf(const Nest &nest, llvm::ArrayRef<Spot> places, unsigned sharers) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto addAccess = [&](const ElementAccess &access) {
    out << unsigned(places[access.buffer].space);
    for (int64_t stride : access.strides)
      out << ',' << stride;
    if (access.row)
      out << 'o' << access.row;
  };
  out << sharers << ' ' << unsigned(nest.type) << (nest.combine ? unsigned(*nest.combine) : 0) << nest.continues;
  for (const NestLoop &loop : nest.loops)
    out << (loop.isReduced ? 'r' : 's') << loop.extent;
  for (const accelerator::Border &border : nest.borders) {
    out << 'b' << border.loop << ',' << border.reduced;
    for (auto [first, last] : border.iterations)
      out << ':' << first << ',' << last;
  }
  if (nest.rows)
    out << 't' << unsigned(places[nest.rows->table].space) << nest.rows->count;
  addAccess(nest.store);
  for (const Node &node : nest.nodes) {
    out << ' ' << unsigned(node.kind) << unsigned(node.type) << ':' << unsigned(node.opcode);
    if (node.kind == Node::Load) {
      addAccess(node.access);
      out << (node.least > 0);
    }
    for (unsigned operand : node.operands)
      out << ',' << operand;
  }
  return text;
}

} // namespace perpend::quoin
