// A main() for a fuzz target where libFuzzer is not: every input of the folders and files given,
// then as many random changes of them as --runs says, the same on every run. What libFuzzer finds
// lies in the corpus, so this keeps it found.
//
//   fuzz_NAME [--runs=N] [CORPUS...]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Random = std::mt19937_64;
constexpr std::size_t kMostBytes = 4096;

void RunOne(const std::string& input) {
  // A copy of just its size, so that a sanitizer sees a read behind the end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::size_t Below(Random& random, std::size_t bound) { return bound == 0 ? 0 : random() % bound; }

// What grammars and wire formats stumble over.
const std::vector<std::string>& Words() {
  static const std::vector<std::string> words = {"",
                                                 "0",
                                                 "-1",
                                                 "1e308",
                                                 "nan",
                                                 "9223372036854775807",
                                                 "18446744073709551616",
                                                 ",",
                                                 "..",
                                                 "=",
                                                 "^",
                                                 "*",
                                                 "Ki",
                                                 "4096",
                                                 "\xff",
                                                 "\0x",
                                                 "\n",
                                                 "[",
                                                 "]",
                                                 "\"",
                                                 "{",
                                                 "}",
                                                 "\\u",
                                                 "0x",
                                                 "m=1",
                                                 "1..2",
                                                 "label:",
                                                 "30d",
                                                 "\xf0\x9f\x98\x80",
                                                 "%s",
                                                 "/",
                                                 "..",
                                                 "\x80\x80\x80\x80\x80"};
  return words;
}

std::string Mutate(std::string input, const std::vector<std::string>& corpus, Random& random) {
  for (std::size_t changes = 1 + Below(random, 4); changes > 0; --changes) {
    const std::size_t at = Below(random, input.size() + 1);
    switch (Below(random, 6)) {
      case 0:
        if (!input.empty()) input[at % input.size()] = static_cast<char>(random());
        break;
      case 1:
        input.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        input.erase(at, 1 + Below(random, 8));
        break;
      case 3:
        input.insert(at, Words()[Below(random, Words().size())]);
        break;
      case 4: {
        const std::string& other = corpus[Below(random, corpus.size())];
        const std::size_t from = Below(random, other.size() + 1);
        input.insert(at, other.substr(from, Below(random, 64)));
        break;
      }
      default:
        if (!input.empty()) input[at % input.size()] ^= static_cast<char>(1 << Below(random, 8));
    }
  }
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  return input;
}

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  long runs = 0;
  std::vector<std::string> corpus = {""};
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--runs=", 7) == 0) {
      runs = std::atol(argv[i] + 7);
    } else if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        corpus.push_back(ReadAll(entry.path()));
      }
    } else {
      corpus.push_back(ReadAll(argv[i]));
    }
  }
  for (const std::string& input : corpus) RunOne(input);
  Random random(1);
  for (long i = 0; i < runs; ++i) {
    std::string input = Mutate(corpus[Below(random, corpus.size())], corpus, random);
    RunOne(input);
  }
  std::printf("%zu inputs and %ld changes of them\n", corpus.size(), runs);
  return 0;
}
