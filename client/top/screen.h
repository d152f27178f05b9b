// What is written to a terminal to draw a frame over the one before. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::client {

struct ScreenSize {
  int columns = 80;
  int rows = 24;
};

// To begin (another screen, no cursor) and to give the terminal back as it was.
inline constexpr char kScreenEnter[] = "\x1b[?1049h\x1b[?25l\x1b[2J";
inline constexpr char kScreenLeave[] = "\x1b[?25h\x1b[?1049l";

// The lines from the top left corner, each cut to the width, and nothing of an earlier frame left.
// Lines that the height does not hold are counted in the last one. Control bytes become '?'.
std::string DrawFrame(const std::vector<std::string>& lines, const ScreenSize& size);

}  // namespace kbench::client
