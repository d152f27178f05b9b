#include "server/scheduler/load_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kbench::scheduler {

Load& Load::operator+=(const Load& other) {
  if (other.jobs == 0) return *this;
  since = jobs == 0 ? other.since : std::min(since, other.since);
  jobs += other.jobs;
  cases += other.cases;
  seconds += other.seconds;
  below_squared += other.below_squared;
  above_squared += other.above_squared;
  return *this;
}

struct LoadTree::Node {
  OwnKey key;
  JobState* job = nullptr;
  Load load;
  Load sum;  // of the subtree
  std::uint64_t height = 0;
  Link left;
  Link right;
};

LoadTree::LoadTree() = default;
LoadTree::~LoadTree() = default;

void LoadTree::Sum(Node& node) {
  Load sum;
  if (node.left) sum += node.left->sum;
  sum += node.load;
  if (node.right) sum += node.right->sum;
  node.sum = sum;
}

void LoadTree::Split(Link tree, const OwnKey& key, Link& before, Link& rest) {
  if (!tree) {
    before.reset();
    rest.reset();
    return;
  }
  Node& node = *tree;
  Link inner;
  if (node.key < key) {
    Split(std::move(node.right), key, inner, rest);
    node.right = std::move(inner);
    Sum(node);
    before = std::move(tree);
  } else {
    Split(std::move(node.left), key, before, inner);
    node.left = std::move(inner);
    Sum(node);
    rest = std::move(tree);
  }
}

LoadTree::Link LoadTree::Merge(Link left, Link right) {
  if (!left) return right;
  if (!right) return left;
  if (left->height > right->height) {
    left->right = Merge(std::move(left->right), std::move(right));
    Sum(*left);
    return left;
  }
  right->left = Merge(std::move(left), std::move(right->left));
  Sum(*right);
  return right;
}

bool LoadTree::Replace(Node* node, const OwnKey& key, const Load& load) {
  if (node == nullptr) return false;
  bool found = node->key == key;
  if (found) {
    node->load = load;
  } else {
    found = Replace(key < node->key ? node->left.get() : node->right.get(), key, load);
  }
  if (found) Sum(*node);
  return found;
}

void LoadTree::Put(const OwnKey& key, JobState* job, const Load& load) {
  if (Replace(root_.get(), key, load)) return;  // the order stays
  auto node = std::make_unique<Node>();
  node->key = key;
  node->job = job;
  node->load = load;
  node->sum = load;
  // xorshift: the same run gives the same tree.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  node->height = random_;
  Link before;
  Link rest;
  Split(std::move(root_), key, before, rest);
  root_ = Merge(Merge(std::move(before), std::move(node)), std::move(rest));
  FindFirst();
}

void LoadTree::FindFirst() {
  first_ = root_.get();
  while (first_ != nullptr && first_->left) first_ = first_->left.get();
}

LoadTree::Link LoadTree::Without(Link tree, const OwnKey& key) {
  if (!tree) return tree;
  Node& node = *tree;
  if (node.key == key) return Merge(std::move(node.left), std::move(node.right));
  Link& side = key < node.key ? node.left : node.right;
  side = Without(std::move(side), key);
  Sum(node);
  return tree;
}

void LoadTree::Erase(const OwnKey& key) {
  root_ = Without(std::move(root_), key);
  FindFirst();
}

Load LoadTree::Total() const { return root_ ? root_->sum : Load(); }

Load LoadTree::Before(const OwnKey& key) const {
  Load before;
  const Node* node = root_.get();
  while (node != nullptr) {
    if (!(node->key < key)) {
      node = node->left.get();
      continue;
    }
    if (node->left) before += node->left->sum;
    before += node->load;
    node = node->right.get();
  }
  return before;
}

// The cases of one job that begin within the time.
Load LoadTree::Cut(const Load& load, double seconds) {
  const double mean = load.seconds / static_cast<double>(load.cases);
  Load part = load;
  // A hair less, so that rounding adds no case.
  part.cases = std::clamp(static_cast<std::int64_t>(std::ceil(seconds / mean - 1e-9)),
                          std::int64_t{1}, load.cases);
  const double ratio = static_cast<double>(part.cases) / static_cast<double>(load.cases);
  part.seconds *= ratio;
  part.below_squared *= ratio;
  part.above_squared *= ratio;
  return part;
}

Load LoadTree::Within(double seconds) const {
  Load within;
  if (first_ == nullptr || seconds <= 0) return within;
  if (seconds < first_->load.seconds) return Cut(first_->load, seconds);
  const Node* node = root_.get();
  while (node != nullptr) {
    // The way down goes by the seconds alone: whole loads, copied at each step, would be most of
    // it.
    const double first = within.seconds + (node->left ? node->left->sum.seconds : 0);
    if (first >= seconds) {
      node = node->left.get();
      continue;
    }
    if (node->left) within += node->left->sum;
    if (first + node->load.seconds > seconds) {
      within += Cut(node->load, seconds - first);  // this job is the one that is cut
      return within;
    }
    within += node->load;
    node = node->right.get();
  }
  return within;
}

Load LoadTree::Search::Within(double seconds) {
  if (!std::exchange(asked_, true) || seconds <= 0 || tree_->first_ == nullptr) {
    return tree_->Within(seconds);
  }
  while (!way_.empty() && !(way_.back().above < seconds && seconds <= way_.back().up_to)) {
    way_.pop_back();
  }
  constexpr double kAny = std::numeric_limits<double>::infinity();
  if (way_.empty()) way_.push_back({tree_->root_.get(), Load(), -kAny, kAny});
  for (;;) {
    const Step at = way_.back();
    const Node& node = *at.node;
    const double first = at.before.seconds + (node.left ? node.left->sum.seconds : 0);
    if (first >= seconds) {
      if (!node.left) return at.before;
      way_.push_back({node.left.get(), at.before, at.above, first});
      continue;
    }
    Load within = at.before;
    if (node.left) within += node.left->sum;
    if (first + node.load.seconds > seconds) {
      within += Cut(node.load, seconds - first);
      return within;
    }
    within += node.load;
    if (!node.right) return within;
    way_.push_back({node.right.get(), within, first + node.load.seconds, at.up_to});
  }
}

LoadTree::Entry LoadTree::At(std::int64_t index) const {
  Entry entry;
  if (index == 0 && first_ != nullptr) return {first_->job, first_->key, first_->load, Load()};
  const Node* node = root_.get();
  while (node != nullptr) {
    const std::int64_t left = node->left ? node->left->sum.jobs : 0;
    if (index < left) {
      node = node->left.get();
      continue;
    }
    if (node->left) entry.before += node->left->sum;
    if (index == left) {
      entry.job = node->job;
      entry.key = node->key;
      entry.load = node->load;
      return entry;
    }
    entry.before += node->load;
    index -= left + 1;
    node = node->right.get();
  }
  return entry;
}

}  // namespace kbench::scheduler
