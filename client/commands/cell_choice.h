// Which cell of the history a person means: KERNEL DTYPE SIZE and the options beside them, against
// what is recorded. What history, why and baseline share; used from one thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/arguments.h"
#include "client/backend.h"
#include "kbench/v1/history_service.pb.h"

namespace kbench::client {

struct CellWords {
  std::vector<std::string> what;  // KERNEL DTYPE SIZE, or the first of them
  std::string implementation;     // a name or a family; empty: any
  std::string mode;               // empty: any
  std::string device;             // its stable name; empty: any

  // The options; the words are declared by the verb.
  void DeclareOptions(Arguments& arguments);
  // The first option that was given, empty where none was.
  std::string FirstGiven() const;
};

// Whether the word is its name, or its family in the same environment; empty: any.
bool MeansImplementation(const std::string& asked, const std::string& implementation);

// The words as a filter, the size as its canonical shape. An error says which word is wrong and
// what would be right. The implementation is not in it: a family has several.
absl::StatusOr<kbench::v1::CellKey> FilterOf(const CellWords& words);

// The cells recorded, those in doubt first. NOT_FOUND says what there is instead of what was named;
// none at all is no error where `states` or `pinned` took them all, or no word was given.
absl::StatusOr<std::vector<kbench::v1::CellState>> FindCells(
    const Backend& backend, const CellWords& words,
    const std::vector<kbench::v1::RegressionState>& states = {}, bool pinned = false);

// Where several are left, which is meant beside what was said: those that `prefer` holds for if
// there are any, and of them, without --mode, the cold ones if there are any. More than one is an
// error that names them and the options that tell them apart.
using Prefer = bool (*)(const kbench::v1::CellState& state);
absl::StatusOr<kbench::v1::CellState> ChooseCell(std::vector<kbench::v1::CellState> cells,
                                                 const CellWords& words, Prefer prefer);
bool IsInDoubt(const kbench::v1::CellState& state);
bool IsPinned(const kbench::v1::CellState& state);
bool NobodyPreferred(const kbench::v1::CellState& state);

}  // namespace kbench::client
