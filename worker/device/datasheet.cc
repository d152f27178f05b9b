#include "worker/device/datasheet.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace kbench {
namespace {

struct Row {
  const char* name;             // in lower case, contained in the driver's name of the board
  const char* also;             // likewise, or empty
  int capability;               // 10 * major + minor
  std::int64_t max_memory_gib;  // row applies up to this size; 0: any
  int multiprocessors;
  // 1e12 per second; 0: the hardware has no such products
  double fp64, fp32, tf32, half, fp8, int8;
  double gigabytes_per_second;
  int l2_mib;
};

// More special rows first. fp64 is the rate of the tensor cores where there are any, because
// libraries use them.
constexpr Row kRows[] = {
    // name      also    cc  GiB   SMs  fp64   fp32   tf32   half   fp8   int8   GB/s  L2
    {"v100", "", 70, 0, 80, 7.8, 15.7, 0, 125, 0, 62, 900, 6},
    {"t4", "tesla", 75, 0, 40, 0.25, 8.1, 0, 65, 0, 130, 320, 4},
    {"a100", "pcie", 80, 48, 108, 19.5, 19.5, 156, 312, 0, 624, 1555, 40},
    {"a100", "pcie", 80, 0, 108, 19.5, 19.5, 156, 312, 0, 624, 1935, 40},
    {"a100", "", 80, 48, 108, 19.5, 19.5, 156, 312, 0, 624, 1555, 40},
    {"a100", "", 80, 0, 108, 19.5, 19.5, 156, 312, 0, 624, 2039, 40},
    {"a10", "", 86, 0, 72, 0.49, 31.2, 62.5, 125, 0, 250, 600, 6},
    {"l40s", "", 89, 0, 142, 1.4, 91.6, 183, 362, 733, 733, 864, 96},
    {"l4", "", 89, 0, 58, 0.47, 30.3, 60.5, 121, 242, 242, 300, 48},
    {"rtx 4090", "", 89, 0, 128, 1.3, 82.6, 82.6, 165, 330, 660, 1008, 72},
    {"rtx 5090", "", 120, 0, 170, 1.6, 104.8, 104.8, 209.5, 419, 838, 1792, 96},
    {"h200", "", 90, 0, 132, 67, 67, 495, 989, 1979, 1979, 4800, 60},
    {"h100", "pcie", 90, 0, 114, 51, 51, 378, 756, 1513, 1513, 2039, 50},
    {"h100", "", 90, 0, 132, 67, 67, 495, 989, 1979, 1979, 3352, 50},
    {"b200", "", 100, 0, 148, 37, 75, 1125, 2250, 4500, 4500, 7700, 126},
};

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// `word` stands in `text` with no letter or digit right behind it: "l4" is not in "l40s". A space
// matches a hyphen, as in "A100-SXM4-80GB".
bool Contains(const std::string& text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
    const std::size_t end = at + word.size();
    const bool ends =
        end == text.size() || std::isalnum(static_cast<unsigned char>(text[end])) == 0;
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

Datasheet DatasheetOf(const std::string& name, int major, int minor, std::int64_t memory_bytes) {
  const std::string lower = Lower(name);
  Datasheet sheet;
  for (const Row& row : kRows) {
    if (row.capability != 10 * major + minor || !Contains(lower, row.name)) continue;
    if (*row.also != '\0' && lower.find(row.also) == std::string::npos) continue;
    if (row.max_memory_gib != 0 && memory_bytes > (row.max_memory_gib << 30)) continue;
    const std::pair<const char*, double> rates[] = {
        {"fp64", row.fp64}, {"fp32", row.fp32}, {"tf32", row.tf32},   {"fp16", row.half},
        {"bf16", row.half}, {"int8", row.int8}, {"fp8e4m3", row.fp8},
    };
    for (const auto& [dtype, tera] : rates) {
      // Volta and Turing have no bf16 products.
      if (std::string(dtype) == "bf16" && row.capability < 80) continue;
      if (tera > 0) sheet.flops[dtype] = tera * 1e12;
    }
    sheet.bandwidth = row.gigabytes_per_second * 1e9;
    sheet.l2_bytes = std::int64_t{row.l2_mib} << 20;
    sheet.multiprocessors = row.multiprocessors;
    break;
  }
  return sheet;
}

}  // namespace kbench
