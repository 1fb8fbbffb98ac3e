//===- TunerTest.cpp - which kernel is tried next, and what is kept -------===//

#include "Blocks.h"

#include "tune/Tuner.h"

#include <limits>
#include <thread>

using namespace perpend;
using namespace perpend::tune;

namespace {
using Answer = std::function<Outcome(const Trace &)>;

/// Says what a candidate is, and keeps the best as a runner does.
class FakeRunner : public Runner {
public:
  FakeRunner(Answer answer, std::vector<std::string> &asked) : answer(std::move(answer)), asked(asked) {}
  Outcome measure(const Trace &candidate) override {
    asked.push_back(llvm::join(linesOf(candidate), "\n"));
    Outcome outcome = answer(candidate);
    if (outcome.kind != Outcome::Measured)
      return outcome;
    bool isFirst = best == 0;
    outcome.isFaster = isFirst || outcome.seconds < best;
    outcome.ratio = isFirst ? 1 : outcome.seconds / best;
    if (outcome.isFaster)
      best = outcome.seconds;
    return outcome;
  }

private:
  Answer answer;
  std::vector<std::string> &asked;
  double best = 0;
};

class TunerTest : public testing::Test {
protected:
  static Outcome measured(double seconds) {
    Outcome outcome;
    outcome.kind = Outcome::Measured;
    outcome.seconds = seconds;
    outcome.spreadSeconds = seconds / 10;
    return outcome;
  }
  static Outcome failed(Outcome::Kind kind) {
    Outcome outcome;
    outcome.kind = kind;
    outcome.seconds = 1e-12; // is nobody's time
    outcome.message = "of a test";
    return outcome;
  }
  /// The points of `space` have these times by their numbers.
  static Answer timed(const Space &space, std::function<double(double)> time) {
    return [&space, time](const Trace &trace) { return measured(time(numberOf(space, *space.pointOf(trace)))); };
  }

  void add(const std::string &name, Answer answer, int64_t calls = 1, double roof = 0, const Space *of = nullptr) {
    asked.push_back({});
    const Space &given = of ? *of : space;
    jobs.push_back({name, calls, roof, given, searches().back().make(given, 1), nullptr});
    answers.push_back(std::move(answer));
  }
  /// What is said of each trial.
  std::vector<std::string> run(
      const std::function<bool()> &isInterrupted = [] { return false; },
      Tuner::Clock::time_point end = Tuner::Clock::time_point::max()) {
    return run(Tuner::Limits{end}, isInterrupted);
  }
  std::vector<std::string>
  run(Tuner::Limits limits, const std::function<bool()> &isInterrupted = [] { return false; }) {
    for (size_t i = 0; i < jobs.size(); ++i)
      jobs[i].runner = std::make_unique<FakeRunner>(answers[i], asked[i]);
    std::vector<std::string> trials;
    Tuner tuner(jobs, limits);
    tuner.run([&](const Job &job, const Outcome &) { trials.push_back(job.kernel); }, isInterrupted);
    before = tuner.modelSeconds(true), after = tuner.modelSeconds(false), roof = tuner.roofSeconds();
    return trials;
  }
  static std::function<bool()> afterMeasures(int count) {
    return [count]() mutable { return count-- <= 0; };
  }
  std::string given() { return llvm::join(linesOf(space.traceAt(space.given())), "\n"); }

  Blocks blocks{Blocks::product("2", "3", "2")};
  Space space = blocks.spaceOf(tiledProduct()), none = blocks.spaceOf({});
  std::vector<Job> jobs;
  std::vector<Answer> answers;
  std::vector<std::vector<std::string>> asked;
  double before = 0, after = 0, roof = 0;
};
} // namespace

