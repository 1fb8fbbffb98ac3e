// A hand-written module with texts and a list: reversed = the texts of words in the opposite order, longer = list with
// words behind its elements. The last text must not be "refused".
// Another one, with a text and numbers: letters = as many bytes as there are numbers, the text's and then dots.
#ifndef PERPEND_TEST_FAKE_TEXTS_H
#define PERPEND_TEST_FAKE_TEXTS_H
#include "FakeTables.h"
#include "perpend_operator.h"

extern "C" {
extern const perpend_handle_functions perpend_handle_functions_v1;
perpend_status perpend_sequence_insert(perpend_call *call);
int32_t perpend_call_library_v1(perpend_frame *frame, perpend_operator function, const char *parameters,
                                const char *subject, const int32_t *signature, void *const *buffers, int64_t *extents);
}

namespace fake_texts {

inline int32_t bind(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *) {
  symbols[0] = dims[0][0];
  return 0;
}

inline void sizes(const int64_t *symbols, int64_t *, int64_t *outputDims) { outputDims[0] = symbols[0]; }

inline int32_t run(perpend_frame *frame) {
  int64_t n = frame->symbols[0];
  auto *words = static_cast<const int64_t *>(frame->inputs[0]);
  for (int64_t i = 0; i < n; ++i)
    static_cast<int64_t *>(frame->outputs[0])[n - 1 - i] = words[i];
  if (n && words[n - 1] == 1)
    return frame->refuse("a text is refused at", n - 1);
  static const int32_t signature[] = {2, 1, PERPEND_SEQUENCE, 0, 0, PERPEND_STRING, 1, 0, PERPEND_SEQUENCE, 0, 0};
  void *buffers[] = {const_cast<void *>(frame->inputs[1]), const_cast<void *>(frame->inputs[0]), frame->outputs[1]};
  return perpend_call_library_v1(frame, perpend_sequence_insert, "{}", "insert", signature, buffers, &n);
}

inline int32_t bindSpelling(const int64_t *const *dims, int64_t *symbols, perpend_bind_error *) {
  symbols[0] = dims[1][0];
  return 0;
}

inline perpend_status spell(perpend_call *call) {
  int64_t count = call->inputs[1].shape[0];
  auto *letters = static_cast<char *>(perpend_call_allocate(call, 0, &count, 1));
  perpend_string text = perpend_call_text(call, *static_cast<const int64_t *>(call->inputs[0].data));
  for (int64_t i = 0; letters && i < count; ++i)
    letters[i] = i < text.sizeBytes ? text.data[i] : '.';
  return letters ? PERPEND_OK : PERPEND_OUT_OF_MEMORY;
}

inline int32_t runSpelling(perpend_frame *frame) {
  static const int32_t signature[] = {2, 1, PERPEND_STRING, 1, 0, PERPEND_U8, 1, 0, PERPEND_U8, 1, 0};
  void *buffers[] = {const_cast<void *>(frame->inputs[0]), const_cast<void *>(frame->inputs[1]), frame->outputs[0]};
  int64_t extents[] = {1, frame->symbols[0], frame->symbols[0]};
  return perpend_call_library_v1(frame, spell, "{}", "spell", signature, buffers, extents);
}

inline void describeTexts(fake::Tables &tables) {
  tables.head.texts = tables.records<perpend_text_record>({{tables.text(""), 0}, {tables.text("refused"), 7}});
  tables.entry.symbols = tables.texts({"n"});
}

inline perpend_module makeModule() {
  static fake::Tables tables;
  static perpend_module module;
  if (module.magic)
    return module;
  fake::describe(tables, "texts");
  describeTexts(tables);
  tables.entry.inputs =
      tables.records({tables.tensor("words", PERPEND_STRING, {"n"}), tables.tensor("list", PERPEND_SEQUENCE, {})});
  tables.entry.outputs =
      tables.records({tables.tensor("reversed", PERPEND_STRING, {"n"}), tables.tensor("longer", PERPEND_SEQUENCE, {})});
  tables.finish(module);
  module.bind = bind;
  module.sizes = sizes;
  module.run = run;
  module.handles = &perpend_handle_functions_v1;
  return module;
}

inline perpend_module makeSpellingModule() {
  static fake::Tables tables;
  static perpend_module module;
  if (module.magic)
    return module;
  fake::describe(tables, "spelling");
  describeTexts(tables);
  tables.entry.inputs =
      tables.records({tables.tensor("word", PERPEND_STRING, {"1"}), tables.tensor("numbers", PERPEND_U8, {"n"})});
  tables.entry.outputs = tables.records({tables.tensor("letters", PERPEND_U8, {"n"})});
  module = makeModule();
  tables.finish(module);
  module.bind = bindSpelling;
  module.run = runSpelling;
  return module;
}

} // namespace fake_texts
#endif
