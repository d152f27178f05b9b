// Which candidate is the fastest, found by successive halving: each is timed once, those of the
// slower half that are clearly behind are dropped, the rest are timed more, and so on. Every other
// round goes through them backwards, so that a clock that drifts favours nobody. Time is an
// argument: pure. Used from one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace kbench::tuning {

class Halving {
 public:
  static constexpr std::size_t kRounds = 8;

  // `candidates`: how many, the best guess first. After `max_seconds` nothing more is asked for.
  Halving(std::size_t candidates, double max_seconds);

  struct Trial {
    std::size_t candidate = 0;
    int samples = 1;
  };
  // What to time next; nothing when it is decided, or when the time is over.
  std::optional<Trial> Next(double elapsed_seconds);
  // The samples of that trial, seconds; none: it failed, and is out.
  void Report(const std::vector<double>& samples);

  // The fastest so far by the median of all of its samples, the best guess among those that are as
  // fast within half a percent; nothing when none was timed.
  std::optional<std::size_t> Best() const;
  int timed() const;  // candidates that gave a time
  bool decided() const { return round_ >= kRounds; }

 private:
  struct Candidate {
    std::vector<double> samples;
    bool in = true;
  };
  double MedianOf(std::size_t candidate) const;
  std::size_t Turn() const;  // the candidate whose turn it is
  void EndRound();

  const double max_seconds_;
  std::vector<Candidate> candidates_;
  std::size_t round_ = 0;
  std::size_t at_ = 0;  // of the round's turns
};

}  // namespace kbench::tuning
