#include "worker/device/process_owner.h"

#include <pwd.h>
#include <sys/stat.h>

#include <array>
#include <fstream>

namespace kbench {

ProcessOwner OwnerOf(int pid, const std::string& proc) {
  const std::string dir = proc + "/" + std::to_string(pid);
  struct stat info = {};
  if (pid <= 0 || stat(dir.c_str(), &info) != 0) return {};
  ProcessOwner owner;
  std::getline(std::ifstream(dir + "/comm"), owner.command);
  std::array<char, 4096> buffer;
  passwd entry = {};
  passwd* found = nullptr;
  getpwuid_r(info.st_uid, &entry, buffer.data(), buffer.size(), &found);
  owner.user = found != nullptr ? found->pw_name : std::to_string(info.st_uid);
  return owner;
}

}  // namespace kbench
