// Everything the report about abstractions says, as numbers. Built once from results; pure.
// Thread-safe once built.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/report/costs.h"
#include "client/report/essay.h"
#include "client/report/evidence.h"
#include "client/report/regimes.h"
#include "client/report/series.h"
#include "client/report/truncation.h"

namespace kbench::client {

// Its parts point into each other, so it stays where it was built.
struct RoiModel {
  RoiModel() = default;
  RoiModel(const RoiModel&) = delete;
  RoiModel& operator=(const RoiModel&) = delete;

  Evidence evidence;
  std::vector<Series> series;
  std::vector<SeriesRegimes> regimes;
  std::vector<EssayFigure> figures;
  std::vector<EssayRatio> ratios;
  std::vector<RegimeClaim> claims;
  std::vector<LaunchCosts> launch_costs;
  std::vector<Price> launch_path;
  std::vector<Price> generator;
  std::vector<Truncation> truncations;
};

// Errors as of Gather.
absl::StatusOr<std::unique_ptr<const RoiModel>> BuildRoi(
    const std::vector<kbench::v1::Result>& results, const std::string& device);

}  // namespace kbench::client
