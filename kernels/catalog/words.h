// Words for error messages: the nearest valid ones, lists, and quoting what a person typed. Private
// to the catalog (proto/support has its own: the catalog depends on nothing). Thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::catalog {

// The candidates closest to `word` by edit distance without regard to case, best first, at most
// `most`.
std::vector<std::string> Nearest(const std::string& word,
                                 const std::vector<std::string>& candidates, std::size_t most = 3);

// "a, b, c"
std::string Join(const std::vector<std::string>& words);

// 'text', shortened and without control characters, so that it is safe in one line.
std::string Quote(const std::string& text);

// The pieces between the separators; an empty text gives one empty piece.
std::vector<std::string> Split(const std::string& text, char separator);

}  // namespace kbench::catalog