TEST_F(TunerTest, FindsTheFastest) {
  add("a", timed(space, [](double number) { return 10 - std::fmod(number, 7); }));
  run();
  Job &job = jobs[0];
  EXPECT_TRUE(job.isImproved() && job.isOver);
  EXPECT_EQ(asked[0].front(), given());
  EXPECT_EQ(job.defaultSeconds, 10 - std::fmod(numberOf(space, space.given()), 7));
  EXPECT_NEAR(job.bestSeconds, 4, 1e-9);
  EXPECT_NEAR(job.bestSpread, 0.4, 1e-9);
  EXPECT_EQ(std::fmod(numberOf(space, *space.pointOf(job.best)), 7), 6);
  EXPECT_EQ(job.trials, static_cast<int64_t>(asked[0].size()) - 1);
  EXPECT_EQ(job.refused + job.wrong + job.crashed + job.timedOut, 0);
}

TEST_F(TunerTest, TakesOnlyWhatIsSurelyFaster) {
  // It is shorter in these runs, and the runner does not say that it is faster.
  class Unsure : public Runner {
    Outcome measure(const Trace &) override {
      Outcome outcome = measured(0.5);
      outcome.ratio = 0.5;
      return outcome;
    }
  };
  add("a", nullptr);
  jobs[0].runner = std::make_unique<Unsure>();
  Tuner tuner(jobs, Tuner::Clock::time_point::max());
  tuner.run([](const Job &, const Outcome &) {}, [] { return false; });
  EXPECT_FALSE(jobs[0].isImproved());
  EXPECT_EQ(llvm::join(linesOf(jobs[0].best), "\n"), given());
  EXPECT_GT(jobs[0].trials, 5);
}

