// Sockets that ask an endpoint for a page, well or badly. For tests; an object is one connection.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace kbench::metrics {

class HttpClient {
 public:
  // `buffer_bytes`: what may be on its way to it, about; 0: as the system has it.
  explicit HttpClient(const std::string& address, int buffer_bytes = 0)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + colon + 1)));
    inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    if (buffer_bytes > 0) {
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
    }
    const timeval patience = {60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  }
  ~HttpClient() { close(fd_); }
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // False: the other side has gone.
  bool Send(const std::string& text) {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void Ask(const std::string& page, const std::string& method = "GET") {
    Send(method + " " + page + " HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n");
  }
  // The other side has neither ended the connection nor sent anything that is not read yet.
  bool IsSilent() const {
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  // At most so many bytes of what is there; 0: the other side has ended.
  ssize_t ReadSome(char* buffer, std::size_t most) { return recv(fd_, buffer, most, 0); }
  // Until the other side ends, or says nothing for a minute.
  std::string ReadAll() {
    std::string answer;
    char buffer[4096];
    for (ssize_t n = 0; (n = recv(fd_, buffer, sizeof(buffer), 0)) > 0;) {
      answer.append(buffer, static_cast<std::size_t>(n));
    }
    return answer;
  }

 private:
  const int fd_;
};

inline std::string HttpAnswer(const std::string& address, const std::string& page) {
  HttpClient client(address);
  client.Ask(page);
  return client.ReadAll();
}

// The body.
inline std::string HttpGet(const std::string& address) {
  const std::string answer = HttpAnswer(address, "/metrics");
  return answer.substr(answer.find("\r\n\r\n") + 4);
}

}  // namespace kbench::metrics
