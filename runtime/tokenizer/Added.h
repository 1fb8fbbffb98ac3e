// Tokens that are cut out of a text before the model sees it.
#ifndef PERPEND_RUNTIME_TOKENIZER_ADDED_H
#define PERPEND_RUNTIME_TOKENIZER_ADDED_H
#include "Pattern.h"

namespace perpend::tokenizer {

// The longest token that begins a text; null: there is none. The list is in the order of the bytes.
const AddedToken *longestAdded(const Table &table, const View<AddedToken> &tokens, const char *text, size_t bytes);

// Walks over a text: first what lies before the next token, then the token.
class AddedFinder {
public:
  AddedFinder(const Table &tokenizer, const View<AddedToken> &list, const Bitmap &firstBytes, View<char> wholeText,
              bool parses)
      : table(tokenizer), tokens(list), starts(firstBytes), text(wholeText.data), bytes(wholeText.count),
        parsesSpecial(parses) {}

  // The token's range takes in spaces that it strips; what lies between the ranges is text. Null: there are no more.
  const AddedToken *next(Range &place);

private:
  bool isWord(size_t position, bool before) const;
  bool isSpace(size_t position) const;

  const Table &table;
  const View<AddedToken> &tokens;
  const Bitmap &starts;
  const char *text;
  size_t bytes, position = 0, lastEnd = 0;
  bool parsesSpecial;
};

} // namespace perpend::tokenizer
#endif