TEST_F(TunerTest, WhatFailsIsCountedAndNeverTheBest) {
  int count = 0;
  add("a", [&](const Trace &) {
    constexpr Outcome::Kind kinds[] = {Outcome::Refused, Outcome::Wrong, Outcome::Crashed, Outcome::TimedOut};
    return count++ == 0 ? measured(1) : failed(kinds[count % 4]);
  });
  run(afterMeasures(1 + 8)); // its own trace, and eight trials
  Job &job = jobs[0];
  EXPECT_EQ((std::vector{job.refused, job.wrong, job.crashed, job.timedOut}), (std::vector<int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(job.trials, 8);
  EXPECT_EQ(job.bestSeconds, 1);
  EXPECT_FALSE(job.isImproved());
  EXPECT_EQ(llvm::join(linesOf(job.best), "\n"), given());
}

TEST_F(TunerTest, AJobWhoseOwnTraceFailsIsLeftAlone) {
  for (Outcome::Kind kind : {Outcome::Refused, Outcome::Wrong, Outcome::Crashed, Outcome::TimedOut})
    add("bad", [=](const Trace &) { return failed(kind); }, 1000);
  add("good", timed(space, [](double number) { return 1 + number; }));
  run();
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(asked[i].size(), 1U);
    EXPECT_TRUE(jobs[i].isOver);
    EXPECT_FALSE(jobs[i].isImproved());
  }
  EXPECT_GT(asked[4].size(), 5U);
  EXPECT_NEAR(after, 1, 1e-6); // what failed has no time
}

TEST_F(TunerTest, AKernelWithoutDecisionsIsOnlyMeasured) {
  add("a", [](const Trace &) { return measured(3); }, 2, 1, &none);
  EXPECT_EQ(run(), std::vector<std::string>{"a"});
  EXPECT_EQ(before, 6);
  EXPECT_EQ(after, 6);
  EXPECT_EQ(roof, 2);
}

TEST_F(TunerTest, NoKernels) { EXPECT_TRUE(run().empty()); }

TEST_F(TunerTest, WhatIsKnownIsTriedFirst) {
  Point known = space.given();
  known[1] = known[1] ? 0 : 1;
  double number = numberOf(space, known);
  add("a", timed(space, [=](double of) { return of == number ? 0.5 : 1; }));
  jobs[0].known = space.traceAt(known);
  run();
  EXPECT_EQ(asked[0][1], llvm::join(linesOf(jobs[0].known), "\n"));
  EXPECT_EQ(llvm::count(asked[0], asked[0][1]), 1) << "not again";
  EXPECT_EQ(linesOf(jobs[0].best), linesOf(jobs[0].known));
  EXPECT_NEAR(jobs[0].bestSeconds, 0.5, 1e-9);
}

TEST_F(TunerTest, WhatIsKnownMayBeOfAnotherSpace) {
  std::string known = "%b = get_block \"contract\"";
  add("a", [&](const Trace &trace) {
    return linesOf(trace).front() == known && trace.size() == 1 ? measured(0.5) : measured(1);
  });
  jobs[0].known = *readTrace(known);
  run();
  EXPECT_EQ(linesOf(jobs[0].best), std::vector<std::string>{known});
  EXPECT_NEAR(jobs[0].bestSeconds, 0.5, 1e-9);
}

TEST_F(TunerTest, WhatIsKnownMayBeOfNoUse) {
  for (Outcome::Kind kind : {Outcome::Refused, Outcome::Wrong, Outcome::Crashed, Outcome::TimedOut})
    add("a", [=, first = true](const Trace &) mutable {
      bool isFirst = std::exchange(first, false);
      return isFirst ? measured(1) : failed(kind);
    });
  for (Job &job : jobs)
    job.known = *readTrace("%b = get_block \"contract\"");
  run(afterMeasures(4));
  for (Job &job : jobs) {
    EXPECT_EQ(job.trials, 1);
    EXPECT_FALSE(job.isImproved());
    EXPECT_EQ(llvm::join(linesOf(job.best), "\n"), given());
  }
  // A full disk or a busy machine does not cost what was found before.
  EXPECT_FALSE(jobs[0].isKnownRefuted || jobs[2].isKnownRefuted || jobs[3].isKnownRefuted);
  EXPECT_TRUE(jobs[1].isKnownRefuted);
}

TEST_F(TunerTest, AnUnusualProcessRefutesNothing) {
  add("a", [first = true](const Trace &) mutable {
    Outcome outcome = measured(2);
    outcome.isUsual = std::exchange(first, false);
    return outcome;
  });
  jobs[0].known = *readTrace("%b = get_block \"contract\"");
  run(afterMeasures(2));
  EXPECT_FALSE(jobs[0].isKnownTried || jobs[0].isKnownRefuted);
}

TEST_F(TunerTest, WhatWasNotTriedIsNoTrial) {
  add("a", [first = true](const Trace &) mutable {
    return std::exchange(first, false) ? measured(1) : failed(Outcome::NotTried);
  });
  run(afterMeasures(5));
  EXPECT_EQ(asked[0].size(), 5U);
  EXPECT_EQ(jobs[0].trials, 0);
}

TEST_F(TunerTest, WhatIsKnownIsRefutedByMeasuring) {
  Point known = space.given();
  known[1] = known[1] ? 0 : 1;
  double number = numberOf(space, known);
  for (double seconds : {0.5, 1.5}) {
    add("a", timed(space, [=](double of) { return of == number ? seconds : 1; }));
    jobs.back().known = space.traceAt(known);
  }
  add("nothing is known", timed(space, [](double) { return 1; }));
  run();
  EXPECT_TRUE(jobs[0].isKnownTried && !jobs[0].isKnownRefuted);
  EXPECT_TRUE(jobs[1].isKnownTried && jobs[1].isKnownRefuted);
  EXPECT_FALSE(jobs[2].isKnownTried || jobs[2].isKnownRefuted);
}

TEST_F(TunerTest, AnInterruptionRefutesNothing) {
  Trace known = *readTrace("%b = get_block \"contract\"");
  bool isInterrupted = false;
  add("a", [&, first = true](const Trace &) mutable {
    isInterrupted = !std::exchange(first, false);
    return isInterrupted ? failed(Outcome::NotTried) : measured(1);
  });
  jobs[0].known = known;
  run([&] { return isInterrupted; });
  EXPECT_EQ(asked[0].size(), 2U);
  EXPECT_FALSE(jobs[0].isKnownTried || jobs[0].isKnownRefuted);
}

TEST_F(TunerTest, TheHeaviestAreMeasuredFirst) {
  auto constant = [](const Trace &) { return measured(1); };
  add("light", constant, /*calls=*/1, /*roof=*/1);
  add("often", constant, 10, 1);
  add("heavy", constant, 1, 5);
  EXPECT_EQ(run(afterMeasures(2)), (std::vector<std::string>{"often", "heavy"}));
  EXPECT_FALSE(jobs[0].isMeasured());
  EXPECT_TRUE(jobs[1].isMeasured() && jobs[2].isMeasured());
}

TEST_F(TunerTest, AKernelIsOpenedWhenItIsFirstMeasured) {
  std::vector<std::string> opened;
  for (const char *name : {"a", "b", "c"}) {
    add(name, [](const Trace &) { return measured(1); });
    Job &job = jobs.back();
    job.open = [&opened, given = job.space](Job &of) {
      opened.push_back(of.kernel);
      of.space = given;
      of.search = searches().back().make(of.space, 1);
    };
    job.space = Space::ofOne(Trace());
    job.search = nullptr;
  }
  run(afterMeasures(2));
  EXPECT_EQ(opened, (std::vector<std::string>{"a", "b"})) << "each once";
  EXPECT_FALSE(jobs[0].isOver) << "its space is that which was made";
}

TEST_F(TunerTest, HalfOfTheTimeIsForTrying) {
  auto slow = [](const Trace &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return measured(1);
  };
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  for (int i = 0; i < 100; ++i)
    add(std::to_string(i), slow, 1, 0, &many);
  std::vector<std::string> trials = run([] { return false; }, Tuner::Clock::now() + std::chrono::milliseconds(400));
  auto measuredCount = llvm::count_if(jobs, [](const Job &job) { return job.isMeasured(); });
  EXPECT_GE(measuredCount, 1);
  EXPECT_LE(measuredCount, 11);
  EXPECT_GT(static_cast<int64_t>(trials.size()), measuredCount + 2);
}

TEST_F(TunerTest, WhatWaitsIsMeasuredWhenNothingIsLeftToTry) {
  auto slow = [](const Trace &) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    return measured(1);
  };
  for (int i = 0; i < 3; ++i)
    add(std::to_string(i), slow, 1, 0, &none);
  run([] { return false; }, Tuner::Clock::now() + std::chrono::milliseconds(170));
  EXPECT_TRUE(jobs[0].isMeasured() && jobs[1].isMeasured() && jobs[2].isMeasured());
}

