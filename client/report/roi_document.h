// The report about abstractions, in words, tables and plots. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "client/report/document.h"
#include "client/report/model.h"

namespace kbench::client {

// What the results alone do not tell.
struct RoiSource {
  std::string again;               // the command that measures it again
  std::string same;                // the one that makes it of the same results; may be empty
  std::vector<std::string> notes;  // a sentence each
};

Document RoiDocument(const RoiModel& model, const RoiSource& source);

}  // namespace kbench::client
