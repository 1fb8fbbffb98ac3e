// Weights in files, which the loader reads into memory that is here: the first attempt to load a model tells it which
// bytes belong where, and fails; at the second all are there (module/perpend.mjs).
#include "../Checksum.h"
#include "../include/perpend_module.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace perpend::runtime {

// Tells the loader that `bytes` from the offset of the file belong at `to`; 1: they are there.
[[clang::import_module("perpend"), clang::import_name("weights")]] int32_t
request(const char *file, double fileBytes, double offset, void *to, uint32_t bytes);

namespace {

using Fail = int32_t (*)(int32_t status, const char *text);
Fail report;
char text[400];

} // namespace
} // namespace perpend::runtime

using namespace perpend::runtime;

struct perpend_segments {
  const perpend_tables *tables;
  const perpend_segment_record *records;
  uint32_t count;
  char *base;
  perpend_weights_header *headers; // one for each record
};

namespace perpend::runtime {
namespace {

perpend_segments room; // a module has one model

const char *fileOf(const perpend_segment_record &record) {
  return reinterpret_cast<const char *>(room.tables) + record.file;
}

bool allocateRoom(const perpend_tables *tables) {
  room.tables = tables;
  room.count = tables->segments.count;
  room.records = reinterpret_cast<const perpend_segment_record *>(reinterpret_cast<const char *>(tables) +
                                                                  tables->segments.position);
  const perpend_segment_record &last = room.records[room.count - 1];
  const uint64_t bytes = (last.position + last.bytes + PERPEND_ALIGNMENT - 1) / PERPEND_ALIGNMENT * PERPEND_ALIGNMENT;
  if (!room.base && bytes <= PTRDIFF_MAX)
    room.base = static_cast<char *>(aligned_alloc(PERPEND_ALIGNMENT, static_cast<size_t>(bytes)));
  if (!room.headers)
    room.headers = static_cast<perpend_weights_header *>(calloc(room.count, sizeof(perpend_weights_header)));
  if (room.base && room.headers)
    return true;
  snprintf(text, sizeof text, "weights: no memory for %llu bytes; hint: a model can have 2 GiB of weights, if the engine has as much",
           static_cast<unsigned long long>(bytes));
  return false;
}

bool isHere(uint32_t number) {
  const perpend_segment_record &record = room.records[number];
  const char *file = fileOf(record);
  const auto fileBytes = static_cast<double>(record.fileBytes);
  int32_t isHere = request(file, fileBytes, static_cast<double>(record.offset), room.base + record.position,
                           static_cast<uint32_t>(record.bytes));
  if (record.hasHeader)
    isHere &= request(file, fileBytes, 0, &room.headers[number], sizeof(perpend_weights_header));
  return isHere;
}

bool fits(const perpend_segment_record &record, const perpend_weights_header &header) {
  const bool isOurs = !memcmp(header.magic, PERPEND_WEIGHTS_MAGIC, sizeof header.magic);
  if (!record.hasHeader || (isOurs && header.bytes == record.bytes && header.checksum == record.checksum))
    return true;
  snprintf(text, sizeof text,
           "weights: '%.100s': expected weights with checksum %08x, got %s %08x; hint: copy the file that was compiled "
           "with the model",
           fileOf(record), record.checksum, isOurs ? "checksum" : "another kind of file,", header.checksum);
  return false;
}

void unmap(perpend_segments *segments) {
  free(segments->base);
  free(segments->headers);
  *segments = {};
}

int32_t refuse(int32_t status) { // fail copies the text
  unmap(&room);
  return report(status, text);
}

int32_t map(const perpend_module *, const perpend_tables *tables, const char *, const char *, Fail fail,
            perpend_segments **result, const uint8_t **weights) {
  report = fail;
  if (!allocateRoom(tables))
    return refuse(PERPEND_OUT_OF_MEMORY);
  bool areHere = true;
  for (uint32_t i = 0; i < room.count; ++i)
    areHere &= isHere(i);
  if (!areHere) {
    snprintf(text, sizeof text, "weights: the file '%.100s' has not been read", fileOf(room.records[0]));
    return report(PERPEND_NOT_FOUND, text); // the room stays, to be filled
  }
  for (uint32_t i = 0; i < room.count; ++i)
    if (!fits(room.records[i], room.headers[i]))
      return refuse(PERPEND_CORRUPT);
  *result = &room;
  *weights = reinterpret_cast<const uint8_t *>(room.base);
  return PERPEND_OK;
}

int32_t isUnchanged(perpend_segments *) { return PERPEND_OK; }

int32_t verify(perpend_segments *segments) {
  for (uint32_t i = 0; i < segments->count; ++i) {
    const perpend_segment_record &record = segments->records[i];
    const uint32_t got =
        record.hasChecksum ? crc32c(segments->base + record.position, static_cast<size_t>(record.bytes)) : 0;
    if (!record.hasChecksum || got == record.checksum)
      continue;
    snprintf(text, sizeof text,
             "weights: the file '%.100s': checksum: expected %08x, got %08x; hint: the file was damaged, copy it again "
             "or compile the model again",
             fileOf(record), record.checksum, got);
    return report(PERPEND_CORRUPT, text);
  }
  return PERPEND_OK;
}

} // namespace
} // namespace perpend::runtime

const perpend_segment_functions perpend_segment_functions_v1 = {map, isUnchanged, isUnchanged, verify, unmap};
