#include "server/metrics/exposition_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "prometheus/text_serializer.h"

namespace kbench::metrics {
namespace {

TEST(ExpositionText, IsWhatTheLibraryWrites) {
  const Labels labels = {{"a", "plain"}, {"b", "q\"b\\n\nu\xc3\xa9"}, {"c", ""}};
  std::string text;
  AddHead("kbench_x_seconds", "What it is.", "gauge", &text);
  AddLine("kbench_x_seconds", LabelText(labels), "", NumberText(0.25), &text);
  prometheus::MetricFamily family = MakeGauge("kbench_x_seconds", "What it is.");
  Add(family, labels, 0.25);
  EXPECT_EQ(text, prometheus::TextSerializer().Serialize({family}));
}

TEST(ExpositionText, NumbersReadBackTheSame) {
  for (const double value :
       {0.0, 1.0, -2.5, 1e-6, 1.23456789012345e-4, 1.7e9, 4.1e12, 1e300, 0.1 + 0.2, 5e-324}) {
    EXPECT_EQ(std::strtod(NumberText(value).c_str(), nullptr), value) << NumberText(value);
  }
  EXPECT_EQ(NumberText(1'700'000'000), "1700000000");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(NumberText(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(NumberText(std::nan("")), "NaN");
}

TEST(ExpositionText, ALineMayHaveNoLabelsOrOneMore) {
  std::string text;
  AddLine("a_total", "", "", "3", &text);
  AddLine("b", "x=\"1\"", ",state=\"none\"", "0", &text);
  EXPECT_EQ(text, "a_total 3\nb{x=\"1\",state=\"none\"} 0\n");
}

}  // namespace
}  // namespace kbench::metrics
