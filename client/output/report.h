// A way to write the results of a job: table, json, csv or markdown (one file each). Fed in the
// order of events, by one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/io.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

enum class Format { kTable, kJson, kCsv, kMarkdown };

// Names as -o takes them.
const std::vector<std::string>& FormatNames();
// The format of a name in FormatNames().
Format ParseFormat(const std::string& name);

class Report {
 public:
  virtual ~Report() = default;
  // Every event as it comes; only json writes them.
  virtual void Event(const kbench::v1::JobEvent& event);
  // A case has ended; its results are in `status`.
  virtual void CaseEnded(const kbench::v1::Job& job, const kbench::v1::CaseStatus& status) = 0;
  // After the last case.
  virtual void JobEnded(const kbench::v1::Job& job);
};

std::unique_ptr<Report> MakeReport(Format format, Io& io);

// One of each, for MakeReport and the tests.
std::unique_ptr<Report> MakeTableReport(Io& io);
std::unique_ptr<Report> MakeJsonReport(Io& io);
std::unique_ptr<Report> MakeCsvReport(Io& io);
std::unique_ptr<Report> MakeMarkdownReport(Io& io);

}  // namespace kbench::client
