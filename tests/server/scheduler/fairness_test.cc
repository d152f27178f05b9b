// The policy by simulation: what it promises over a day, with people of very different appetite.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "tests/server/scheduler/lab.h"

namespace kbench::scheduler {
namespace {

constexpr double kDay = 24 * 3600;
constexpr double kBound = 1800;
constexpr double kLongestCase = 60;

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int Int(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

 private:
  std::mt19937 random_;
};

// Somebody who submits work for `load` times what one device can do, in jobs of random length,
// estimated wrong by up to a factor of two.
void Submits(Lab& lab, Dice& dice, const std::string& owner, PriorityClass priority_class,
             double load, int most_cases, double until) {
  Work work;
  work.owner = owner;
  work.priority_class = priority_class;
  work.cases = dice.Int(1, most_cases);
  work.seconds = dice.Real(5, kLongestCase);
  work.estimate = work.seconds * std::exp2(dice.Real(-1, 1));
  const double wait = work.cases * work.seconds / load;
  if (lab.now() > until) return;
  lab.Submit(work);
  lab.At(lab.now() + wait, [&lab, &dice, owner, priority_class, load, most_cases, until] {
    Submits(lab, dice, owner, priority_class, load, most_cases, until);
  });
}

TEST(Fairness, OneTenAndAHundredTimesTheLoadGetEqualDeviceTime) {
  Lab lab(1);
  Dice dice(1);
  const double start = lab.now();
  const double end = start + kDay;
  // The least eager one asks for a little more than a third of the device.
  Submits(lab, dice, "ana", PriorityClass::kBatch, 0.4, 10, end);
  Submits(lab, dice, "bob", PriorityClass::kBatch, 4, 40, end);
  Submits(lab, dice, "eve", PriorityClass::kBatch, 40, 200, end);
  lab.RunUntil(end);
  const auto seconds = lab.DeviceSeconds(start, end);
  ASSERT_EQ(seconds.size(), 3u);
  double total = 0;
  for (const auto& [owner, used] : seconds) {
    total += used;
    EXPECT_NEAR(used, kDay / 3, 0.05 * kDay / 3) << owner;
    RecordProperty(owner, static_cast<int>(used));
  }
  EXPECT_NEAR(total, kDay, kLongestCase) << "the device was never idle";
}

TEST(Fairness, TheSameOnFourDevicesAndInEveryClass) {
  for (const auto priority_class :
       {PriorityClass::kInteractive, PriorityClass::kCi, PriorityClass::kBatch}) {
    Lab lab(4);
    Dice dice(2);
    const double start = lab.now();
    const double end = start + kDay / 4;
    Submits(lab, dice, "ana", priority_class, 1.6, 10, end);
    Submits(lab, dice, "bob", priority_class, 16, 40, end);
    Submits(lab, dice, "eve", priority_class, 160, 200, end);
    lab.RunUntil(end);
    for (const auto& [owner, used] : lab.DeviceSeconds(start, end)) {
      EXPECT_NEAR(used, kDay / 3, 0.05 * kDay / 3) << owner << " " << ClassName(priority_class);
    }
  }
}

TEST(Fairness, WhoWasAwayIsNotOwedADayAndWhoUsedMuchIsNotPunishedForLong) {
  Lab lab(1);
  Dice dice(3);
  Submits(lab, dice, "bob", PriorityClass::kBatch, 4, 20, lab.now() + 2 * kDay);
  lab.RunUntil(lab.now() + kDay);
  // Bob had the whole device for a day: 24 h, of which the decay leaves 17.3 h.
  EXPECT_NEAR(lab.scheduler().UsedSeconds(lab.now(), "bob"), kDay * 0.5 / std::log(2.0),
              0.02 * kDay);
  Submits(lab, dice, "ana", PriorityClass::kBatch, 4, 20, lab.now() + kDay);
  const double start = lab.now();
  lab.RunUntil(start + kDay);
  const auto seconds = lab.DeviceSeconds(start, start + kDay);
  EXPECT_GT(seconds.at("ana"), seconds.at("bob"));
  EXPECT_GT(seconds.at("bob"), 24 * 2 * 20) << "the bound leaves bob a case every half hour";
}

// Cases that began between a job's submission and its own start.
int StartsBefore(const Lab& lab, const std::string& job) {
  int starts = 0;
  for (const Ran& one : lab.ran()) {
    if (one.job == job) return starts;
    if (one.started >= lab.SubmittedAt(job)) ++starts;
  }
  return 1'000'000;
}

TEST(Fairness, AnInteractiveJobWaitsForAtMostOneCase) {
  Lab lab(1);
  Dice dice(4);
  const double end = lab.now() + kDay;
  // So many that they wait for longer than the bound: there are always promoted ones.
  for (int i = 0; i < 60; ++i) {
    Submits(lab, dice, "batch" + std::to_string(i), PriorityClass::kBatch, 1, 50, end);
    Submits(lab, dice, "ci" + std::to_string(i % 20), PriorityClass::kCi, 1, 5, end);
  }
  std::vector<std::string> asked;
  for (double t = lab.now() + 3 * kBound; t < end - 200; t += dice.Real(70, 900)) {
    lab.At(t, [&] { asked.push_back(lab.Submit({.owner = "ana", .estimate = 20})); });
  }
  lab.RunUntil(end);
  ASSERT_GT(asked.size(), 100u);
  for (const std::string& job : asked) EXPECT_EQ(StartsBefore(lab, job), 0) << job;
}

// For every owner and class the longest time for which something of theirs waited and nothing of
// theirs began; from the log alone.
double LongestUnserved(Lab& lab, double until) {
  using Who = std::pair<std::string, PriorityClass>;
  std::map<Who, std::multiset<double>> coming;  // submissions of what has not begun
  std::map<Who, double> served;
  std::map<std::string, int> left;
  std::map<std::string, Who> who;
  for (const auto& [name, job] : lab.world().durable()) {
    who[name] = {job.owner, job.priority_class};
    left[name] = static_cast<int>(job.cases.size());
    coming[who[name]].insert(lab.SubmittedAt(name));
  }
  double longest = 0;
  const auto look = [&](const Who& one, double now) {
    if (coming[one].empty()) return;
    const double since = std::max(*coming[one].begin(), served[one]);
    longest = std::max(longest, now - since);
  };
  for (const Ran& ran : lab.ran()) {
    const Who& one = who.at(ran.job);
    look(one, ran.started);
    served[one] = ran.started + ran.took;
    if (--left.at(ran.job) == 0) coming[one].erase(coming[one].find(lab.SubmittedAt(ran.job)));
  }
  for (const auto& [one, jobs] : coming) look(one, until);
  return longest;
}

TEST(Fairness, NobodyWaitsBeyondTheBoundUnderAnyFlood) {
  Lab lab(1);
  Dice dice(5);
  const double end = lab.now() + kDay;
  // Interactive work alone is twice the device; behind it are ci and batch.
  for (const char* owner : {"ana", "bob", "eve", "dan"}) {
    Submits(lab, dice, owner, PriorityClass::kInteractive, 0.5, 3, end);
    Submits(lab, dice, owner, PriorityClass::kBatch, 0.5, 100, end);
  }
  Submits(lab, dice, "robot", PriorityClass::kCi, 0.5, 10, end);
  lab.RunUntil(end);
  // Each of the nine waits at most for the others' promoted cases, every second one an interactive.
  const double longest = LongestUnserved(lab, end);
  RecordProperty("longest_seconds", static_cast<int>(longest));
  EXPECT_LE(longest, kBound + 2 * 9 * kLongestCase);
  EXPECT_GT(longest, kBound) << "the flood is real: only the bound lets them in";
}

TEST(Fairness, EveryJobBeginsWithinTheBoundWhenTheDeviceCanDoAllThatIsAsked) {
  double longest = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    Lab lab(1);
    Dice dice(seed);
    const double end = lab.now() + kDay;
    for (const char* owner : {"ana", "bob", "eve"}) {
      Submits(lab, dice, owner, PriorityClass::kInteractive, 0.08, 3, end);
      Submits(lab, dice, owner, PriorityClass::kBatch, 0.12, 30, end);
    }
    Submits(lab, dice, "robot", PriorityClass::kCi, 0.1, 10, end);
    lab.RunAll();
    std::set<std::string> begun;
    for (const Ran& one : lab.ran()) {
      if (!begun.insert(one.job).second) continue;
      longest = std::max(longest, one.started - lab.SubmittedAt(one.job));
    }
    EXPECT_EQ(begun.size(), lab.world().durable().size()) << "every job ran";
  }
  RecordProperty("longest_seconds", static_cast<int>(longest));
  EXPECT_LE(longest, kBound + 10 * kLongestCase);
}

}  // namespace
}  // namespace kbench::scheduler
