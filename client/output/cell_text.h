// Cells as RFC 4180 and GitHub's tables want them. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::client {

// Quoted where needed, ended by CR LF; control bytes become '?'.
std::string CsvLine(const std::vector<std::string>& cells);
// Empty where there is no number: 0 means "none" in all of our columns.
std::string CsvNumber(double value);

// With '|' escaped, on one line.
std::string MarkdownText(const std::string& text);
// "| a | b |" and a line end.
std::string MarkdownRow(const std::vector<std::string>& cells);

}  // namespace kbench::client
