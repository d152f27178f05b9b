#include "client/report/results_file.h"

#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "proto/support/error.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using google::protobuf::util::JsonStringToMessage;
using google::protobuf::util::MessageToJsonString;
using kbench::v1::Result;

constexpr std::size_t kMostLine = 16 << 20;

// False at the end. A line that is too long ends the reading.
bool ReadLine(std::istream& in, std::string* line) {
  line->clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') return true;
    line->push_back(static_cast<char>(c));
    if (line->size() > kMostLine) return true;
  }
  return !line->empty();
}

absl::Status Wrong(const std::string& where, const std::string& what) {
  return absl::InvalidArgumentError(
      fmt::format("{}: {}; a line is one JSON object, as -o json of submit, watch, show and suite "
                  "run writes it",
                  where, CutText(what, 200)));
}

// Adds the line's result, where it has one.
absl::Status AddResult(const std::string& where, const std::string& line,
                       std::vector<Result>* results) {
  google::protobuf::Struct object;
  const auto read = JsonStringToMessage(line, &object);
  if (!read.ok()) return Wrong(where, "is not JSON");
  const auto found = object.fields().find("result");
  if (found == object.fields().end()) return absl::OkStatus();
  std::string inner;
  if (!found->second.has_struct_value() ||
      !MessageToJsonString(found->second.struct_value(), &inner).ok()) {
    return Wrong(where, "\"result\" is no object");
  }
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // a newer kbench may say more
  Result result;
  const auto parsed = JsonStringToMessage(inner, &result, options);
  if (!parsed.ok()) return Wrong(where, "is no result: " + std::string(parsed.message()));
  if (const auto frame = ToFrame(result); absl::IsInvalidArgument(frame.status())) {
    return Wrong(where, MessageOf(frame.status()));
  }
  results->push_back(std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Result>> ReadResults(std::istream& in, const std::string& name) {
  std::vector<Result> results;
  std::string line;
  for (int number = 1; ReadLine(in, &line); ++number) {
    const std::string where = fmt::format("{}:{}", name, number);
    if (line.size() > kMostLine) return Wrong(where, "is longer than 16 MiB");
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    KB_RETURN_IF_ERROR(AddResult(where, line, &results));
  }
  if (in.bad()) return absl::InvalidArgumentError(name + ": cannot be read to its end");
  if (results.empty()) {
    return absl::InvalidArgumentError(name + ": holds no line {\"result\": ...}");
  }
  return results;
}

absl::StatusOr<std::vector<Result>> LoadResults(const std::string& path) {
  if (path == "-") return ReadResults(std::cin, "standard input");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::InvalidArgumentError(
        fmt::format("--from: {} cannot be read: {}", path, std::strerror(errno)));
  }
  return ReadResults(file, path);
}

}  // namespace kbench::client
