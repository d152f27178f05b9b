#include "server/schedules/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "proto/support/error.h"

namespace kbench::schedules {
namespace {

using kbench::v1::Schedule;
using kbench::v1::ScheduledRun;

// Due times are whole minutes.
google::protobuf::Timestamp Stamp(double seconds) {
  google::protobuf::Timestamp stamp;
  stamp.set_seconds(static_cast<std::int64_t>(seconds));
  return stamp;
}

absl::StatusOr<Rhythm> RhythmOf(const Schedule& schedule) {
  return MakeRhythm(schedule.at(), schedule.zone(),
                    {schedule.days().begin(), schedule.days().end()});
}

// "02:00", as the schedule's people read it.
std::string ClockOf(const Rhythm& rhythm, double time) {
  return absl::FormatTime("%Y-%m-%d %H:%M", absl::UnixEpoch() + absl::Seconds(time), rhythm.zone);
}

}  // namespace

void Book::SetNext(Entry& entry, double now) {
  entry.next = entry.schedule.paused() ? 0 : NextDue(entry.rhythm, now);
  entry.schedule.clear_next_time();
  if (entry.next > 0) *entry.schedule.mutable_next_time() = Stamp(entry.next);
  entry.schedule.set_interval_seconds(LongestInterval(entry.rhythm));
}

void Book::AddRun(Entry& entry, double due, const std::vector<std::string>& jobs,
                  const std::string& skipped) {
  ScheduledRun run;
  *run.mutable_due_time() = Stamp(due);
  run.mutable_jobs()->Add(jobs.begin(), jobs.end());
  run.set_skipped(skipped);
  if (!skipped.empty()) ++entry.skipped;
  auto& runs = *entry.schedule.mutable_runs();
  *runs.Add() = std::move(run);
  std::rotate(runs.begin(), runs.end() - 1, runs.end());  // newest first
  // The newest that ran stays, however many were skipped since: the next one waits for its end.
  const auto ran = std::find_if(runs.begin(), runs.end(),
                                [](const ScheduledRun& one) { return one.skipped().empty(); });
  const bool last_ran = ran != runs.end() && ran == runs.end() - 1;
  if (runs.size() > kKeptRuns) runs.DeleteSubrange(runs.size() - (last_ran ? 2 : 1), 1);
}

absl::StatusOr<Schedule> Book::Put(Schedule schedule, double now) {
  KB_ASSIGN_OR_RETURN(const Rhythm rhythm, RhythmOf(schedule));
  Entry entry{std::move(schedule), rhythm};
  entry.awaited = now;
  const auto known = entries_.find(entry.schedule.name());
  entry.schedule.clear_runs();
  if (known != entries_.end()) {
    *entry.schedule.mutable_runs() = known->second.schedule.runs();
    entry.skipped = known->second.skipped;
    if (!known->second.schedule.paused()) entry.awaited = known->second.awaited;
  }
  SetNext(entry, now);
  Entry& kept = entries_[entry.schedule.name()] = std::move(entry);
  return kept.schedule;
}

absl::Status Book::Restore(const Schedule& schedule, double now, std::int64_t skipped,
                           double awaited) {
  KB_ASSIGN_OR_RETURN(const Rhythm rhythm, RhythmOf(schedule));
  Entry& entry = entries_[schedule.name()] = {schedule, rhythm};
  entry.skipped = skipped;
  entry.awaited = awaited > 0 ? awaited : now;
  // What came due while nobody looked is found by Take(), and skipped with its reason.
  const auto stored = static_cast<double>(schedule.next_time().seconds());
  SetNext(entry, now);
  if (!schedule.paused() && schedule.has_next_time() && stored < entry.next) entry.next = stored;
  return absl::OkStatus();
}

bool Book::Remove(const std::string& name) { return entries_.erase(name) > 0; }

const Schedule* Book::Pause(const std::string& name, bool paused, double now) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  if (entry.schedule.paused() != paused) {
    entry.schedule.set_paused(paused);
    entry.awaited = now;
    SetNext(entry, now);
  }
  return &entry.schedule;
}

const Schedule* Book::Find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.schedule;
}

std::int64_t Book::SkippedOf(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? 0 : found->second.skipped;
}

double Book::AwaitedOf(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() || found->second.next == 0 ? 0 : found->second.awaited;
}

void Book::Await(const std::string& name, double now) {
  const auto found = entries_.find(name);
  if (found != entries_.end()) found->second.awaited = now;
}

std::vector<const Schedule*> Book::All() const {
  std::vector<const Entry*> entries;
  for (const auto& [name, entry] : entries_) entries.push_back(&entry);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return std::pair(a->next == 0, a->next) < std::pair(b->next == 0, b->next);
  });
  std::vector<const Schedule*> all;
  for (const Entry* entry : entries) all.push_back(&entry->schedule);
  return all;
}

std::optional<double> Book::NextTime() const {
  std::optional<double> next;
  for (const auto& [name, entry] : entries_) {
    if (entry.next > 0 && (!next || entry.next < *next)) next = entry.next;
  }
  return next;
}

std::vector<Due> Book::Take(double now,
                            const std::function<bool(const std::string& job)>& has_ended) {
  std::vector<Due> dues;
  for (auto& [name, entry] : entries_) {
    if (entry.next == 0 || entry.next > now) continue;
    Due due{name, entry.next, ""};
    const auto& runs = entry.schedule.runs();
    const auto ran = std::find_if(runs.begin(), runs.end(),
                                  [](const ScheduledRun& run) { return run.skipped().empty(); });
    const bool runs_still =
        ran != runs.end() && !std::all_of(ran->jobs().begin(), ran->jobs().end(), has_ended);
    if (now - entry.next > kLateSeconds) {
      due.skipped = fmt::format("the coordinator was away at {}", ClockOf(entry.rhythm, due.due));
    } else if (runs_still) {
      due.skipped = "the run before had not ended";
    }
    if (!due.skipped.empty()) AddRun(entry, due.due, {}, due.skipped);
    SetNext(entry, now);
    dues.push_back(std::move(due));
  }
  return dues;
}

void Book::Ran(const std::string& name, double due, const std::vector<std::string>& jobs,
               const std::string& failure) {
  const auto found = entries_.find(name);
  if (found != entries_.end()) AddRun(found->second, due, jobs, failure);
}

}  // namespace kbench::schedules
