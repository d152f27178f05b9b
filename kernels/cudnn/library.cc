#include "kernels/cudnn/library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace kbench::cudnn {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libcudnn.so.9";
// Of a wheel for this CUDA: its libraries were linked for it.
const std::string kWheel = "nvidia_cudnn_cu" + std::to_string(CUDART_VERSION / 1000) + "-";

std::vector<std::string> Glob(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  return paths;
}

// "9.19.0.56.dist-info" and "9.19.0" alike.
void ReadVersion(const std::string& text, LibraryFile& file) {
  std::sscanf(text.c_str(), "%d.%d.%d", &file.version[0], &file.version[1], &file.version[2]);
}

// The folders in an environment variable.
std::vector<std::string> FoldersOf(const char* variable) {
  const char* value = std::getenv(variable);
  std::stringstream text(value == nullptr ? "" : value);
  std::vector<std::string> folders;
  for (std::string folder; std::getline(text, folder, ':');) folders.push_back(std::move(folder));
  return folders;
}

// Where wheels lie: of the Python on the PATH and its siblings, of an environment, of the system.
std::vector<std::string> PythonRoots() {
  std::vector<std::string> roots = {"/usr/local", "/usr"};
  for (const std::string& folder : FoldersOf("PATH")) {
    std::error_code error;
    if (fs::exists(folder + "/python3", error)) {
      roots.push_back(fs::path(folder).parent_path().string());
    }
  }
  if (const char* environment = std::getenv("VIRTUAL_ENV")) roots.emplace_back(environment);
  if (const char* home = std::getenv("HOME")) roots.push_back(std::string(home) + "/.local");
  return roots;
}

std::vector<std::string> Places() {
  std::vector<std::string> places = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                     "/usr/lib64", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"};
  for (const std::string& root : PythonRoots()) {
    for (const char* packages : {"/lib/python3*/site-packages", "/lib/python3*/dist-packages"}) {
      for (std::string& found : Glob(root + packages + "/nvidia/cudnn/lib")) {
        places.push_back(std::move(found));
      }
    }
  }
  return places;
}

bool Newer(const LibraryFile& a, const LibraryFile& b) {
  return std::lexicographical_compare(b.version, b.version + 3, a.version, a.version + 3);
}

std::vector<LibraryFile> FilesIn(const std::vector<std::string>& folders) {
  std::vector<LibraryFile> files;
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::string path = folder + "/" + kName;
    if (fs::exists(path, error)) files.push_back(Examine(path));
  }
  return files;
}

// Who sets LD_LIBRARY_PATH means it. Then the newest, and the loader's own choice before those that
// do not say how new they are.
std::vector<std::string> Candidates() {
  std::vector<std::string> paths;
  for (const LibraryFile& file : FilesIn(FoldersOf("LD_LIBRARY_PATH"))) paths.push_back(file.path);
  std::vector<LibraryFile> files = FilesIn(Places());
  std::stable_sort(files.begin(), files.end(), Newer);
  for (const LibraryFile& file : files) {
    if (file.version[0] != 0) paths.push_back(file.path);
  }
  paths.emplace_back(kName);
  for (const LibraryFile& file : files) {
    if (file.version[0] == 0) paths.push_back(file.path);
  }
  return paths;
}

// The version the library itself gives; it loads a part of the library, never a driver.
std::string VersionOf(void* loaded) {
  const auto ask = reinterpret_cast<std::size_t (*)()>(dlsym(loaded, "cudnnGetVersion"));
  const std::size_t version = ask == nullptr ? 0 : ask();
  if (version < 90000) return "";
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Library LoadFirst(const std::vector<std::string>& paths) {
  Library library;
  std::string last = "nowhere to look";
  for (const std::string& path : paths) {
    void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) {
      last = dlerror();
      continue;
    }
    library.version = VersionOf(loaded);
    if (library.version.empty()) {
      last = path + " gives no version of cuDNN 9";
      continue;
    }
    library.loaded = loaded;  // for as long as the process lives
    library.path = path;
    return library;
  }
  library.missing = std::string(kName) + " was not found (" + last +
                    "): install cuDNN 9 for CUDA " + std::to_string(CUDART_VERSION / 1000) +
                    ", or put its folder into LD_LIBRARY_PATH";
  return library;
}

LibraryFile Examine(const std::string& path) {
  LibraryFile file;
  file.path = path;
  std::error_code error;
  const std::string real = fs::canonical(path, error).filename().string();
  const std::string prefix = "libcudnn.so.";
  if (real.compare(0, prefix.size(), prefix) == 0 && real != kName) {
    ReadVersion(real.substr(prefix.size()), file);
    return file;
  }
  // .../site-packages/nvidia/cudnn/lib/libcudnn.so.9
  const fs::path packages = fs::path(path).parent_path().parent_path().parent_path().parent_path();
  for (const std::string& info : Glob(packages.string() + "/" + kWheel + "*.dist-info")) {
    ReadVersion(fs::path(info).filename().string().substr(kWheel.size()), file);
  }
  return file;
}

const Library& TheLibrary() {
  static const Library library = LoadFirst(Candidates());
  return library;
}

std::optional<std::string> LibraryMissing(DType /*dtype*/) {
  const Library& library = TheLibrary();
  if (library.loaded != nullptr) return std::nullopt;
  return library.missing;
}

}  // namespace kbench::cudnn
