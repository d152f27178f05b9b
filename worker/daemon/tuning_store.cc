#include "worker/daemon/tuning_store.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "google/protobuf/struct.pb.h"
#include "proto/support/json.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

// A sweep of shapes must not grow the file for ever; the oldest go.
constexpr std::size_t kMostChoices = 10000;

std::string Text(const Struct& object, const std::string& name) {
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? "" : found->second.string_value();
}

}  // namespace

TuningStore::TuningStore(std::string path, std::string device)
    : path_(std::move(path)), device_(std::move(device)) {
  std::ifstream file(path_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Struct object;
  if (!FromFrame(text, &object).ok() || Text(object, "device") != device_) return;
  const auto choices = object.fields().find("choices");
  if (choices == object.fields().end()) return;
  for (const Value& value : choices->second.list_value().values()) {
    const Struct& one = value.struct_value();
    choices_.push_back({Text(one, "cell"), Text(one, "making"), Text(one, "candidate")});
  }
}

std::string TuningStore::Find(const std::string& cell, const std::string& making) const {
  for (const Choice& choice : choices_) {
    if (choice.cell == cell && choice.making == making) return choice.candidate;
  }
  return "";
}

absl::Status TuningStore::Put(const std::string& cell, const std::string& making,
                              const std::string& candidate) {
  std::erase_if(choices_, [&](const Choice& choice) { return choice.cell == cell; });
  choices_.push_back({cell, making, candidate});
  if (choices_.size() > kMostChoices) choices_.erase(choices_.begin());
  return Save();
}

absl::Status TuningStore::Forget(const std::string& cell) {
  const auto gone =
      std::erase_if(choices_, [&](const Choice& choice) { return choice.cell == cell; });
  return gone == 0 ? absl::OkStatus() : Save();
}

absl::Status TuningStore::Forget() {
  choices_.clear();
  std::error_code error;
  std::filesystem::remove(path_, error);
  return error ? absl::InternalError("cannot remove " + path_ + ": " + error.message())
               : absl::OkStatus();
}

absl::Status TuningStore::Save() const {
  Struct object;
  (*object.mutable_fields())["device"].set_string_value(device_);
  auto& choices = *(*object.mutable_fields())["choices"].mutable_list_value();
  for (const Choice& choice : choices_) {
    auto& fields = *choices.add_values()->mutable_struct_value()->mutable_fields();
    fields["cell"].set_string_value(choice.cell);
    fields["making"].set_string_value(choice.making);
    fields["candidate"].set_string_value(choice.candidate);
  }
  const std::filesystem::path path(path_);
  if (absl::Status status = EnsureWritableDir(path.parent_path()); !status.ok()) return status;
  const std::string temporary = path_ + ".tmp";
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << ToJsonLine(object) << "\n";
    if (!file.flush()) return absl::InternalError("cannot write " + temporary);
  }
  if (std::rename(temporary.c_str(), path_.c_str()) != 0) {
    return absl::InternalError("cannot rename " + temporary + ": " + std::strerror(errno));
  }
  return absl::OkStatus();
}

}  // namespace kbench
