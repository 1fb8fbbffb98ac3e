// The file of a program: a word that names it, then all its lists, each behind its length.
#include "Machine.h"

#include <cstring>
#include <type_traits>

namespace ashlar {
namespace {

constexpr uint64_t magic = 0x0031'7261'6c68'7361; // "ashlar1"

struct Writer {
  std::string bytes;
  template <typename T> void number(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  template <typename List> void list(const List &values) {
    number<uint64_t>(values.size());
    bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof values[0]);
  }
};

struct Reader {
  llvm::StringRef bytes;
  bool failed = false;
  template <typename T> T number() {
    T value{};
    if (failed |= bytes.size() < sizeof value; failed)
      return value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.drop_front(sizeof value);
    return value;
  }
  template <typename List> void list(List &values) {
    const auto count = number<uint64_t>();
    if (failed |= count > bytes.size() / sizeof values[0]; failed)
      return;
    values.resize(count);
    std::memcpy(static_cast<void *>(values.data()), bytes.data(), count * sizeof values[0]);
    bytes = bytes.drop_front(count * sizeof values[0]);
  }
};

} // namespace

std::string write(const Program &program) {
  Writer writer;
  writer.number(magic);
  writer.number(program.memoryBytes);
  writer.number(program.run.value_or(0));
  writer.list(program.instructions);
  writer.list(program.inputs);
  writer.list(program.outputs);
  writer.list(program.scalar.image);
  writer.list(program.tables);
  writer.number<uint64_t>(program.data.size());
  for (const Data &datum : program.data) {
    writer.number(datum.byte);
    writer.list(datum.bytes);
  }
  return writer.bytes;
}

llvm::Expected<Program> read(llvm::StringRef bytes) {
  Reader reader{bytes};
  Program program;
  reader.failed = reader.number<uint64_t>() != magic;
  program.memoryBytes = reader.number<uint64_t>();
  if (const auto run = reader.number<uint64_t>())
    program.run = run;
  reader.list(program.instructions);
  reader.list(program.inputs);
  reader.list(program.outputs);
  reader.list(program.scalar.image);
  reader.list(program.tables);
  for (auto count = reader.number<uint64_t>(); count > 0 && !reader.failed; --count) {
    Data &datum = program.data.emplace_back();
    datum.byte = reader.number<uint64_t>();
    reader.list(datum.bytes);
    reader.failed |= datum.byte > program.memoryBytes || datum.bytes.size() > program.memoryBytes - datum.byte;
  }
  if (reader.failed)
    return llvm::createStringError("no program for ashlar");
  return program;
}

} // namespace ashlar
