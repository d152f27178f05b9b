// How many columns of a terminal a text takes: UTF-8 by code points, wide ones as two, marks that
// join the one before as none. What is not UTF-8 counts a column a byte. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>

namespace kbench::client {

std::size_t DisplayWidth(const std::string& text);
// The longest beginning that takes at most `columns`, never a part of a code point.
std::string CutToWidth(const std::string& text, std::size_t columns);

}  // namespace kbench::client
