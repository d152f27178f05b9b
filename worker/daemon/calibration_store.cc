#include "worker/daemon/calibration_store.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fmt/format.h"
#include "google/protobuf/struct.pb.h"
#include "proto/support/json.h"
#include "proto/support/paths.h"

namespace kbench {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

constexpr std::int64_t kFreshMicros = 24ll * 3600 * 1'000'000;

const Value& Field(const Struct& object, const std::string& name) {
  static const Value* const none = new Value;
  const auto found = object.fields().find(name);
  return found == object.fields().end() ? *none : found->second;
}

std::int64_t Micros(const Struct& object, const std::string& name) {
  return static_cast<std::int64_t>(Field(object, name).number_value());
}

}  // namespace

StoredCalibration CalibrationStore::Load(std::int64_t now_micros) const {
  StoredCalibration stored;
  std::ifstream file(path_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Struct object;
  if (!FromFrame(text, &object).ok() || Field(object, "key").string_value() != key_) return stored;
  for (const Value& value : Field(object, "sessions").list_value().values()) {
    const Struct& session = value.struct_value();
    stored.sessions.push_back({Field(session, "cell").string_value(),
                               Field(session, "log_median").number_value(),
                               Field(session, "within_variance").number_value()});
  }
  stored.last_session_micros = Micros(object, "last_session_micros");
  stored.measured_micros = Micros(object, "measured_micros");
  const std::int64_t age = now_micros - stored.measured_micros;
  v1::Calibration calibration;
  const auto frame = ToFrame(Field(object, "calibration").struct_value());
  if (age >= 0 && age < kFreshMicros && frame.ok() && FromFrame(*frame, &calibration).ok() &&
      calibration.passed()) {
    stored.calibration = std::move(calibration);
  }
  return stored;
}

absl::Status CalibrationStore::Save(const StoredCalibration& stored) const {
  if (!stored.calibration || !stored.calibration->passed()) {
    return absl::FailedPreconditionError("only a calibration that passed is kept");
  }
  Value key;
  key.set_string_value(key_);
  auto text = fmt::format(
      R"({{"key":{},"measured_micros":{},"last_session_micros":{},"calibration":{},"sessions":[)",
      ToJsonLine(key), stored.measured_micros, stored.last_session_micros,
      ToJsonLine(*stored.calibration));
  for (std::size_t i = 0; i < stored.sessions.size(); ++i) {
    const CanarySession& session = stored.sessions[i];
    fmt::format_to(std::back_inserter(text),
                   R"({}{{"cell":"{}","log_median":{:.17g},"within_variance":{:.9g}}})",
                   i == 0 ? "" : ",", session.cell, session.log_median, session.within_variance);
  }
  text += "]}\n";
  const std::filesystem::path path(path_);
  if (absl::Status status = EnsureWritableDir(path.parent_path()); !status.ok()) return status;
  const std::string temporary = path_ + ".tmp";
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << text;
    if (!file.flush()) return absl::InternalError("cannot write " + temporary);
  }
  if (std::rename(temporary.c_str(), path_.c_str()) != 0) {
    return absl::InternalError("cannot rename " + temporary + ": " + std::strerror(errno));
  }
  return absl::OkStatus();
}

std::string MachineBootId() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace kbench
