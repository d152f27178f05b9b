// attention: groups of up to 16 query rows of one head are computed exactly; every row of every
// head for small problems, else a sample that covers as many heads as the budget allows. The state
// holds the output rows of the groups.
#include <algorithm>
#include <cmath>

#include "kernels/reference/bulk.h"
#include "kernels/reference/inputs.h"
#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kTile = 64;  // key rows at a time
constexpr double kSampledFlops = 2e9;
constexpr std::int64_t kFewestGroups = 2, kMostGroups = 64;

struct Group {
  std::int64_t head = 0;           // of b * h
  std::vector<std::int64_t> rows;  // ascending, at most kPanel
};

class AttentionReference final : public KernelReference {
 public:
  AttentionReference(const Problem& problem, std::uint64_t seed)
      : KernelReference(problem, seed),
        heads_(problem.shape["h"]),
        s_(problem.shape["s"]),
        d_(problem.shape["d"]) {
    const std::int64_t kv = problem.shape["hkv"];
    share_ = kv == 0 ? 1 : heads_ / kv;
    ChooseGroups();
  }

  std::size_t StateSize() const override { return static_cast<std::size_t>(rows_ * d_); }

  void Compute(int threads) override {
    state_.assign(StateSize(), 0.0);
    ParallelFor(static_cast<std::int64_t>(groups_.size()), threads, [&](std::int64_t i) {
      const std::size_t at = static_cast<std::size_t>(i);
      ComputeGroup(groups_[at], state_.data() + offsets_[at] * d_);
    });
  }