TEST_F(TunerTest, TimeGoesToWhatMayGainMost) {
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  auto constant = [](double seconds) { return [=](const Trace &) { return measured(seconds); }; };
  add("called often", constant(1), /*calls=*/100, /*roof=*/0.1, &many);
  add("at its roof", constant(50), 1, 50, &many);
  add("slow", constant(20), 1, 1, &many);
  std::vector<std::string> trials = run(afterMeasures(3 + 200));
  EXPECT_EQ((std::vector(trials.begin(), trials.begin() + 4)),
            (std::vector<std::string>{"at its roof", "called often", "slow", "called often"}));
  EXPECT_EQ(jobs[1].trials, 0);
  // As the gains that are left, 90 to 19, each less with its trials.
  EXPECT_GT(jobs[0].trials, 2 * jobs[2].trials);
  EXPECT_GT(jobs[2].trials, 10);
  EXPECT_EQ(before, 100 + 50 + 20);
}

TEST_F(TunerTest, AGainRenewsPatience) {
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  double seconds = 2;
  add("gains", [&](const Trace &) { return measured(seconds *= 0.999); }, 1, 0, &many);
  add("does not", [](const Trace &) { return measured(1); }, 1, 0, &many);
  run(afterMeasures(2 + 100));
  EXPECT_EQ(jobs[1].trials, 0);
  EXPECT_EQ(jobs[0].sinceGain, 0);
  EXPECT_NEAR(jobs[0].bestSeconds, seconds, 1e-9);
}

