//===- LogTest.cpp - what happened in a run of tuning ---------------------===//

#include "Blocks.h"

#include "tune/Log.h"

using namespace perpend;
using namespace perpend::tune;

namespace {
/// The first one takes a second; each has half of the time of the best, or is what its number says.
class Answers : public Runner {
public:
  Outcome measure(const Trace &) override {
    Outcome outcome;
    outcome.kind = count < 1 || count > 4 ? Outcome::Measured : static_cast<Outcome::Kind>(count);
    outcome.seconds = outcome.kind == Outcome::Measured ? 1 : 0;
    outcome.ratio = count == 6 ? 2 : 0.5;
    outcome.isFaster = count == 5;
    outcome.message = outcome.kind == Outcome::Measured ? "" : "why";
    ++count;
    return outcome;
  }

private:
  int count = 0;
};
} // namespace

TEST(LogTest, SaysWhatHappened) {
  Blocks blocks(Blocks::product("2", "3", "2"));
  Space space = blocks.spaceOf(tiledProduct());
  std::vector<Job> jobs;
  jobs.push_back({"a kernel", 1, 0, space, searches().back().make(space, 1), std::make_unique<Answers>()});
  double now = 0;
  Log log([&] { return ++now; });
  Tuner tuner(jobs, Tuner::Clock::time_point::max());
  size_t trials = 0;
  tuner.run(
      [&](const Job &job, const Outcome &outcome) {
        log.add(job, outcome);
        ++trials;
      },
      [&] { return trials == 7; });
  llvm::ArrayRef<Event> events = log.events();
  ASSERT_EQ(events.size(), 7U);
  EXPECT_EQ(log.duration(), 7);
  EXPECT_TRUE(events[0].isGiven && events[0].changes.empty());
  std::string kinds;
  for (const Event &event : events) {
    EXPECT_EQ(event.kernel, "a kernel");
    EXPECT_EQ(event.time, &event - events.data() + 1);
    EXPECT_EQ(event.isGiven, &event == events.data());
    kinds += nameOf(event.outcome.kind).str() + (event.outcome.message.empty() ? " " : ", ");
  }
  EXPECT_EQ(kinds, "measured refused, wrong, crashed, timed out, measured measured ");
  EXPECT_EQ(events[0].seconds, 1);
  EXPECT_EQ(events[1].seconds, 0);
  EXPECT_EQ(events[5].seconds, 0.5) << "of the best, which it is by now";
  EXPECT_EQ(events[6].seconds, 1) << "twice the best";
}

TEST(LogTest, NamesTheLinesThatChange) {
  Blocks blocks(Blocks::product("2", "3", "2"));
  Space space = blocks.spaceOf(tiledProduct());
  Job job{"k", 1, 0, space, nullptr, nullptr};
  const std::vector<std::string> given = linesOf(space.traceAt(space.given()));
  Log log([] { return 0.0; });
  for (size_t i = 0; i < space.decisions().size(); ++i) {
    Point point = space.given();
    point[i] = point[i] == 0 ? 1 : 0;
    job.last = space.traceAt(point);
    log.add(job, {});
    const std::vector<std::string> &changes = log.events().back().changes;
    const std::vector<std::string> lines = linesOf(job.last);
    ASSERT_TRUE(changes.size() == 1 || changes.size() == 2); // an instruction is left out, or a number is another
    EXPECT_EQ(changes[0][0], '-');
    EXPECT_NE(llvm::find(given, changes[0].substr(2)), given.end());
    if (changes.size() == 1)
      continue;
    EXPECT_EQ(changes[1][0], '+');
    EXPECT_NE(llvm::find(lines, changes[1].substr(2)), lines.end());
    EXPECT_EQ(changes[0].substr(2, 8), changes[1].substr(2, 8));
  }
  EXPECT_GE(log.events().size(), 3U);
  job.last.clear();
  log.add(job, {});
  EXPECT_EQ(log.events().back().changes.size(), given.size()) << "all are gone";
}
