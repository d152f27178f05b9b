// The text format 0.0.4, for families whose lines are kept ready (result_series.h): what a library
// would put together anew at each scrape. Pure.
#pragma once

#include <string>
#include <string_view>

#include "server/metrics/family.h"

namespace kbench::metrics {

// kernel="matmul",size="m=1": escaped, without the braces.
std::string LabelText(const Labels& labels);

// As short as it reads back the same; NaN, +Inf and -Inf as the format has them.
std::string NumberText(double value);

// `type`: gauge, counter.
void AddHead(std::string_view name, std::string_view help, std::string_view type,
             std::string* text);

// name{labels,more} value. `more` begins with a comma, or is empty.
void AddLine(std::string_view name, std::string_view labels, std::string_view more,
             std::string_view value, std::string* text);

}  // namespace kbench::metrics
