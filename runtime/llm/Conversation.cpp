#include "llm/Conversation.h"
#include "Checksum.h"
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace perpend::llm {

void Conversation::add(Role role, const char *text, size_t size) {
  bytes.append(text, size);
  turns.push({role, 0, bytes.size()});
}

static perpend_string textOf(Role role) {
  static constexpr perpend_string texts[] = {{"system", 6}, {"user", 4}, {"assistant", 9}};
  return texts[static_cast<uint32_t>(role)];
}

/// The oldest ones, each a user's turn or an answer.
void Conversation::forgetTurns(size_t count) {
  const size_t first = firstTurn(), last = first + count;
  const uint64_t begin = endOf(first), size = endOf(last) - begin;
  memmove(bytes.data() + begin, bytes.data() + begin + size, bytes.size() - static_cast<size_t>(begin + size));
  bytes.resize(bytes.size() - static_cast<size_t>(size));
  for (size_t i = last; i < turns.size(); ++i)
    turns[i - count] = {turns[i].role, 0, turns[i].end - size};
  turns.resize(turns.size() - count);
}

bool Conversation::set(perpend_llm_sequence *sequence, int64_t mostTokens) {
  for (size_t forgotten = 0;; forgotten += 2) {
    messages.clear();
    for (size_t i = 0; i < turns.size() && !memory.failed; ++i)
      if (i < firstTurn() || i >= firstTurn() + forgotten)
        messages.push(
            {textOf(turns[i].role), {bytes.data() + endOf(i), static_cast<int64_t>(turns[i].end - endOf(i))}});
    if (memory.failed)
      return complain("no memory for the conversation");
    int64_t count = 0;
    const perpend_status status =
        perpend_llm_sequence_set_chat(sequence, messages.data(), static_cast<int32_t>(messages.size()));
    perpend_llm_sequence_tokens(sequence, nullptr, &count, nullptr);
    if ((status || count > mostTokens) && hasOlderTurns(forgotten)) {
      mostTokens = forgotten ? mostTokens : mostTokens / 3 * 2; // so that not each of the next turns forgets, too
      continue;
    }
    if (status) {
      turns.resize(turns.size() - 1);
      bytes.resize(static_cast<size_t>(endOf(turns.size())));
      return check(status);
    }
    forgetTurns(forgotten);
    if (forgotten)
      fprintf(stderr, "note: the context is full: forgotten turns: %d\n", static_cast<int>(forgotten / 2));
    return true;
  }
}

bool readAll(FILE *file, tokenizer::Array<char> &text) {
  char part[4096];
  for (size_t count; (count = fread(part, 1, sizeof part, file)) > 0;)
    text.append(part, count);
  return !ferror(file);
}

namespace {

constexpr char magic[8] = {'P', 'P', 'S', 'P', 'O', 'K', 'E', '\n'};
constexpr uint32_t version = 1;

// Then the turns, their texts, and what perpend_llm_sequence_save writes.
struct Head {
  char magic[8];
  uint32_t version, checksum; // CRC-32C of what follows, up to the sequence
  uint64_t turnCount, textBytes;
};
constexpr size_t checkedFrom = offsetof(Head, turnCount);

bool failFile(const char *path, const char *what) {
  return complain("session '%.200s': %s; hint: name another file, which begins a new session", path, what);
}

// Creates a file beside the other one, with a name that no program uses. -1: errno says why.
int createBeside(const char *path, char (&name)[PATH_MAX]) {
  int file = -1;
  for (int i = 0; i < 100; ++i) {
    if (snprintf(name, sizeof name, "%s.%ld-%d.new", path, static_cast<long>(getpid()), i) >= PATH_MAX)
      return errno = ENAMETOOLONG, -1;
    file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST)
      break;
  }
  return file;
}

// The file has these bytes, or what it had before.
bool replaceFile(const char *path, const char *data, size_t size) {
  char name[PATH_MAX];
  int reason = 0; // of the first failure
  auto note = [&](bool isGood) { reason = isGood || reason ? reason : errno; };
  const int file = createBeside(path, name);
  note(file >= 0);
  while (size && !reason) {
    const ssize_t count = write(file, data, size);
    note(count >= 0 || errno == EINTR);
    const size_t written = count > 0 ? static_cast<size_t>(count) : 0;
    data += written;
    size -= written;
  }
  if (!reason)
    note(!fsync(file));
  if (file >= 0)
    note(!close(file));
  if (!reason)
    note(!rename(name, path));
  if (reason && file >= 0)
    unlink(name);
  return !reason || complain("session '%.200s': %s", path, strerror(reason));
}

} // namespace

