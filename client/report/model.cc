#include "client/report/model.h"

#include "proto/support/error.h"

namespace kbench::client {

absl::StatusOr<std::unique_ptr<const RoiModel>> BuildRoi(
    const std::vector<kbench::v1::Result>& results, const std::string& device) {
  auto model = std::make_unique<RoiModel>();
  KB_ASSIGN_OR_RETURN(model->evidence, Gather(results, device));
  model->series = SeriesOf(model->evidence);
  model->regimes = RegimesOf(model->series);
  model->figures = FiguresOf(model->evidence);
  model->ratios = RatiosOf(model->evidence);
  model->claims = RegimeClaimsOf(model->regimes);
  model->launch_costs = LaunchCostsOf(model->series);
  model->launch_path = LaunchPathPrices(model->series);
  model->generator = GeneratorPrices(model->series);
  model->truncations = TruncationsOf(model->evidence);
  return std::unique_ptr<const RoiModel>(std::move(model));
}

}  // namespace kbench::client
