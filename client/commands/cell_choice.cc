#include "client/commands/cell_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "client/implementation_name.h"
#include "client/output/cell_words.h"
#include "kernels/catalog/catalog.h"
#include "proto/support/error.h"

namespace kbench::client {
namespace {

using kbench::v1::CellKey;
using kbench::v1::CellState;
using kbench::v1::ListCellsRequest;
using kbench::v1::ListCellsResponse;
using Cells = std::vector<CellState>;

constexpr int kPage = 1000;
constexpr std::size_t kNamed = 3;    // of what there is instead
constexpr std::size_t kListed = 12;  // of several to choose from

absl::Status WrongWord(const std::string& field, const std::string& reason,
                       const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, field + ": " + message,
                   {.reason = reason, .metadata = {}, .violations = {{field, message}}});
}

absl::Status WrongWord(const CatalogError& error) {
  std::string message = error.message;
  if (!error.nearest.empty() && message.find("nearest") == std::string::npos) {
    message += fmt::format("; nearest: {}", fmt::join(error.nearest, ", "));
  }
  return WrongWord(error.field, error.reason, message);
}

absl::Status CheckMode(const std::string& mode) {
  std::vector<std::string> names;
  for (const Mode one : {Mode::kCold, Mode::kHot, Mode::kGraph, Mode::kSteady}) {
    names.emplace_back(ModeName(one));
  }
  if (mode.empty() || std::find(names.begin(), names.end(), mode) != names.end()) {
    return absl::OkStatus();
  }
  return WrongWord("mode", "UNKNOWN_MODE",
                   fmt::format("there is no mode '{}'; take {}", mode, fmt::join(names, ", ")));
}

absl::StatusOr<Cells> ListAll(const Backend& backend, ListCellsRequest request) {
  Cells cells;
  request.set_page_size(kPage);
  do {
    KB_ASSIGN_OR_RETURN(const auto page,
                        (Unary<ListCellsResponse>(
                            backend, [&](grpc::ClientContext* call, ListCellsResponse* reply) {
                              return backend.history->ListCells(call, request, reply);
                            })));
    cells.insert(cells.end(), page.cells().begin(), page.cells().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return cells;
}

// A name goes before the family that it may be too.
void KeepImplementation(const std::string& asked, Cells* cells) {
  if (asked.empty()) return;
  const auto named = [&](const CellState& one) { return one.cell().implementation() == asked; };
  const bool exact = std::any_of(cells->begin(), cells->end(), named);
  std::erase_if(*cells, [&](const CellState& one) {
    const std::string& is = one.cell().implementation();
    return exact ? is != asked : !MeansImplementation(asked, is);
  });
}

// How much of what was named holds for a cell: the earlier words weigh more.
int Likeness(const CellKey& wanted, const std::string& implementation, const CellKey& is) {
  int likeness = 0;
  const auto count = [&](const std::string& asked, bool same) {
    likeness = 2 * likeness + (asked.empty() || same ? 1 : 0);
  };
  count(wanted.kernel(), wanted.kernel() == is.kernel());
  count(wanted.dtype(), wanted.dtype() == is.dtype());
  count(wanted.shape(), wanted.shape() == is.shape());
  count(wanted.device(), wanted.device() == is.device());
  count(wanted.mode(), wanted.mode() == is.mode());
  count(implementation, MeansImplementation(implementation, is.implementation()));
  return likeness;
}

std::string Named(const CellKey& wanted, const std::string& implementation) {
  std::string text;
  const auto add = [&](const std::string& word, const char* before = "") {
    if (!word.empty()) text += (text.empty() ? "" : " ") + (before + word);
  };
  add(wanted.kernel());
  add(wanted.dtype());
  add(wanted.shape());
  add(implementation);
  add(wanted.mode());
  add(wanted.device(), "on ");
  return text;
}

// A device alone is something on which, not of which.
std::string OfOrOn(const std::string& named) {
  return named.rfind("on ", 0) == 0 ? named : "of " + named;
}

absl::Status NothingFound(const CellKey& wanted, const std::string& implementation, Cells there) {
  std::stable_sort(there.begin(), there.end(), [&](const CellState& a, const CellState& b) {
    return Likeness(wanted, implementation, a.cell()) > Likeness(wanted, implementation, b.cell());
  });
  std::vector<std::string> names;
  for (const CellState& one : there) {
    if (names.size() < kNamed) names.push_back(CellName(one.cell()));
  }
  const std::string instead =
      names.empty() ? "; nothing is recorded at all yet: cells come with results at default "
                      "precision (no --quick) and flush"
                    : fmt::format("; there is {}{}", fmt::join(names, ", "),
                                  there.size() > kNamed ? ", ..." : "");
  return MakeError(absl::StatusCode::kNotFound,
                   "nothing is recorded " + OfOrOn(Named(wanted, implementation)) + instead,
                   {.reason = "NO_CELL", .metadata = {}, .violations = {}});
}

// The options that tell these cells apart.
std::vector<std::string> OptionsThatTell(const Cells& cells) {
  std::set<std::string> implementations;
  std::set<std::string> modes;
  std::set<std::string> devices;
  for (const CellState& one : cells) {
    implementations.insert(one.cell().implementation());
    modes.insert(one.cell().mode());
    devices.insert(one.cell().device());
  }
  std::vector<std::string> options;
  if (implementations.size() > 1) options.emplace_back("--impl");
  if (modes.size() > 1) options.emplace_back("--mode");
  if (devices.size() > 1) options.emplace_back("--on");
  return options;
}

absl::Status Several(const Cells& cells) {
  std::vector<std::string> names;
  for (const CellState& one : cells) {
    if (names.size() == kListed) break;
    const CellKey& cell = one.cell();
    names.push_back(fmt::format("{} {} on {}", cell.implementation(), cell.mode(), cell.device()));
  }
  if (names.size() < cells.size()) names.emplace_back("...");
  const CellKey& first = cells.front().cell();
  return MakeError(absl::StatusCode::kInvalidArgument,
                   fmt::format("{} {} {} has {} cells: {}; say which with {}", first.kernel(),
                               first.dtype(), TypedSize(first), cells.size(),
                               fmt::join(names, ", "), fmt::join(OptionsThatTell(cells), ", ")),
                   {.reason = "SEVERAL_CELLS", .metadata = {}, .violations = {}});
}

}  // namespace

void CellWords::DeclareOptions(Arguments& arguments) {
  arguments.Option("--on,--device", &device, "DEVICE", "Of this device, by its name (any)");
  arguments.Option("--impl", &implementation, "NAME", "Of this implementation or family (any)");
  arguments.Option("--mode", &mode, "MODE", "cold, hot, graph, steady");
}

std::string CellWords::FirstGiven() const {
  if (!device.empty()) return "--on";
  if (!implementation.empty()) return "--impl";
  return mode.empty() ? "" : "--mode";
}

bool MeansImplementation(const std::string& asked, const std::string& implementation) {
  if (asked.empty() || asked == implementation) return true;
  return EnvironmentOf(asked) == EnvironmentOf(implementation) &&
         IsOrHas(BaseOf(asked), implementation);
}

absl::StatusOr<CellKey> FilterOf(const CellWords& words) {
  const auto word = [&](std::size_t i) { return i < words.what.size() ? words.what[i] : ""; };
  CellKey filter;
  KB_RETURN_IF_ERROR(CheckMode(words.mode));
  filter.set_mode(words.mode);
  filter.set_device(words.device);
  if (words.what.empty()) return filter;
  const auto problem = MakeProblem(word(0), word(1), word(2), words.mode);
  if (!problem.ok()) {
    // A word that was left out is not wrong.
    const std::string& field = problem.error().field;
    const std::size_t given = words.what.size();
    const bool left_out = (field == "dtype" && given < 2) || (field == "size" && given < 3);
    if (!left_out) return WrongWord(problem.error());
  }
  filter.set_kernel(word(0));
  filter.set_dtype(word(1));
  if (problem.ok() && words.what.size() > 2) filter.set_shape(problem->shape.Canonical());
  return filter;
}

absl::StatusOr<Cells> FindCells(const Backend& backend, const CellWords& words,
                                const std::vector<kbench::v1::RegressionState>& states,
                                bool pinned) {
  KB_ASSIGN_OR_RETURN(const CellKey filter, FilterOf(words));
  ListCellsRequest request;
  *request.mutable_filter() = filter;
  for (const auto state : states) request.add_states(state);
  request.set_pinned_only(pinned);
  KB_ASSIGN_OR_RETURN(Cells cells, ListAll(backend, request));
  KeepImplementation(words.implementation, &cells);
  if (!cells.empty() || Named(filter, words.implementation).empty()) return cells;
  if (pinned || !states.empty()) {
    request.clear_states();
    request.set_pinned_only(false);
    KB_ASSIGN_OR_RETURN(Cells any, ListAll(backend, request));
    KeepImplementation(words.implementation, &any);
    if (!any.empty()) return cells;
  }
  KB_ASSIGN_OR_RETURN(Cells there, ListAll(backend, {}));
  return NothingFound(filter, words.implementation, std::move(there));
}

absl::StatusOr<CellState> ChooseCell(Cells cells, const CellWords& words, Prefer prefer) {
  const auto keep_some = [&](auto holds) {
    Cells kept;
    std::copy_if(cells.begin(), cells.end(), std::back_inserter(kept), holds);
    if (!kept.empty()) cells = std::move(kept);
  };
  keep_some(prefer);
  if (words.mode.empty()) {
    keep_some([](const CellState& one) { return one.cell().mode() == "cold"; });
  }
  if (cells.size() == 1) return cells.front();
  return Several(cells);
}

bool IsInDoubt(const CellState& state) {
  return state.state() == kbench::v1::SUSPECTED || state.state() == kbench::v1::CONFIRMED;
}

bool IsPinned(const CellState& state) { return state.baseline().origin() == "pinned"; }

bool NobodyPreferred(const CellState&) { return true; }

}  // namespace kbench::client