TEST_F(TunerTest, InTurnsAllGetAsManyTrials) {
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  for (const char *name : {"a", "b", "c"})
    add(name, [](const Trace &) { return measured(1); }, name[0] == 'a' ? 100 : 1, 0, &many);
  run({Tuner::Clock::time_point::max(), 30, Scheduler::Turns});
  for (const Job &job : jobs)
    EXPECT_EQ(job.trials, 10) << job.kernel;
}

TEST_F(TunerTest, SoManyTrialsEndIt) {
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  for (const char *name : {"a", "b"})
    add(name, [](const Trace &) { return measured(1); }, 1, 0, &many);
  run({Tuner::Clock::time_point::max(), 7});
  EXPECT_EQ(jobs[0].trials + jobs[1].trials, 7);
}

TEST_F(TunerTest, TheGradientBeatsTurns) {
  // A model of a kernel that takes half of its time, and of nine that are near their roofs: after 60 candidates.
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  auto secondsWith = [&](Scheduler scheduler, uint64_t seed) {
    jobs.clear(), answers.clear(), asked.clear();
    for (int i = 0; i < 10; ++i) {
      double least = i == 0 ? 2 : 0.9, range = i == 0 ? 7 : 0.1;
      auto time = [=](double number) { return least + range * (1 + std::cos(number * (1.7 + i))) / 2; };
      add(std::to_string(i), timed(many, time), 1, least, &many);
      jobs.back().search = searches().back().make(many, seed);
    }
    run({Tuner::Clock::time_point::max(), 60, scheduler});
    return after;
  };
  int better = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed)
    better += secondsWith(Scheduler::Gradient, seed) < secondsWith(Scheduler::Turns, seed);
  EXPECT_GE(better, 9) << "of ten: by chance one time in a hundred";
}

TEST_F(TunerTest, TheGradientLeavesAKernelThatHasNothingToFind) {
  // It has nearly all of the time, and is far from its roof.
  Blocks large(Blocks::product("24", "16", "24"));
  Space many = large.spaceOf(tiledProduct());
  add("nothing", timed(many, [](double) { return 100; }), 1, 25, &many);
  for (int i = 1; i < 5; ++i)
    add(std::to_string(i), timed(many, [=](double number) { return 20 + std::fmod(number, 5 + i); }), 1, 10, &many);
  run({Tuner::Clock::time_point::max(), 400, Scheduler::Gradient});
  EXPECT_LT(jobs[0].trials, 200);
  for (int i = 1; i < 5; ++i)
    EXPECT_TRUE(jobs[i].isImproved()) << i;
}

TEST_F(TunerTest, TimesAreThoseOfTheSameRuns) {
  // The machine has half its speed from the second measure on.
  class Slower : public Runner {
    int count = 0;
    Outcome measure(const Trace &) override {
      Outcome outcome = measured(count ? 1.6 : 1);
      outcome.ratio = count ? 0.8 : 1;
      outcome.isFaster = count++ < 2;
      return outcome;
    }
  };
  add("a", nullptr);
  jobs[0].runner = std::make_unique<Slower>();
  Tuner tuner(jobs, Tuner::Clock::time_point::max());
  tuner.run([](const Job &, const Outcome &) {}, afterMeasures(4));
  EXPECT_EQ(jobs[0].defaultSeconds, 1);
  EXPECT_NEAR(jobs[0].bestSeconds, 0.8, 1e-9);
}

