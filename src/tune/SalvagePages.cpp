//===- SalvagePages.cpp - recovers records of a damaged database ----------===//
//
// A table without rowid is a tree of index pages, and inner pages contain rows, too. Rows are read directly from all
// pages, not along the path from the root. Any number in a page may be wrong. Source: sqlite.org/fileformat2.html, 1.3
// to 2.1.
//
//===----------------------------------------------------------------------===//

#include "tune/SalvagePages.h"

#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <tuple>
#include <variant>

using llvm::StringRef;

namespace perpend::tune {
namespace {

/// The first byte of a page, and the length of its header.
constexpr uint64_t innerPage = 2, leafPage = 10;
constexpr size_t innerHeader = 12, leafHeader = 8, fileHeader = 100, childBytes = 4;

/// Takes an integer from the front of `text`; beyond the end it is shorter.
uint64_t takeInteger(StringRef &text, size_t byteCount) {
  uint64_t value = 0;
  for (char byte : text.take_front(byteCount))
    value = value << 8 | static_cast<uint8_t>(byte);
  text = text.substr(byteCount);
  return value;
}

/// Takes a varint: seven bits per byte while the eighth bit is set; a ninth byte has eight.
uint64_t takeVarint(StringRef &text) {
  uint64_t value = 0;
  for (int i = 0; i < 9 && !text.empty(); ++i) {
    uint64_t byte = takeInteger(text, 1);
    if (i == 8)
      return value << 8 | byte;
    value = value << 7 | (byte & 0x7f);
    if (byte < 0x80)
      break;
  }
  return value;
}

using Value = std::variant<std::monostate, int64_t, double, std::string>;

/// Takes a value of a type code from the row's header. Blobs, and values longer than `text`, are none.
Value takeValue(StringRef &text, uint64_t type) {
  constexpr size_t integerBytes[] = {0, 1, 2, 3, 4, 6, 8};
  constexpr uint64_t real = 7, zero = 8, one = 9, firstText = 13;
  size_t size = type < real ? integerBytes[type] : type == real ? 8 : type < firstText ? 0 : (type - firstText) / 2;
  if (type == 0 || size > text.size())
    return {};
  if (type == zero || type == one)
    return static_cast<int64_t>(type - zero);
  if (type >= firstText && type % 2 == 1) {
    std::string value = text.take_front(size).str();
    text = text.substr(size);
    return value;
  }
  uint64_t bits = type <= real ? takeInteger(text, size) : 0;
  if (type == real)
    return llvm::bit_cast<double>(bits);
  if (type > real)
    return {};
  unsigned unused = 64 - 8 * static_cast<unsigned>(size); // copies of the sign bit
  return static_cast<int64_t>(bits << unused) >> unused;
}

/// Reads the values of a row in turn; a value of another type invalidates the record.
struct Row {
  std::vector<Value> values;
  size_t next = 0;
  bool isRecord = true;

  template <typename T> Row &operator>>(T &into) {
    const T *same = next < values.size() ? std::get_if<T>(&values[next]) : nullptr;
    if (same)
      into = *same;
    isRecord &= same != nullptr;
    ++next;
    return *this;
  }
  Row &operator>>(double &into) { // whole numbers are stored as integers
    if (next < values.size())
      if (const auto *integer = std::get_if<int64_t>(&values[next]))
        values[next] = static_cast<double>(*integer);
    return this->operator>> <double>(into);
  }
};

class Pages {
public:
  explicit Pages(StringRef bytes) : bytes(bytes) {
    constexpr size_t sizeAt = 16, least = 512, usual = 4096;
    StringRef header = bytes.substr(sizeAt);
    size_t size = takeInteger(header, 2);
    pageBytes = llvm::isPowerOf2_64(size) && size >= least ? size : usual;
    visits.resize(count());
  }

  size_t count() const { return bytes.size() / pageBytes; }

  std::vector<Row> rowsOf(size_t page) {
    std::vector<Row> rows;
    StringRef text = at(page), header = text.substr(page == 0 ? fileHeader : 0);
    size_t start = text.size() - header.size();
    uint64_t type = takeInteger(header, 1);
    if (type != innerPage && type != leafPage)
      return rows;
    header = header.substr(2);
    uint64_t cells = takeInteger(header, 2);
    header = text.substr(start + (type == innerPage ? innerHeader : leafHeader));
    size_t room = mostVisits * pageBytes; // cells of a whole page do not overlap
    for (; cells > 0 && !header.empty() && room > 0; --cells)
      if (uint64_t place = takeInteger(header, 2); place < text.size())
        rows.push_back(parseRow(payload(text.substr(place + (type == innerPage ? childBytes : 0)), room)));
    return rows;
  }

private:
  StringRef at(size_t page) const { return page < count() ? bytes.substr(page * pageBytes, pageBytes) : ""; }

  /// Of a cell: what lies in the page, and in a chain of others. What lies in the page takes from `room`.
  std::string payload(StringRef cell, size_t &room) {
    uint64_t size = takeVarint(cell);
    if (size > bytes.size())
      return "";
    size_t most = (pageBytes - 12) * 64 / 255 - 23, least = (pageBytes - 12) * 32 / 255 - 23;
    size_t local = size;
    if (size > most) {
      local = least + (size - least) % (pageBytes - 4);
      local = local > most ? least : local;
    }
    std::string text = cell.take_front(local).str();
    room -= std::min(room, text.size());
    cell = cell.substr(local);
    while (text.size() < size) {
      uint64_t page = takeInteger(cell, 4);
      cell = page == 0 ? "" : at(page - 1);
      if (cell.empty() || visits[page - 1] == mostVisits)
        return "";
      ++visits[page - 1];
      text += cell.substr(4).take_front(size - text.size());
    }
    return text;
  }

  static Row parseRow(StringRef text) {
    StringRef all = text;
    uint64_t headerBytes = takeVarint(text);
    StringRef header = all.take_front(headerBytes).substr(all.size() - text.size());
    text = all.substr(headerBytes);
    Row row;
    while (!header.empty())
      row.values.push_back(takeValue(text, takeVarint(header)));
    return row;
  }

  /// A page of a chain belongs to one row, and rows that have been deleted may still name it; more often than so, only
  /// a file that was made to take time does.
  static constexpr uint8_t mostVisits = 8;

  StringRef bytes;
  size_t pageBytes = 0;
  std::vector<uint8_t> visits; ///< by the chains, of each page
};

/// Reads the columns in table order; rows of older versions end earlier.
bool readRecord(Row &row, Record &record) {
  row >> record.key.structure >> record.key.target >> record.key.symbols >> record.key.threads >> record.kernel >>
      record.trace >> record.seconds >> record.spreadSeconds >> record.defaultSeconds >> record.trials >>
      record.compiler >> record.origin >> record.date;
  if (row.next < row.values.size())
    row >> record.primitives;
  if (row.next < row.values.size())
    row >> record.weight >> record.elsewhere;
  return row.isRecord && row.next == row.values.size() && record.isWhole();
}
} // namespace

std::vector<Record> recordsInPages(StringRef bytes) {
  Pages pages(bytes);
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, Record> found;
  for (size_t page = 0; page < pages.count(); ++page)
    for (Row &row : pages.rowsOf(page)) {
      Record record;
      if (!readRecord(row, record))
        continue;
      auto &[structure, target, symbols, threads] = record.key;
      Record &last = found[{structure, target, symbols, threads}];
      if (record.date >= last.date) // free pages still contain old records
        last = std::move(record);
    }
  std::vector<Record> records;
  for (auto &[key, record] : found)
    records.push_back(std::move(record));
  return records;
}
} // namespace perpend::tune
