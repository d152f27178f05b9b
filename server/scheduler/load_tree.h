// The waiting jobs of one lane in their own order, with sums over any first part of them: an
// augmented treap. Every operation costs O(log n); nothing is ever walked. Pure; owned by its lane
// (line.h), not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

namespace kbench::scheduler {

struct JobState;

// What waits: of one job, or of several together.
struct Load {
  std::int64_t jobs = 0;
  std::int64_t cases = 0;
  double seconds = 0;  // estimated device time
  // Sums of squared distances to the lower and upper estimates: errors of single cases partly
  // cancel out.
  double below_squared = 0;
  double above_squared = 0;
  double since = 0;  // since when the one waits that has waited longest

  Load& operator+=(const Load& other);
  friend bool operator==(const Load&, const Load&) = default;
};

// The order among the jobs of one owner and class: the higher priority, then the lower `turn` (see
// scheduler.h), then the order of submission.
struct OwnKey {
  int priority = 0;
  double turn = 0;
  std::int64_t order = 0;
  std::int64_t serial = 0;  // tells two jobs apart, whatever they say

  friend bool operator<(const OwnKey& a, const OwnKey& b) {
    return std::tuple(-a.priority, a.turn, a.order, a.serial) <
           std::tuple(-b.priority, b.turn, b.order, b.serial);
  }
  friend bool operator==(const OwnKey&, const OwnKey&) = default;
};

class LoadTree {
 public:
  LoadTree();
  ~LoadTree();
  LoadTree(const LoadTree&) = delete;
  LoadTree& operator=(const LoadTree&) = delete;

  // Inserts, or replaces what stands under the key.
  void Put(const OwnKey& key, JobState* job, const Load& load);
  void Erase(const OwnKey& key);

  bool empty() const { return root_ == nullptr; }
  Load Total() const;
  Load Before(const OwnKey& key) const;  // what goes first
  // The cases that begin within the first `seconds` when all run one after the other; of a job that
  // is cut in two, as many as its mean case says.
  Load Within(double seconds) const;
  class Search;

  struct Entry {
    JobState* job = nullptr;
    OwnKey key;
    Load load;
    Load before;  // of those that go first
  };
  Entry At(std::int64_t index) const;  // 0 is the first, at hand; below Total().jobs

 private:
  struct Node;
  using Link = std::unique_ptr<Node>;
  static void Sum(Node& node);
  static void Split(Link tree, const OwnKey& key, Link& before, Link& rest);
  static Link Merge(Link left, Link right);
  static bool Replace(Node* node, const OwnKey& key, const Load& load);
  static Link Without(Link tree, const OwnKey& key);
  static Load Cut(const Load& load, double seconds);
  void FindFirst();

  Link root_;
  const Node* first_ = nullptr;  // asked for most: not worth a search each time
  std::uint64_t random_ = 0x9e3779b97f4a7c15u;
};

// Within() for many times near each other, as those of the jobs of one page are: each search begins
// where the last one ended. The answers are the same. Of no use once the tree has changed.
class LoadTree::Search {
 public:
  explicit Search(const LoadTree& tree) : tree_(&tree) {}
  Load Within(double seconds);

 private:
  // A node on the way, and the times for which the way leads there: above `above`, up to `up_to`.
  struct Step {
    const Node* node = nullptr;
    Load before;  // of what goes before its subtree
    double above = 0;
    double up_to = 0;
  };

  const LoadTree* tree_;
  bool asked_ = false;  // for one time alone a plain search is cheaper
  std::vector<Step> way_;
};

}  // namespace kbench::scheduler
