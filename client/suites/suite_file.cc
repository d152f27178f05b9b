#include "client/suites/suite_file.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "proto/support/utf8.h"

namespace kbench::client {
namespace {

namespace fs = std::filesystem;
using google::protobuf::TextFormat;
using kbench::v1::Suite;

constexpr char kEnding[] = ".textproto";
constexpr std::size_t kMostBytes = 1 << 20;

absl::Status FileError(const std::string& reason, const std::string& message) {
  return MakeError(absl::StatusCode::kInvalidArgument, message, {.reason = reason});
}

// The parser says what is no field; a person wants to know what is.
std::string FieldHint(const std::string& message) {
  if (message.find("has no field named") == std::string::npos) return "";
  const bool of_entry = message.find("SuiteEntry") != std::string::npos;
  const auto* type = of_entry ? kbench::v1::SuiteEntry::descriptor() : Suite::descriptor();
  std::vector<std::string> names;
  for (int i = 0; i < type->field_count(); ++i) names.push_back(type->field(i)->name());
  return fmt::format(" It has {}.", fmt::join(names, ", "));
}

// "PATH:LINE:COLUMN: message", counted from 1; the parser counts from 0, and from -1 where it knows
// no place.
class Collector final : public google::protobuf::io::ErrorCollector {
 public:
  explicit Collector(const std::string& path) : path_(path) {}

  void AddError(int line, int column, const std::string& message) override {
    violations.push_back({"", fmt::format("{}:{}:{}: {}{}", path_, line + 1,
                                          std::max(column, 0) + 1, message, FieldHint(message))});
  }

  std::vector<FieldViolation> violations;

 private:
  const std::string& path_;
};

// The first line that is not UTF-8, counted from 1; 0 where all is. Protobuf's texts are UTF-8.
int LineThatIsNotUtf8(const std::string& text) {
  const std::size_t at = FirstNoUtf8(text);
  if (at == std::string::npos) return 0;
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

absl::Status CheckName(const SuiteFile& file) {
  const std::string& name = file.suite.name();
  const bool plain = !name.empty() && name.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyz"
                                          "0123456789-_") == std::string::npos;
  if (!plain) {
    return FileError("BAD_SUITE",
                     fmt::format("{}: name: '{}' is no name of a suite; write small letters, "
                                 "digits, '-' and '_', as name: \"smoke\"",
                                 file.path, name));
  }
  const std::string stem = fs::path(file.path).stem();
  if (stem == name) return absl::OkStatus();
  return FileError("BAD_SUITE",
                   fmt::format("{}: name: a suite is found by its file's name: call it \"{}\", or "
                               "the file {}{}",
                               file.path, stem, name, kEnding));
}

}  // namespace

absl::StatusOr<SuiteFile> ParseSuite(const std::string& path, const std::string& text) {
  if (const int line = LineThatIsNotUtf8(text); line > 0) {
    return FileError("BAD_SUITE", fmt::format("{}:{}: is not UTF-8 text", path, line));
  }
  SuiteFile file{path, {}, {}};
  Collector collector(file.path);
  google::protobuf::TextFormat::ParseInfoTree places;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  parser.WriteLocationsTo(&places);
  if (!parser.ParseFromString(text, &file.suite)) {
    const std::string first =
        collector.violations.empty() ? path + ": is no suite" : collector.violations[0].description;
    return MakeError(
        absl::StatusCode::kInvalidArgument, first,
        {.reason = "BAD_SUITE", .metadata = {}, .violations = std::move(collector.violations)});
  }
  const auto* entries = Suite::descriptor()->FindFieldByName("entries");
  for (int i = 0; i < file.suite.entries_size(); ++i) {
    file.entry_lines.push_back(places.GetLocation(entries, i).line + 1);
  }
  KB_RETURN_IF_ERROR(CheckName(file));
  if (file.suite.entries().empty()) {
    return FileError("BAD_SUITE", path + ": has no entries: there is nothing to measure");
  }
  return file;
}

absl::StatusOr<SuiteFile> LoadSuite(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return FileError("UNREADABLE", path + ": is no file; give a " + kEnding);
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return FileError("UNREADABLE",
                     fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  }
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMostBytes) {
    return FileError("TOO_LONG", path + ": has more than 1 MiB; a suite is at most that long");
  }
  return ParseSuite(path, text);
}

std::vector<SuiteFolder> SuiteFolders() {
  const fs::path beside = fs::path(ProgramDir()).parent_path() / "share/kbench/suites";
  return {{"user", ConfigDir() + "/suites"}, {"installed", beside.string()}};
}

std::vector<FoundSuite> FindSuites(const std::vector<SuiteFolder>& folders) {
  std::map<std::string, FoundSuite> found;
  for (const SuiteFolder& folder : folders) {
    std::error_code error;  // a folder that is not there has no suites
    for (fs::directory_iterator at(folder.path, error), end; !error && at != end;
         at.increment(error)) {
      const fs::path& path = at->path();
      if (path.extension() != kEnding) continue;
      const std::string name = path.stem();
      const auto [place, added] =
          found.try_emplace(name, FoundSuite{name, path.string(), folder.word});
      if (!added && place->second.hides.empty()) place->second.hides = path.string();
    }
  }
  std::vector<FoundSuite> all;
  for (auto& [name, one] : found) all.push_back(std::move(one));
  return all;
}

absl::StatusOr<FoundSuite> FindSuite(const std::vector<SuiteFolder>& folders,
                                     const std::string& name) {
  std::vector<std::string> names;
  for (FoundSuite& one : FindSuites(folders)) {
    if (one.name == name) return std::move(one);
    names.push_back(one.name);
  }
  std::vector<std::string> places;
  for (const SuiteFolder& folder : folders) places.push_back(folder.path);
  const std::string hint =
      name.find_first_of("/.") != std::string::npos
          ? "; a path goes with --file"
          : fmt::format("; nearest: {}", fmt::join(NearestWords(name, names), ", "));
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("there is no suite {}{}; looked in {}", name,
                               names.empty() ? "" : hint, fmt::join(places, ", ")),
                   {.reason = "UNKNOWN_SUITE"});
}

}  // namespace kbench::client
