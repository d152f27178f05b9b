// Times of many operations, and a line about them. Not thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::load {

double Now();  // steady, seconds

class Times {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  void Add(const Times& other);
  bool empty() const { return seconds_.empty(); }
  std::size_t size() const { return seconds_.size(); }
  // 0 to 1; of nothing: 0.
  double Quantile(double q) const;
  double Median() const { return Quantile(0.5); }
  double P99() const { return Quantile(0.99); }
  double Max() const { return Quantile(1); }

 private:
  std::vector<double> seconds_;
};

// Prints "  what: figure" with its bound, and remembers whether any was missed.
class Verdicts {
 public:
  // A bound that counts only where the figures are asked for (not in the small version).
  explicit Verdicts(bool judge) : judge_(judge) {}
  void AtMost(const std::string& what, double value, double bound, const std::string& unit);
  void AtLeast(const std::string& what, double value, double bound, const std::string& unit);
  // Always counts.
  void Must(const std::string& what, bool good);
  static void Say(const std::string& text);
  bool good() const { return good_; }

 private:
  void Judge(const std::string& line, bool good);
  bool judge_;
  bool good_ = true;
};

}  // namespace kbench::load