  CheckResult Check(const void* output, int threads) const override {
    const OperandSpec& spec = output_spec();
    const std::int64_t bad = FirstNotFinite(spec.storage, output, spec.elements(), threads);
    if (bad >= 0) return NotFinite(Method(), bad);
    Errors errors;
    std::vector<double> found(static_cast<std::size_t>(d_));
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t r = 0; r < groups_[g].rows.size(); ++r) {
        const std::int64_t row = groups_[g].rows[r];
        const std::int64_t begin = (groups_[g].head * s_ + row) * d_;
        ToDoubles(spec.storage, ElementAt(spec.storage, output, begin), found.data(), d_);
        AddRow(Compare(found.data(), RowState(g, r), d_), groups_[g].head, row, &errors);
      }
    }
    errors.output_norm = std::sqrt(errors.output_norm);
    errors.reference_norm = std::sqrt(errors.reference_norm);
    return Judge(Method(), errors);
  }

 private:
  std::int64_t AllHeads() const { return problem_.shape["b"] * heads_; }
  std::string Method() const { return rows_ == AllHeads() * s_ ? "full" : "rows"; }
  const double* RowState(std::size_t group, std::size_t row) const {
    return state_.data() + (offsets_[group] + static_cast<std::int64_t>(row)) * d_;
  }

  void ChooseGroups() {
    const KernelEntry& entry = *FindKernel("attention");
    const bool all =
        entry.flops(problem_) < kMostFullFlops && output_spec().elements() <= kMostFullElements;
    const double one = 4.0 * static_cast<double>(s_) * static_cast<double>(d_) * kPanel;
    const std::int64_t affordable =
        std::clamp(static_cast<std::int64_t>(kSampledFlops / one), kFewestGroups, kMostGroups);
    const std::int64_t heads = all ? AllHeads() : std::min(AllHeads(), affordable);
    const std::int64_t rows = all ? s_ : std::min(s_, affordable / heads * kPanel);
    for (std::int64_t head : SampleIndices(AllHeads(), heads, seed_, kRowStream)) {
      const std::uint32_t stream = kVectorStream + static_cast<std::uint32_t>(head);
      const std::vector<std::int64_t> chosen = SampleIndices(s_, rows, seed_, stream);
      for (std::size_t i = 0; i < chosen.size(); i += kPanel) {
        const std::size_t end = std::min<std::size_t>(chosen.size(), i + kPanel);
        Group group{head, {}};
        for (std::size_t j = i; j < end; ++j) group.rows.push_back(chosen[j]);
        offsets_.push_back(rows_);
        rows_ += static_cast<std::int64_t>(group.rows.size());
        groups_.push_back(std::move(group));
      }
    }
  }

  // `from` of operand `operand` as doubles: rows [row, row + count) of a head.
  void Load(int operand, std::int64_t head, std::int64_t row, std::int64_t count,
            double* to) const {
    InputValues(operands_[static_cast<std::size_t>(operand)], operand, seed_,
                (head * s_ + row) * d_, count * d_, to);
  }

  std::int64_t KeyHead(std::int64_t head) const { return head / share_; }
  // How many keys a query row sees.
  std::int64_t Visible(std::int64_t row) const { return problem_.shape.causal ? row + 1 : s_; }

  void ComputeGroup(const Group& group, double* out) const {
    const std::int64_t visible = Visible(group.rows.back());
    std::vector<double> scores = Scores(group, visible);
    double inverse[kPanel] = {};
    Normalise(group, visible, &scores, inverse);
    // Output transposed: d x kPanel += V^T (d x keys) * probabilities (keys x kPanel).
    std::vector<double> sums(static_cast<std::size_t>(d_ * kPanel));
    std::vector<double> tile(static_cast<std::size_t>(kTile * d_)), turned(tile.size());
    for (std::int64_t key = 0; key < visible; key += kTile) {
      const std::int64_t count = std::min(kTile, visible - key);
      Load(2, KeyHead(group.head), key, count, tile.data());
      for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t j = 0; j < d_; ++j) {
          turned[static_cast<std::size_t>(j * kTile + i)] =
              tile[static_cast<std::size_t>(i * d_ + j)];
        }
      }
      PanelMultiply(turned.data(), kTile, d_, count, scores.data() + key * kPanel, sums.data());
    }
    for (std::size_t r = 0; r < group.rows.size(); ++r) {
      for (std::int64_t j = 0; j < d_; ++j) {
        out[static_cast<std::int64_t>(r) * d_ + j] =
            sums[static_cast<std::size_t>(j * kPanel) + r] * inverse[r];
      }
    }
  }

  // Q K^T / sqrt(d): visible x kPanel, unused columns 0.
  std::vector<double> Scores(const Group& group, std::int64_t visible) const {
    std::vector<double> panel(static_cast<std::size_t>(d_ * kPanel));
    std::vector<double> tile(static_cast<std::size_t>(kTile * d_));
    const double scale = 1 / std::sqrt(static_cast<double>(d_));
    for (std::size_t r = 0; r < group.rows.size(); ++r) {
      Load(0, group.head, group.rows[r], 1, tile.data());
      for (std::int64_t j = 0; j < d_; ++j) {
        panel[static_cast<std::size_t>(j * kPanel) + r] = tile[static_cast<std::size_t>(j)] * scale;
      }
    }
    std::vector<double> scores(static_cast<std::size_t>(visible * kPanel));
    for (std::int64_t key = 0; key < visible; key += kTile) {
      const std::int64_t count = std::min(kTile, visible - key);
      Load(1, KeyHead(group.head), key, count, tile.data());
      PanelMultiply(tile.data(), d_, count, d_, panel.data(), scores.data() + key * kPanel);
    }
    return scores;
  }

  // Exponentials in place, 0 where a row does not see; the inverse of their sums.
  void Normalise(const Group& group, std::int64_t visible, std::vector<double>* scores,
                 double* inverse) const {
    std::vector<double> column(static_cast<std::size_t>(visible));
    for (std::size_t r = 0; r < group.rows.size(); ++r) {
      const std::int64_t seen = Visible(group.rows[r]);
      for (std::int64_t key = 0; key < seen; ++key) {
        column[static_cast<std::size_t>(key)] =
            (*scores)[static_cast<std::size_t>(key * kPanel) + r];
      }
      const double largest = *std::max_element(column.begin(), column.begin() + seen);
      for (std::int64_t key = 0; key < seen; ++key)
        column[static_cast<std::size_t>(key)] -= largest;
      ExpInPlace(column.data(), seen);
      std::fill(column.begin() + seen, column.end(), 0.0);
      inverse[r] = 1 / Sum(column.data(), seen);
      for (std::int64_t key = 0; key < visible; ++key) {
        (*scores)[static_cast<std::size_t>(key * kPanel) + r] =
            column[static_cast<std::size_t>(key)];
      }
    }
  }

  // A row whose values happen to cancel is held to the size such rows have.
  void AddRow(const Difference& row, std::int64_t head, std::int64_t index, Errors* errors) const {
    const double usual = 1 / std::sqrt(3.0 * static_cast<double>(Visible(index)));
    const double error = row.largest_error / std::max(row.largest_reference, usual);
    errors->output_norm += row.squared_output;
    errors->reference_norm += row.squared_reference;
    if (error <= errors->relative) return;
    errors->relative = error;
    errors->where = "batch " + std::to_string(head / heads_) + ", head " +
                    std::to_string(head % heads_) + ", row " + std::to_string(index);
  }

  std::int64_t heads_, s_, d_;
  std::int64_t share_ = 1;  // query heads to a key head
  std::vector<Group> groups_;
  std::vector<std::int64_t> offsets_;  // of each group, in rows
  std::int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<KernelReference> MakeAttentionReference(const Problem& problem,
                                                        std::uint64_t seed) {
  return std::make_unique<AttentionReference>(problem, seed);
}

}  // namespace kbench::reference
