// kbench-load [submits|queue|watchers]... [--small] [--server PROGRAM]: the figures of a
// coordinator under load, of this build's or of another one to compare with. Exit code 1 when a
// bound is missed (with --small: when something is lost), 5 when it cannot run.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/load/scenarios.h"

namespace {

using kbench::load::Size;
using kbench::load::Verdicts;

struct Scenario {
  const char* name;
  const char* title;
  void (*run)(const Size&, Verdicts&);
};

constexpr Scenario kScenarios[] = {
    {"submits", "durable submits, 16 connections", kbench::load::RunSubmits},
    {"queue", "a long queue", kbench::load::RunQueue},
    {"watchers", "many watchers", kbench::load::RunWatchers},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "echo-server") == 0) {
    return kbench::load::ServeEcho(argv[2]);
  }
  Size size;
  size.program = argv[0];
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--small") {
      size.small = true;
    } else if (word == "--server" && i + 1 < argc) {
      size.server = argv[++i];
    } else {
      wanted.push_back(word);
    }
  }
  Verdicts verdicts(!size.small);
  int ran = 0;
  for (const Scenario& scenario : kScenarios) {
    bool asked = wanted.empty();
    for (const std::string& word : wanted) asked = asked || word == scenario.name;
    if (!asked) continue;
    ++ran;
    std::printf("== %s\n", scenario.title);
    scenario.run(size, verdicts);
  }
  if (ran == 0) {
    std::fprintf(stderr,
                 "usage: kbench-load [submits|queue|watchers]... [--small] [--server PROGRAM]\n");
    return 2;
  }
  return verdicts.good() ? 0 : 1;
}
