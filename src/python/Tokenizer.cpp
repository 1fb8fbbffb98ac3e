//===- Tokenizer.cpp - tokenizers in Python -------------------------------===//

#include "python/Tokenizer.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;

namespace perpend::python {

static void check(perpend_status status) {
  if (status == PERPEND_OUT_OF_MEMORY)
    throw std::bad_alloc();
  if (status)
    throw std::invalid_argument(perpend_error_message());
}

static tokenizer::TableBytes loadTable(const std::string &path, const std::string &pattern) {
  std::string problem;
  {
    nb::gil_scoped_release released;
    llvm::Expected<tokenizer::TableBytes> table = tokenizer::loadTokenizer(path, {pattern});
    if (table)
      return std::move(*table);
    problem = llvm::toString(table.takeError());
  }
  throw std::invalid_argument(problem);
}

Tokenizer::Tokenizer(const std::string &path, const std::string &pattern) : table(loadTable(path, pattern)) {
  perpend_tokenizer *created = nullptr;
  check(perpend_tokenizer_create(table.data(), static_cast<int64_t>(table.sizeBytes()), &created));
  opened.reset(created);
}

static perpend_string view(const nb::bytes &text) { return {text.c_str(), static_cast<int64_t>(text.size())}; }

nb::list Tokenizer::encode(nb::bytes text, uint32_t flags) const {
  int32_t *found = nullptr;
  int64_t count = 0;
  const perpend_string bytes = view(text);
  perpend_status status;
  {
    nb::gil_scoped_release released;
    status = perpend_tokenizer_encode(opened.get(), bytes, flags, &found, &count);
  }
  check(status);
  const std::unique_ptr<int32_t, decltype(&perpend_tokenizer_release)> owner(found, perpend_tokenizer_release);
  nb::list ids;
  for (int64_t i = 0; i < count; ++i)
    ids.append(found[i]);
  return ids;
}

nb::bytes Tokenizer::decode(const std::vector<int32_t> &ids, uint32_t flags) const {
  char *text = nullptr;
  int64_t sizeBytes = 0;
  perpend_status status;
  {
    nb::gil_scoped_release released;
    status =
        perpend_tokenizer_decode(opened.get(), ids.data(), static_cast<int64_t>(ids.size()), flags, &text, &sizeBytes);
  }
  check(status);
  const std::unique_ptr<char, decltype(&perpend_tokenizer_release)> owner(text, perpend_tokenizer_release);
  return nb::bytes(text ? text : "", static_cast<size_t>(sizeBytes));
}

nb::object Tokenizer::token(int32_t id) const {
  const perpend_string token = perpend_tokenizer_token(opened.get(), id);
  return token.data ? nb::object(nb::bytes(token.data, static_cast<size_t>(token.sizeBytes))) : nb::none();
}

int32_t Tokenizer::find(nb::bytes spelling) const { return perpend_tokenizer_find(opened.get(), view(spelling)); }

TokenStream::TokenStream(std::shared_ptr<Tokenizer> source, uint32_t flags) : tokenizer(std::move(source)) {
  perpend_token_stream *created = nullptr;
  check(perpend_token_stream_create(tokenizer->get(), flags, &created));
  stream.reset(created);
}

static nb::bytes bytesOf(perpend_string text) {
  return nb::bytes(text.data ? text.data : "", static_cast<size_t>(text.sizeBytes));
}

nb::bytes TokenStream::add(int32_t id) {
  perpend_string text = {};
  check(perpend_token_stream_add(stream.get(), id, &text));
  return bytesOf(text);
}

nb::bytes TokenStream::finish() {
  perpend_string text = {};
  check(perpend_token_stream_finish(stream.get(), &text));
  return bytesOf(text);
}

void bindTokenizer(nb::module_ &m) {
  nb::class_<Tokenizer>(m, "Tokenizer")
      .def(nb::init<const std::string &, const std::string &>(), "path"_a, "pattern"_a = "")
      .def("encode_bytes", &Tokenizer::encode, "text"_a, "flags"_a)
      .def("decode_ids", &Tokenizer::decode, "ids"_a, "flags"_a)
      .def("token_bytes", &Tokenizer::token, "id"_a)
      .def("find_bytes", &Tokenizer::find, "spelling"_a)
      .def_prop_ro("size", &Tokenizer::size);
  nb::class_<TokenStream>(m, "TokenStream")
      .def(nb::init<std::shared_ptr<Tokenizer>, uint32_t>(), "tokenizer"_a, "flags"_a)
      .def("add_id", &TokenStream::add, "id"_a)
      .def("finish_bytes", &TokenStream::finish);
}
} // namespace perpend::python
