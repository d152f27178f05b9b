#include "server/metrics/http_request.h"

namespace kbench::metrics {
namespace {

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Service Unavailable";
  }
}

}  // namespace

HttpRequest RequestOf(std::string_view text) {
  HttpRequest request;
  const std::string_view line = text.substr(0, text.find("\r\n"));
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos || line.substr(second + 1).substr(0, 7) != "HTTP/1.") {
    request.code = 400;
    return request;
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  request.path = std::string(target.substr(0, target.find('?')));
  request.head_only = method == "HEAD";
  if (method != "GET" && method != "HEAD") request.code = 405;
  return request;
}

std::string HttpHead(int code, std::size_t body_bytes) {
  std::string head = "HTTP/1.1 " + std::to_string(code) + " " + ReasonOf(code) + "\r\n";
  if (code == 405) head += "Allow: GET, HEAD\r\n";
  return head + "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: " +
         std::to_string(body_bytes) + "\r\nConnection: close\r\n\r\n";
}

}  // namespace kbench::metrics
