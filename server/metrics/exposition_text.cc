#include "server/metrics/exposition_text.h"

#include <fmt/format.h>

#include <cmath>

namespace kbench::metrics {

std::string LabelText(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += (text.empty() ? "" : ",") + name + "=\"";
    for (const char c : value) {
      if (c == '\n') {
        text += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return text;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void AddHead(std::string_view name, std::string_view help, std::string_view type,
             std::string* text) {
  text->append("# HELP ").append(name).append(" ").append(help);
  text->append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void AddLine(std::string_view name, std::string_view labels, std::string_view more,
             std::string_view value, std::string* text) {
  text->append(name);
  if (!labels.empty()) text->append("{").append(labels).append(more).append("}");
  text->append(" ").append(value).append("\n");
}

}  // namespace kbench::metrics
