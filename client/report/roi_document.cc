#include "client/report/roi_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "client/output/units.h"
#include "client/report/environment_section.h"
#include "client/report/plots.h"
#include "client/report/roi_tables.h"

namespace kbench::client {
namespace {

using kbench::v1::Result;

std::string VersionText(const RoiModel& model) {
  const std::string& version = model.evidence.environment.kbench_version();
  return version.empty() ? "" : " " + version;
}

std::string CountText(const std::map<Judgement, int>& counts) {
  std::string text;
  for (const Judgement judgement :
       {Judgement::kReproduced, Judgement::kDirection, Judgement::kNotReproduced,
        Judgement::kPartly, Judgement::kUndecided, Judgement::kNotMeasured}) {
    const auto found = counts.find(judgement);
    if (found == counts.end()) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", found->second, JudgementName(judgement));
  }
  return text;
}

// The four regimes, a sentence each: the judgement of each series.
std::string FourText(const RoiModel& model, int number) {
  std::map<Judgement, int> counts;
  std::string name;
  std::string claim;
  int series = 0;
  for (const RegimeClaim& one : model.claims) {
    if (one.number != number) continue;
    name = one.name;
    claim = one.claim;
    if (one.series != nullptr) ++series;
    ++counts[one.judgement];
  }
  if (series == 0) return fmt::format("{} ({}): not measured.", name, claim);
  return fmt::format("{} ({}): of {}, {}.", name, claim, FormatCount(series, "series", "series"),
                     CountText(counts));
}

std::string RowsText(const RoiModel& model) {
  int ok = 0;
  int valid = 0;
  const auto rows = model.evidence.AllRows();
  for (const Result* row : rows) {
    if (row->outcome() != kbench::v1::OUTCOME_OK) continue;
    ++ok;
    if (row->verdict() == kbench::v1::VERDICT_VALID) ++valid;
  }
  return fmt::format("{} of {}: {} OK, {} of them VALID.",
                     FormatCount(static_cast<long>(rows.size()), "row", "rows"),
                     FormatCount(static_cast<long>(model.evidence.cases.size()), "case", "cases"),
                     ok, valid);
}

std::string CardText(const RoiModel& model) {
  if (model.evidence.environment.device_name() == kEssayDevice) {
    return "This is the essay's card, so its figures are held against ours within 10%.";
  }
  return fmt::format(
      "The essay measured one NVIDIA L4; this is {}. Its figures are not expected again: what is "
      "judged is what it claims, the ratio of two implementations and the regime.",
      DeviceText(model.evidence));
}

ReportSection Short(const RoiModel& model, const RoiSource& source) {
  ReportSection section{"In short", "short", {}};
  std::map<Judgement, int> ratios;
  for (const EssayRatio& one : model.ratios) ++ratios[one.judgement];
  Bullets bullets;
  bullets.items = {CardText(model), fmt::format("The essay's {} ratios: {}.", model.ratios.size(),
                                                CountText(ratios))};
  for (int number = 1; number <= 4; ++number) bullets.items.push_back(FourText(model, number));
  if (const std::string text = TruncationSentence(model.truncations); !text.empty()) {
    bullets.items.push_back("matmul tf32: " + text);
  }
  bullets.items.push_back(RowsText(model));
  section.blocks.emplace_back(bullets);
  std::vector<std::string> notes = source.notes;
  notes.insert(notes.end(), model.evidence.notes.begin(), model.evidence.notes.end());
  if (!notes.empty()) section.blocks.emplace_back(Bullets{notes});
  return section;
}

ReportSection Regimes(const RoiModel& model) {
  ReportSection section{"The four regimes", "regimes", {}};
  section.blocks.emplace_back(ClaimTable(model));
  section.blocks.emplace_back(
      Paragraph{"Speeds are those of Triton: above 1x it is faster. Small sizes are those at "
                "which the launch decides for CUDA too; they go by the time from a call to its "
                "end, the others by device time. Of the memory-bound sizes those from the "
                "boundary on are large; where the data hold none, the largest is. Compute-bound "
                "is matmul, held against cuBLAS."});
  ReportTable where = BoundaryTable(model);
  where.title = "Where they lie";
  section.blocks.emplace_back(std::move(where));
  ReportTable launch = LaunchEndTable(model);
  launch.title = "The first size at which its own launch no longer decides";
  section.blocks.emplace_back(std::move(launch));
  section.blocks.emplace_back(Paragraph{fmt::format(
      "The launch decides while kbench calls the row launch-bound, or the whole interval of a "
      "call is more than {:g} times as long as the device works. Memory or arithmetic: by the "
      "larger share of a roof, of the fastest row. Not behind: the whole interval above 1/{:g}, "
      "half of the essay's loss of 5%, at this size and all larger ones that are memory-bound.",
      kLaunchFactor, 1 + kTieMargin)});
  return section;
}

ReportSection Cells(const RoiModel& model) {
  ReportSection section{"The essay's cells", "cells", {}};
  section.blocks.emplace_back(FigureTable(model));
  ReportTable ratios = EssayRatioTable(model);
  ratios.title = "What it claims";
  section.blocks.emplace_back(std::move(ratios));
  section.blocks.emplace_back(Paragraph{fmt::format(
      "Reproduced: the whole interval within a factor of {:g} of the essay's ratio and on its "
      "side of a tie (within {:g}). Direction only: on its side, of another size. Not "
      "reproduced: the whole interval on another side. Undecided: the interval reaches over a "
      "border, or there is none. Rows of one case are paired by round; a ratio across dtypes "
      "goes from end to end of both intervals. Attention is b=1,h=16,s=8192,d=64: the essay "
      "gives the length alone.",
      kFactor, 1 + kTieMargin)});
  return section;
}

ReportSection Sizes(const RoiModel& model) {
  ReportSection section{"Speed by size", "sizes", {}};
  if (std::string svg = RatioPlot(model.regimes, model.evidence.cpu()); !svg.empty()) {
    section.blocks.emplace_back(
        Plot{std::move(svg),
             "Device time, cold; bars are 95% intervals, most of them smaller than the marks. "
             "Above the dashed line is faster than the reference."});
  }
  for (const SeriesRegimes& one : model.regimes) {
    section.blocks.emplace_back(SeriesTable(model, one));
  }
  section.blocks.emplace_back(Paragraph{
      "The first column of times is the reference; the others are speeds against it, with the "
      "fastest row of each kind. A star: the number is not VALID, the reason stands below."});
  return section;
}

// An empty launch, as calibration timed it.
std::string FloorText(const RoiModel& model) {
  double null_kernel = 0;
  double event = 0;
  for (const Result* row : model.evidence.AllRows()) {
    null_kernel = std::max(null_kernel, row->null_kernel_seconds());
    event = std::max(event, row->event_floor_seconds());
  }
  std::string text =
      "The smallest size of each series. Host submit: what enqueueing one launch costs the "
      "caller; end to end: a call until it is synchronised, on an idle queue with warm caches. "
      "Stands apart: the end-to-end interval does not meet the reference's.";
  if (null_kernel > 0) {
    text += fmt::format(" An empty kernel takes {} on this device, an empty pair of events {}.",
                        FormatSeconds(null_kernel), FormatSeconds(event));
  }
  return text;
}

// The essay's floor beside ours, an absolute figure like the others.
std::string EssayFloorText(const RoiModel& model) {
  std::string here;
  for (const Role role : {Role::kHand, Role::kTorch, Role::kTriton, Role::kTritonAot}) {
    const LaunchCost* floor = FloorOf(model.launch_costs, role);
    if (floor == nullptr) continue;
    here += fmt::format("{}{} {}", here.empty() ? "" : ", ", RoleName(role, model.evidence.cpu()),
                        SecondsText(EndToEndOf(*floor->row)));
  }
  return fmt::format("The essay's launch floor is 50-100 us. Here a call takes at least: {}.",
                     here.empty() ? "not measured" : here);
}

ReportSection Launches(const RoiModel& model) {
  ReportSection section{"Launch costs", "launches", {}};
  if (std::string svg = LaunchPlot(model.launch_costs, model.evidence.cpu()); !svg.empty()) {
    section.blocks.emplace_back(
        Plot{std::move(svg), "Times on a logarithmic axis; bars are 95% intervals."});
  }
  section.blocks.emplace_back(LaunchTable(model));
  section.blocks.emplace_back(Paragraph{EssayFloorText(model)});
  section.blocks.emplace_back(Paragraph{FloorText(model)});
  return section;
}

ReportSection Prices(const RoiModel& model) {
  ReportSection section{"What Triton's parts cost", "prices", {}};
  const auto add = [&](ReportTable table, const char* title, const char* missing,
                       const std::string& rule) {
    table.title = title;
    if (table.rows.empty()) {
      section.blocks.emplace_back(Paragraph{fmt::format("{}: not measured: {}.", title, missing)});
      return;
    }
    section.blocks.emplace_back(std::move(table));
    section.blocks.emplace_back(Paragraph{rule});
  };
  add(LaunchPathTable(model.launch_path), "Python's launch path: triton minus triton-aot",
      "no case has both, of one variant",
      "The same kernel, launched from Python and from C++: differences of the medians, from end "
      "to end of both intervals. At the smallest, the essay's and the largest sizes of each "
      "series.");
  add(GeneratorTable(model.generator), "The code generator: triton-aot against CUDA",
      "no case has both",
      "Both launched from C++: Triton's code beside the one written by hand, paired by round.");
  return section;
}

ReportSection Shares(const RoiModel& model) {
  ReportSection section{"Shares of peak", "roofs", {}};
  if (std::string svg = RooflinePlot(model.series, model.evidence.cpu()); !svg.empty()) {
    section.blocks.emplace_back(Plot{
        std::move(svg),
        "Roofs follow from the rows' shares: dashed by the datasheet, solid as this device was "
        "measured. Large marks: the largest size of each series; marks of one size stand side by "
        "side. A memory-bound kernel whose data lie in a cache may stand above "
        "the memory's roof."});
  }
  section.blocks.emplace_back(ShareTable(model));
  return section;
}

ReportSection Truncated(const RoiModel& model) {
  ReportSection section{"tf32: rounded or truncated", "tf32", {}};
  if (model.truncations.empty()) {
    section.blocks.emplace_back(Paragraph{"matmul tf32 was not measured."});
    return section;
  }
  section.blocks.emplace_back(Paragraph{TruncationSentence(model.truncations)});
  section.blocks.emplace_back(TruncationTable(model.truncations));
  section.blocks.emplace_back(
      Paragraph{"Rounding to tf32 errs by at most 2^-11 of a number, and a product of rounded "
                "inputs stays below that in the norm; truncation errs by up to 2^-10, always "
                "towards zero. So an error above 2^-11 and up to 2^-9 shows truncated inputs."});
  return section;
}

ReportSection Code(const RoiModel& model) {
  ReportSection section{"Lines of code", "code", {}};
  section.blocks.emplace_back(CodeTable(model));
  section.blocks.emplace_back(Paragraph{
      "Counted when this client was built: lines of the implementation's files that hold more "
      "than blanks and comments. A file that holds variants counts whole for each. Device "
      "headers are those it includes, which others may share; triton-aot is compiled from "
      "Triton's file."});
  return section;
}

ReportSection Compiles(const RoiModel& model) {
  ReportSection section{"Compiling and tuning", "compile", {}};
  ReportTable table = CompileTable(model);
  if (table.rows.empty()) {
    section.blocks.emplace_back(Paragraph{"Nothing was compiled or tuned while it was measured."});
    return section;
  }
  section.blocks.emplace_back(std::move(table));
  section.blocks.emplace_back(
      Paragraph{"Sums over the cases, apart from each other and from every time above."});
  return section;
}

ReportSection Rows(const RoiModel& model) {
  ReportSection section{"Rows", "rows", {}};
  ReportTable exceptions = ExceptionTable(model);
  section.blocks.emplace_back(
      Paragraph{RowsText(model) + (exceptions.rows.empty() ? "" : " The others, and why:")});
  if (!exceptions.rows.empty()) section.blocks.emplace_back(std::move(exceptions));
  section.blocks.emplace_back(RowTable(model));
  return section;
}

}  // namespace

Document RoiDocument(const RoiModel& model, const RoiSource& source) {
  Document document;
  document.title = "What abstractions cost on " + DeviceText(model.evidence);
  const std::string when = WhenText(model.evidence);
  document.subtitle =
      fmt::format("CUDA, libraries, torch and Triton side by side, measured by kbench{}{}",
                  VersionText(model), when.empty() ? "" : ", " + when);
  document.sections = {Short(model, source), Regimes(model),   Cells(model),
                       Sizes(model),         Launches(model),  Prices(model),
                       Shares(model),        Truncated(model), Code(model),
                       Compiles(model),      Rows(model),      EnvironmentSection(model, source)};
  return document;
}

}  // namespace kbench::client
