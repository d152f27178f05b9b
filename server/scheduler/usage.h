// Who has used how much: device-seconds of every owner, halved every half-life. Pure; owned by the
// scheduler.
//
// All usages decay at the same rate, so that their order changes only when somebody is charged.
// They are kept weighted: a second charged at time t counts 2^((t - base) / half-life), whose
// comparison needs no time at all. A time before the last one seen is taken as that one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/scheduler/types.h"

namespace kbench::scheduler {

struct Lane;

struct Owner {
  std::string name;
  std::int64_t serial = 0;  // in the order in which they came: decides between equal usages
  double settled = 0;       // weighted: of attempts that have ended
  double charged = 0;       // weighted: of those that run, at their estimates
  double served_at = 0;     // when a case of theirs last ended; 0: not known
  int running_cases = 0;
  int waiting_cases = 0;
  int jobs = 0;  // not ended
  std::vector<Lane*> lanes;

  double weighted() const { return settled + charged; }
};

class Usage {
 public:
  explicit Usage(double half_life_seconds) : half_life_(half_life_seconds) {}

  Owner& Of(const std::string& name);
  const std::map<std::string, Owner>& owners() const { return owners_; }

  void Restore(double now, const OwnerUsage& stored);
  // An attempt of so many estimated seconds begins.
  void Charge(double began, Owner& owner, double estimate);
  // It has ended: its estimate goes, and what it took stays, both as of its beginning.
  void Settle(double began, Owner& owner, double estimate, double took);
  // What took so long and has no charge any more.
  void Add(double began, Owner& owner, double took);
  // Device-seconds as of now, with what runs.
  double Seconds(double now, const Owner& owner) const;
  OwnerUsage Durable(double now, const Owner& owner) const;
  // Seconds now for a weighted second.
  double Scale(double now) const;

  // The time goes on. Keeps the weights within a double: true when all have changed (their order
  // has not).
  bool Rebase(double now);
  // Forgets owners without jobs whose usage has decayed away; their names.
  std::vector<std::string> Prune(double now);

 private:
  double Weight(double at) const;

  double half_life_;
  double base_ = 0;
  double latest_ = 0;
  std::int64_t next_serial_ = 1;
  std::map<std::string, Owner> owners_;
};

}  // namespace kbench::scheduler
