// What was said so far in a program, and the file that keeps it from one run of the program to the next.
#ifndef PERPEND_RUNTIME_LLM_CONVERSATION_H
#define PERPEND_RUNTIME_LLM_CONVERSATION_H
#include "include/perpend_llm.h"
#include "tokenizer/Array.h"
#include <cstdio>

namespace perpend::llm {

// In the order of their numbers in files.
enum class Role : uint32_t { System, User, Assistant };

// Texts lie in one piece of memory, so that messages are made anew for each turn.
class Conversation {
public:
  void add(Role role, const char *text, size_t size);
  bool isEmpty() const { return !turns.size(); }
  // The sequence's text becomes the conversation, of at most so many tokens: the oldest turns are forgotten where it
  // has more, except for the latest turn and what the system said. False: printed, as below, and the conversation is
  // without its latest turn, which cannot be said.
  bool set(perpend_llm_sequence *sequence, int64_t mostTokens);

  // Reads turns, tokens and cache; without such a file, all stays empty.
  // An error, too: nothing can be saved there.
  bool load(const char *path, perpend_llm_sequence *sequence);
  // Replaces the file once all is on the disk; after a failure it is as before. Of two programs that save at once, the
  // last one wins.
  bool save(const char *path, perpend_llm_sequence *sequence);

private:
  struct Turn {
    Role role;
    uint32_t reserved;
    uint64_t end; // of its text
  };
  bool hasOlderTurns(size_t forgotten) const { return turns.size() > firstTurn() + forgotten + 2; }
  void forgetTurns(size_t count);
  size_t firstTurn() const { return turns.size() && turns[0].role == Role::System ? 1 : 0; }
  uint64_t endOf(size_t turnCount) const { return turnCount ? turns[turnCount - 1].end : 0; }
  bool read(const char *path, const char *data, size_t size, perpend_llm_sequence *sequence);

  tokenizer::Memory memory;
  tokenizer::Array<char> bytes{memory};
  tokenizer::Array<Turn> turns{memory};
  tokenizer::Array<perpend_llm_message> messages{memory};
};

// Prints an error in the wording of the tool; what follows "; hint: " gets a line of its own. Always false.
[[gnu::format(printf, 1, 2)]] bool complain(const char *format, ...);
// Prints the runtime's message of the latest error in the same way. Always false.
bool reportError();
inline bool check(perpend_status status) { return status == PERPEND_OK || reportError(); }
// The rest of a file. False: there is no memory, or it cannot be read.
bool readAll(FILE *file, tokenizer::Array<char> &text);

} // namespace perpend::llm
#endif
