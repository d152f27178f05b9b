#include "client/top/screen.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/output/text_table.h"

namespace kbench::client {

std::string DrawFrame(const std::vector<std::string>& lines, const ScreenSize& size) {
  const auto rows = static_cast<std::size_t>(std::max(2, size.rows));
  // One column is left free: a full line would wrap on some terminals.
  const auto columns = static_cast<std::size_t>(std::max(10, size.columns) - 1);
  const bool all = lines.size() <= rows;
  const std::size_t shown = all ? lines.size() : rows - 1;
  std::string frame = "\x1b[H";
  const auto add = [&](const std::string& line, bool last) {
    frame += Cut(line, columns) + "\x1b[K" + (last ? "" : "\r\n");
  };
  for (std::size_t i = 0; i < shown; ++i) add(lines[i], all && i + 1 == shown);
  if (!all) add(fmt::format("... {} more lines", lines.size() - shown), true);
  return frame + "\x1b[J";
}

}  // namespace kbench::client
