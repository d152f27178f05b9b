// Lines of code as the report counts them: those that hold more than blanks and comments. Used by
// the build, which writes the counts into the client. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace kbench::client {

// A docstring (a text in triple quotes that begins a line) is a comment.
enum class Language { kCpp, kPython };
// By the file's name: ".py" is Python.
Language LanguageOf(const std::string& path);
int CountLines(const std::string& text, Language language);

// The device headers that a text includes: paths from the root of the tree that end in ".cuh".
std::vector<std::string> DeviceHeaders(const std::string& text);

}  // namespace kbench::client