TEST_F(TunerTest, TheTimeIsOver) {
  add("a", [](const Trace &) { return measured(1); });
  EXPECT_TRUE(run([] { return false; }, Tuner::Clock::now()).empty());
  EXPECT_TRUE(asked[0].empty());
  EXPECT_FALSE(jobs[0].isImproved());
  EXPECT_EQ(before, 0);
}

TEST_F(TunerTest, NoTimeIsWaitedFor) {
  add("a", [](const Trace &) { return measured(1); });
  run([] { return false; }, Tuner::Clock::now() + std::chrono::hours(1)); // the space ends
  EXPECT_TRUE(jobs[0].isOver);
}

TEST_F(TunerTest, AnInterruptionEndsIt) {
  for (const char *name : {"a", "b", "c"})
    add(name, [](const Trace &) { return measured(1); });
  EXPECT_EQ(run(afterMeasures(2)), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(asked[2].empty());
  EXPECT_EQ(after, 2);
}

//===----------------------------------------------------------------------===//
// Several sets of extents
//===----------------------------------------------------------------------===//

TEST_F(TunerTest, WhatIsBestForSomeExtentsIsMeasuredWithTheOthers) {
  Trace a = *readTrace("%b = get_block \"a\""), b = *readTrace("%b = get_block \"b\"");
  auto times = [](double ofGiven, double ofA, double ofB) -> Answer {
    return [=](const Trace &trace) {
      std::string text = llvm::join(linesOf(trace), "\n");
      double seconds = text.find("\"a\"") != std::string::npos   ? ofA
                       : text.find("\"b\"") != std::string::npos ? ofB
                                                                 : ofGiven;
      return std::isinf(seconds) ? failed(Outcome::Wrong) : measured(seconds);
    };
  };
  add("one", times(1, 0.5, 2), 1, 0, &none);
  add("two", times(10, 30, 8), 1, 0, &none);
  add("three", times(4, 3, std::numeric_limits<double>::infinity()), 1, 0, &none);
  add("another kernel", times(1, 1, 1), 1, 0, &none);
  jobs[0].extents = "n=1", jobs[1].extents = "n=16", jobs[2].extents = "n=3";
  jobs[3].group = 1;
  run();
  for (auto [number, best, seconds] : {std::tuple(0, a, 0.5), {1, b, 8.}}) { // what a search has found
    EXPECT_TRUE(jobs[number].runner->measure(best).isFaster);
    jobs[number].best = best;
    jobs[number].bestSeconds = seconds;
  }
  Tuner tuner(jobs, Tuner::Clock::time_point::max());
  tuner.compareGroups([](const Job &, const Outcome &) {}, [] { return false; });
  using Parts = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(jobs[0].elsewhere, (Parts{{"n=16", 3}, {"n=3", 0.75}}));
  EXPECT_FALSE(jobs[1].isImproved()) << "what was the best there computes something else with n=3";
  EXPECT_TRUE(jobs[1].elsewhere.empty());
  for (int i : {0, 1, 2})
    EXPECT_TRUE(jobs[i].disproved.size() == 1 && linesOf(jobs[i].disproved[0]) == linesOf(b)) << i;
  EXPECT_EQ(jobs[0].trials, 0) << "no candidates of a search";
  EXPECT_EQ(linesOf(jobs[2].best), linesOf(a)) << "it is faster there, too";
  EXPECT_EQ(jobs[2].elsewhere, (Parts{{"n=1", 0.5}, {"n=16", 3}}));
  EXPECT_TRUE(jobs[3].elsewhere.empty());
}

TEST_F(TunerTest, ExtentsCountByTheirWeights) {
  add("often", timed(space, [](double) { return 1; }), 3);
  add("seldom", timed(space, [](double) { return 1; }), 3);
  jobs[0].weight = 10;
  run(afterMeasures(2));
  EXPECT_EQ(before, 33);
}
