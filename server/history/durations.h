// How long a case holds its device, from how long such cases took before: by kernel, dtype, shape,
// mode, device and the implementations it runs. Pure; not thread-safe: owned by the coordinator,
// which feeds it.
//
// A case's time is shared out among its implementations, in proportion to what is known of each, so
// that the time of another choice of them can be told. Where they are unknown: the same case with
// whatever it ran, then the nearest size of the same kernel and dtype (times the square root of the
// ratio of their work: much of a case is independent of it), then the kernel on that device, then
// the kernel anywhere, then a default. Newer cases count more.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace kbench::history {

struct CaseKey {
  std::string kernel, dtype, shape, mode, device;  // canonical shape; device "": not known
  std::vector<std::string> implementations;        // none: not known
};

struct Duration {
  double seconds = 0;
  double low = 0;  // what to expect: low <= seconds <= high
  double high = 0;
  enum class Basis { kSame, kSize, kKernel, kDefault } basis = Basis::kDefault;
};

class Durations {
 public:
  void Record(const CaseKey& key, double seconds);
  // At most `most_seconds` where it is not known from the case itself; 0: no limit.
  Duration Of(const CaseKey& key, double most_seconds = 0) const;

 private:
  struct Series {
    double mean = 0;
    double spread = 0;  // mean distance to the mean
    int count = 0;
    void Add(double seconds);
    Duration As(double factor, double width, Duration::Basis basis) const;
  };
  // kernel, dtype, shape, mode, device, implementation
  using Cell =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::string>;
  // kernel, dtype, mode, device
  using Family = std::tuple<std::string, std::string, std::string, std::string>;

  static Cell CellOf(const CaseKey& key, const std::string& implementation);
  static Family FamilyOf(const CaseKey& key);
  const Series* Find(const Cell& cell) const;
  bool FromCells(const CaseKey& key, Duration& duration) const;
  bool FromSizes(const CaseKey& key, Duration& duration) const;

  std::map<Cell, Series> cells_;  // with an empty implementation: the whole case
  std::map<Family, std::map<double, Series>> sizes_;                      // by work
  std::map<std::pair<std::string, std::string>, Series> kernel_devices_;  // kernel, device
  std::map<std::string, Series> kernels_;
};

}  // namespace kbench::history
