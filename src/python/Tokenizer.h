//===- Tokenizer.h - tokenizers in Python -----------------------*- C++ -*-===//

#ifndef PERPEND_PYTHON_TOKENIZER_H
#define PERPEND_PYTHON_TOKENIZER_H

#include "tokenizer/Load.h"

#include "perpend_tokenizer.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

namespace perpend::python {

/// Thread-safe.
class Tokenizer {
public:
  /// Errors: ValueError.
  Tokenizer(const std::string &path, const std::string &pattern);

  /// Errors: ValueError with the runtime's message.
  nanobind::list encode(nanobind::bytes text, uint32_t flags) const;
  nanobind::bytes decode(const std::vector<int32_t> &ids, uint32_t flags) const;
  nanobind::object token(int32_t id) const; ///< bytes, or None
  int32_t find(nanobind::bytes spelling) const;
  int32_t size() const { return perpend_tokenizer_size(opened.get()); }
  const perpend_tokenizer *get() const { return opened.get(); }

private:
  struct Free {
    void operator()(perpend_tokenizer *tokenizer) const { perpend_tokenizer_free(tokenizer); }
  };

  tokenizer::TableBytes table;
  std::unique_ptr<perpend_tokenizer, Free> opened;
};

/// Decodes tokens one by one.
class TokenStream {
public:
  TokenStream(std::shared_ptr<Tokenizer> source, uint32_t flags);
  nanobind::bytes add(int32_t id);
  nanobind::bytes finish();

private:
  struct Free {
    void operator()(perpend_token_stream *stream) const { perpend_token_stream_free(stream); }
  };

  std::shared_ptr<Tokenizer> tokenizer; ///< outlives the stream
  std::unique_ptr<perpend_token_stream, Free> stream;
};

void bindTokenizer(nanobind::module_ &m);
} // namespace perpend::python

#endif