bool Conversation::read(const char *path, const char *data, size_t size, perpend_llm_sequence *sequence) {
  Head head;
  if (size < sizeof head)
    return failFile(path, "the file is no session, or was cut off");
  memcpy(&head, data, sizeof head);
  if (memcmp(head.magic, magic, sizeof magic) || head.version != version)
    return failFile(path, "the file is no session, or one of another version of Perpend");
  size_t left = size - sizeof head;
  if (head.turnCount > left / sizeof(Turn) || head.textBytes > left - head.turnCount * sizeof(Turn))
    return failFile(path, "the file was cut off");
  const auto turnBytes = static_cast<size_t>(head.turnCount) * sizeof(Turn), before = turnBytes + head.textBytes;
  if (head.checksum != runtime::crc32c(data + checkedFrom, sizeof head - checkedFrom + before))
    return failFile(path, "the file is damaged");
  turns.resize(static_cast<size_t>(head.turnCount));
  bytes.append(data + sizeof head + turnBytes, static_cast<size_t>(head.textBytes));
  if (memory.failed)
    return complain("no memory for the session");
  if (turnBytes)
    memcpy(turns.data(), data + sizeof head, turnBytes);
  uint64_t begin = 0;
  for (size_t i = 0; i < turns.size(); begin = turns[i++].end)
    if (turns[i].role > Role::Assistant || turns[i].end < begin || turns[i].end > head.textBytes)
      return failFile(path, "the file is damaged");
  const perpend_status status =
      perpend_llm_sequence_load(sequence, data + sizeof head + before, static_cast<int64_t>(left - before));
  return status == PERPEND_CORRUPT ? failFile(path, "the file was cut off, or is damaged") : check(status);
}

static bool canReplace(const char *path) {
  char name[PATH_MAX];
  const int file = createBeside(path, name);
  if (file < 0)
    return complain("session '%.200s': nothing can be saved there: %s", path, strerror(errno));
  close(file);
  unlink(name);
  return true;
}

bool Conversation::load(const char *path, perpend_llm_sequence *sequence) {
  if (!canReplace(path))
    return false;
  FILE *file = fopen(path, "rb");
  if (!file)
    return errno == ENOENT || complain("session '%.200s': %s", path, strerror(errno));
  tokenizer::Memory owner;
  tokenizer::Array<char> data(owner);
  const bool isRead = readAll(file, data);
  const int reason = errno;
  fclose(file);
  if (!isRead || owner.failed)
    return complain("session '%.200s': %s", path, owner.failed ? "no memory for it" : strerror(reason));
  return read(path, data.data(), data.size(), sequence);
}

bool Conversation::save(const char *path, perpend_llm_sequence *sequence) {
  int64_t sizeBytes = 0;
  if (!check(perpend_llm_sequence_save(sequence, nullptr, 0, &sizeBytes)))
    return false;
  Head head{{}, version, 0, turns.size(), bytes.size()};
  memcpy(head.magic, magic, sizeof magic);
  tokenizer::Memory owner;
  tokenizer::Array<char> data(owner);
  data.append(reinterpret_cast<const char *>(&head), sizeof head);
  data.append(reinterpret_cast<const char *>(turns.data()), turns.size() * sizeof(Turn));
  data.append(bytes.data(), bytes.size());
  const size_t before = data.size();
  data.resize(before + static_cast<size_t>(sizeBytes));
  if (memory.failed || owner.failed)
    return complain("no memory for the session");
  head.checksum = runtime::crc32c(data.data() + checkedFrom, before - checkedFrom);
  memcpy(data.data(), &head, sizeof head);
  if (!check(perpend_llm_sequence_save(sequence, data.data() + before, sizeBytes, &sizeBytes)))
    return false;
  return replaceFile(path, data.data(), data.size());
}

} // namespace perpend::llm
