// count_lines ROOT TABLE OUTPUT: counts the lines of the implementations that TABLE lists and
// writes them as C++. Part of the build: the client has no sources where it runs.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "client/report/line_count.h"

namespace kbench::client {
namespace {

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Of the device headers that these files reach, each once.
int HeaderLines(const std::string& root, const std::vector<std::string>& files) {
  std::set<std::string> seen;
  std::vector<std::string> open = files;
  int lines = 0;
  while (!open.empty()) {
    const std::string text = Read(root + "/" + open.back());
    open.pop_back();
    for (const std::string& header : DeviceHeaders(text)) {
      if (!seen.insert(header).second) continue;
      lines += CountLines(Read(root + "/" + header), Language::kCpp);
      open.push_back(header);
    }
  }
  return lines;
}

std::string Entry(const std::string& root, const std::string& line) {
  std::istringstream words(line);
  std::string kernel;
  std::string implementation;
  words >> kernel >> implementation;
  std::vector<std::string> files;
  int own = 0;
  std::string names;
  for (std::string file; words >> file;) {
    own += CountLines(Read(root + "/" + file), LanguageOf(file));
    names += (names.empty() ? "" : " ") + file;
    files.push_back(file);
  }
  if (files.empty()) throw std::runtime_error("not a kernel, an implementation and files: " + line);
  return fmt::format("      {{\"{}\", \"{}\", {}, {}, \"{}\"}},\n", kernel, implementation, own,
                     HeaderLines(root, files), names);
}

void Write(const std::string& root, const std::string& table, const std::string& output) {
  std::string entries;
  std::istringstream lines(Read(table));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') entries += Entry(root, line);
  }
  std::ofstream file(output, std::ios::binary);
  file << "// Counted by count_lines from client/report/implementation_files.txt.\n"
       << "#include \"client/report/lines_of_code.h\"\n\n"
       << "namespace kbench::client {\n\n"
       << "const std::vector<ImplementationLines>& AllImplementationLines() {\n"
       << "  static const std::vector<ImplementationLines> all = {\n"
       << entries << "  };\n  return all;\n}\n\n}  // namespace kbench::client\n";
  file.close();
  if (!file) throw std::runtime_error("cannot write " + output);
}

}  // namespace
}  // namespace kbench::client

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: count_lines ROOT TABLE OUTPUT\n";
    return 2;
  }
  try {
    kbench::client::Write(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << "count_lines: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
