#include "client/output/report.h"

namespace kbench::client {

const std::vector<std::string>& FormatNames() {
  static const std::vector<std::string> names = {"table", "json", "csv", "markdown"};
  return names;
}

Format ParseFormat(const std::string& name) {
  if (name == "json") return Format::kJson;
  if (name == "csv") return Format::kCsv;
  if (name == "markdown") return Format::kMarkdown;
  return Format::kTable;
}

void Report::Event(const kbench::v1::JobEvent&) {}
void Report::JobEnded(const kbench::v1::Job&) {}

std::unique_ptr<Report> MakeReport(Format format, Io& io) {
  switch (format) {
    case Format::kJson:
      return MakeJsonReport(io);
    case Format::kCsv:
      return MakeCsvReport(io);
    case Format::kMarkdown:
      return MakeMarkdownReport(io);
    default:
      return MakeTableReport(io);
  }
}

}  // namespace kbench::client
