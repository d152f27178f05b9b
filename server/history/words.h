// Figures as the sentences of this folder say them. Pure; thread-safe.
#pragma once

#include <string>

namespace kbench::history {

std::string SecondsText(double seconds);  // "1.05 ms", "50 ns"
std::string PercentText(double ratio);    // 0.021: "2.1 %"
std::string SignedText(double ratio);     // 0.061: "+6.1 %"
std::string ChangeText(double ratio);     // 0.061: "6.1 % slower"

}  // namespace kbench::history
