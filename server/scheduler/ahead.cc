#include "server/scheduler/ahead.h"

#include <algorithm>
#include <cmath>

#include "server/scheduler/scheduler.h"

namespace kbench::scheduler {
namespace {

Load AtMost(const Load& load, std::int64_t cases) {
  if (load.cases <= cases) return load;
  Load part = load;
  const double ratio = static_cast<double>(cases) / static_cast<double>(load.cases);
  part.cases = cases;
  part.jobs = std::min(part.jobs, cases);
  part.seconds *= ratio;
  part.below_squared *= ratio;
  part.above_squared *= ratio;
  return part;
}

Load Head(const Lane& lane) { return AtMost(lane.jobs.At(0).load, 1); }

bool IsInteractive(const Lane& lane) { return lane.priority_class == PriorityClass::kInteractive; }

Load OfClass(const std::vector<Rival>& rivals, bool interactive) {
  Load load;
  for (const Rival& rival : rivals) {
    if (IsInteractive(*rival.lane) == interactive) load += rival.ahead;
  }
  return load;
}

}  // namespace

void Field::Add(const Lane& lane) {
  lanes.push_back(&lane);
  searches.emplace_back(lane.jobs);
  seconds[lane.owner][static_cast<std::size_t>(lane.priority_class)] += lane.jobs.Total().seconds;
}

double Field::BaseOf(const Lane& lane, double scale) const {
  double base = lane.owner->weighted() * scale;
  const std::array<double, 3>& waiting = seconds.at(lane.owner);
  for (std::size_t i = 0; i < static_cast<std::size_t>(lane.priority_class); ++i) {
    base += waiting[i];
  }
  return base;
}

void Field::FillBases(double scale) {
  bases.clear();
  for (const Lane* lane : lanes) bases.push_back(BaseOf(*lane, scale));
}

Field Scheduler::Competing(int pool) const {
  std::set<int> pools{pool};
  for (const WorkerState* worker : pools_[static_cast<std::size_t>(pool)]) {
    pools.insert(worker->pools.begin(), worker->pools.end());
  }
  Field field;
  for (const int one : pools) {
    for (const Lane* lane : line_.LanesOf(one)) field.Add(*lane);
  }
  field.FillBases(usage_.Scale(0));
  return field;
}

double Scheduler::ShareOf(int pool, int of) const {
  const auto& mine = pools_[static_cast<std::size_t>(pool)];
  const auto& theirs = pools_[static_cast<std::size_t>(of)];
  if (pool == of || theirs.empty()) return 1;
  const auto common = std::count_if(theirs.begin(), theirs.end(), [&](const WorkerState* worker) {
    return std::find(mine.begin(), mine.end(), worker) != mine.end();
  });
  return static_cast<double>(common) / static_cast<double>(theirs.size());
}

bool Scheduler::InteractiveTurn(int pool) const {
  const auto& workers = pools_[static_cast<std::size_t>(pool)];
  return std::any_of(workers.begin(), workers.end(),
                     [](const WorkerState* worker) { return !worker->interactive_last; });
}

Standing Scheduler::StandingIn(const JobState& job, const Part& part, Fields& fields) const {
  const auto [known, added] = fields.try_emplace(part.pool);
  if (added) known->second = Competing(part.pool);
  Field& field = known->second;
  const double scale = usage_.Scale(0);
  Standing standing;
  standing.part = &part;
  standing.rivals.reserve(field.lanes.size());
  const auto add = [&](const Lane& lane, const Load& ahead, Rule rule, Stage stage, double value) {
    if (ahead.cases == 0) return;
    standing.rivals.push_back({&lane, ahead, rule, stage, value, ShareOf(part.pool, lane.pool)});
  };
  const double own_base = field.BaseOf(*part.lane, scale);
  const auto is_own = [&](const Lane& lane) {
    return lane.owner == job.owner && lane.priority_class == job.entry.priority_class;
  };
  double begins = own_base;  // the usage of its owner when its turn has come
  bool first = true;         // of its owner and class
  for (const Lane* lane : field.lanes) {
    if (!is_own(*lane)) continue;
    const Load ahead = lane->jobs.Before(job.key);
    begins += ahead.seconds;
    first = first && ahead.cases == 0;
    add(*lane, ahead, Rule::kOwnOrder, Line::StageOf(lane->priority_class), own_base);
  }
  const Stage stage = first ? part.lane->stage : Line::StageOf(job.entry.priority_class);
  for (std::size_t i = 0; i < field.lanes.size(); ++i) {
    const Lane* lane = field.lanes[i];
    const Stage usual = Line::StageOf(lane->priority_class);
    if (is_own(*lane) || std::min(usual, lane->stage) > stage) continue;
    const double base = field.bases[i];
    // Between equal usages the owner who came first.
    const double tie = lane->owner->serial < job.owner->serial ? 1e-9 * (1 + begins) : 0;
    Load ahead;
    if (usual < stage) {
      ahead = lane->jobs.Total();
    } else if (usual == stage) {
      ahead = field.searches[i].Within(begins + tie - base);
    }
    Rule rule = usual < stage ? Rule::kClass : Rule::kOwnerUsage;
    double value = base;
    if (lane->stage < usual && ahead.cases == 0) {
      // Risen by its age, for one case.
      const bool goes_first =
          lane->stage == stage
              ? (stage == Stage::kPromoted ? lane->key < part.lane->key : base < begins + tie)
              : lane->stage < stage;
      if (goes_first) ahead = Head(*lane);
      rule = lane->stage == Stage::kPromoted ? Rule::kPromoted : Rule::kClass;
      if (lane->stage == Stage::kPromoted) value = lane->since;
      add(*lane, ahead, rule, lane->stage, value);
      continue;
    }
    add(*lane, ahead, rule, usual, value);
  }
  TakeTurns(*part.lane, stage, field, standing);
  for (const Rival& rival : standing.rivals) standing.cases += rival.ahead.cases;
  return standing;
}

void Scheduler::TakeTurns(const Lane& own, Stage stage, const Field& field,
                          Standing& standing) const {
  const double scale = usage_.Scale(0);
  const bool turn = InteractiveTurn(own.pool);
  const std::int64_t interactive = OfClass(standing.rivals, true).cases;
  if (IsInteractive(own)) {
    // At most one other case before each interactive one, this one included.
    std::int64_t left = interactive + (turn ? 0 : 1);
    std::sort(standing.rivals.begin(), standing.rivals.end(), [](const Rival& a, const Rival& b) {
      return std::tie(a.stage, a.value) < std::tie(b.stage, b.value);
    });
    for (Rival& rival : standing.rivals) {
      if (IsInteractive(*rival.lane)) continue;
      rival.ahead = AtMost(rival.ahead, left);
      left -= rival.ahead.cases;
    }
    std::erase_if(standing.rivals, [](const Rival& rival) { return rival.ahead.cases == 0; });
    return;
  }
  if (stage > Stage::kInteractive) return;  // all interactive ones go before it anyway
  // After each other case, and now if it is their turn, an interactive one.
  const std::int64_t others = OfClass(standing.rivals, false).cases + (turn ? 1 : 0);
  std::int64_t missing = others - interactive;
  for (const Lane* lane : field.lanes) {
    if (!IsInteractive(*lane) || missing <= 0) continue;
    const auto found = std::find_if(standing.rivals.begin(), standing.rivals.end(),
                                    [lane](const Rival& rival) { return rival.lane == lane; });
    const Load total = lane->jobs.Total();
    const std::int64_t had = found == standing.rivals.end() ? 0 : found->ahead.cases;
    const Load ahead = AtMost(total, had + missing);
    missing -= ahead.cases - had;
    if (found != standing.rivals.end()) {
      found->ahead = ahead;
    } else if (ahead.cases > 0) {
      standing.rivals.push_back({lane, ahead, Rule::kClass, Stage::kInteractive,
                                 field.BaseOf(*lane, scale), ShareOf(own.pool, lane->pool)});
    }
  }
}

Standing Scheduler::StandingOf(const JobState& job, Fields& fields) const {
  Standing best;
  for (const Part& part : job.parts) {
    Standing standing = StandingIn(job, part, fields);
    if (best.part == nullptr || standing.cases < best.cases) best = std::move(standing);
  }
  return best;
}

}  // namespace kbench::scheduler
