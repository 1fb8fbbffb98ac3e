// The C interface.
#include "Decode.h"
#include "Encode.h"
#include "Errors.h"
#include "include/perpend_tokenizer.h"
#include <new>

using namespace perpend;
using namespace perpend::tokenizer;

struct perpend_tokenizer {
  Table table;
};

struct perpend_token_stream {
  perpend_token_stream(const Table &table, uint32_t flags) : decoder(table, flags), text(memory) {}

  Memory memory;
  Decoder decoder;
  Array<char> text;
};

template <typename T, typename... Arguments> static T *create(Arguments &&...arguments) {
  void *memory = malloc(sizeof(T));
  return memory ? new (memory) T(arguments...) : nullptr;
}

template <typename T> static void destroy(T *object) {
  if (object)
    object->~T();
  free(object);
}

static perpend_status failArgument(const char *function, const char *what) {
  return runtime::fail(PERPEND_INVALID_ARGUMENT, "%s: %s", function, what);
}

perpend_status perpend_tokenizer_create(const void *table, int64_t tableBytes, perpend_tokenizer **tokenizer) {
  if (!table || !tokenizer)
    return failArgument(__func__, "expected a table and a place for the tokenizer, got NULL");
  Table opened;
  if (const perpend_status status = openTable(table, tableBytes, opened))
    return status;
  *tokenizer = create<perpend_tokenizer>();
  if (!*tokenizer)
    return runtime::failAllocation(sizeof(perpend_tokenizer));
  (*tokenizer)->table = opened;
  return PERPEND_OK;
}

void perpend_tokenizer_free(perpend_tokenizer *tokenizer) { destroy(tokenizer); }

int32_t perpend_tokenizer_size(const perpend_tokenizer *tokenizer) {
  return static_cast<int32_t>(tokenizer->table.tokens.count);
}

perpend_string perpend_tokenizer_token(const perpend_tokenizer *tokenizer, int32_t id) {
  const Table &table = tokenizer->table;
  const auto index = static_cast<uint32_t>(id);
  if (index >= table.tokens.count || !(table.tokens[index].flags & TokenExists))
    return {nullptr, 0};
  const Text text = table.tokens[index].text;
  return {table.at(text), static_cast<int64_t>(text.bytes)};
}

int32_t perpend_tokenizer_find(const perpend_tokenizer *tokenizer, perpend_string spelling) {
  const Table &table = tokenizer->table;
  if (!spelling.data)
    return -1;
  for (uint32_t id = 0; id < table.tokens.count; ++id) {
    const Token &token = table.tokens[id];
    if (token.flags & TokenExists && token.text.bytes == static_cast<uint64_t>(spelling.sizeBytes) &&
        !memcmp(table.at(token.text), spelling.data, token.text.bytes))
      return static_cast<int32_t>(id);
  }
  return -1;
}

perpend_status perpend_tokenizer_encode(const perpend_tokenizer *tokenizer, perpend_string text, uint32_t flags,
                                        int32_t **ids, int64_t *count) {
  if (!tokenizer || !ids || !count || text.sizeBytes < 0 || (!text.data && text.sizeBytes))
    return failArgument(__func__, "expected a tokenizer, a text and places for the ids and their count, got NULL");
  *ids = nullptr;
  *count = 0;
  Encoder encoder(tokenizer->table, flags);
  const perpend_status status = encoder.run(text.data ? text.data : "", static_cast<size_t>(text.sizeBytes));
  if (!status)
    *ids = encoder.takeIds(*count);
  return status;
}

perpend_status perpend_tokenizer_decode(const perpend_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                                        uint32_t flags, char **text, int64_t *sizeBytes) {
  if (!tokenizer || !text || !sizeBytes || count < 0 || (!ids && count))
    return failArgument(__func__, "expected a tokenizer, ids and places for the text and its size, got NULL");
  *text = nullptr;
  *sizeBytes = 0;
  Memory memory;
  Array<char> result(memory);
  Decoder decoder(tokenizer->table, flags);
  if (!decoder.isReady())
    return runtime::failAllocation(sizeof(Decoder));
  for (int64_t i = 0; i < count; ++i) {
    if (const perpend_status status = decoder.add(ids[i]))
      return status;
  }
  if (const perpend_status status = decoder.finish())
    return status;
  decoder.take(result, /*isEnd=*/true);
  if (memory.failed)
    return runtime::fail(PERPEND_OUT_OF_MEMORY, "tokenizer: no memory for the text; hint: decode fewer tokens at once");
  *sizeBytes = static_cast<int64_t>(result.size());
  *text = result.take();
  return PERPEND_OK;
}

void perpend_tokenizer_release(void *memory) { free(memory); }

perpend_status perpend_token_stream_create(const perpend_tokenizer *tokenizer, uint32_t flags,
                                           perpend_token_stream **stream) {
  if (!tokenizer || !stream)
    return failArgument(__func__, "expected a tokenizer and a place for the stream, got NULL");
  *stream = create<perpend_token_stream>(tokenizer->table, flags);
  if (*stream && (*stream)->decoder.isReady())
    return PERPEND_OK;
  destroy(*stream);
  *stream = nullptr;
  return runtime::failAllocation(sizeof(perpend_token_stream));
}

static perpend_status takeText(perpend_token_stream &stream, bool isEnd, perpend_string *text) {
  stream.decoder.take(stream.text, isEnd);
  if (stream.memory.failed)
    return runtime::fail(PERPEND_OUT_OF_MEMORY, "tokenizer: no memory for the text; hint: use a new stream");
  *text = {stream.text.data(), static_cast<int64_t>(stream.text.size())};
  return PERPEND_OK;
}

perpend_status perpend_token_stream_add(perpend_token_stream *stream, int32_t id, perpend_string *text) {
  if (!stream || !text)
    return failArgument(__func__, "expected a stream and a place for the text, got NULL");
  *text = {nullptr, 0};
  stream->text.clear();
  if (const perpend_status status = stream->decoder.add(id))
    return status;
  return takeText(*stream, /*isEnd=*/false, text);
}

perpend_status perpend_token_stream_finish(perpend_token_stream *stream, perpend_string *text) {
  if (!stream || !text)
    return failArgument(__func__, "expected a stream and a place for the text, got NULL");
  *text = {nullptr, 0};
  stream->text.clear();
  if (const perpend_status status = stream->decoder.finish())
    return status;
  return takeText(*stream, /*isEnd=*/true, text);
}

void perpend_token_stream_free(perpend_token_stream *stream) { destroy(stream); }
