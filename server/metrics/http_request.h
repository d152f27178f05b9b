// As much of HTTP/1.1 as a scraper speaks: the first line of a request, the head of an answer.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kbench::metrics {

struct HttpRequest {
  std::string path;        // without what stands behind '?'
  bool head_only = false;  // HEAD
  int code = 0;            // with which it is refused; 0: it is not
};

// `text`: up to the empty line, or beyond it.
HttpRequest RequestOf(std::string_view text);

// Up to the body; the connection ends behind it.
std::string HttpHead(int code, std::size_t body_bytes);

}  // namespace kbench::metrics
