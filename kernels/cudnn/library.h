// The host's libcudnn.so.9, found and loaded at run time: a runner starts on a host without it and
// offers no cuDNN there. One in LD_LIBRARY_PATH is taken first; of others the newest, so that on a
// host with torch it is the one that torch calls. Loading it makes no CUDA context. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/catalog/dtype.h"

namespace kbench::cudnn {

struct Library {
  void* loaded = nullptr;  // of dlopen; null where there is none
  std::string path;
  std::string version;  // "9.19.0"
  std::string missing;  // why there is none and what would be right
};
// Looked for at the first call.
const Library& TheLibrary();

// For Implementation::dtype_missing: why cuDNN cannot be used here, or nothing.
std::optional<std::string> LibraryMissing(DType dtype);

// The first of these that can be loaded; what TheLibrary() does with the files it finds.
Library LoadFirst(const std::vector<std::string>& paths);

// A file that may be the library, and what its place says of its version: 9, 19, 0, or zeros.
struct LibraryFile {
  std::string path;
  int version[3] = {0, 0, 0};
};
// The version in a name: of the file that libcudnn.so.9 points to ("libcudnn.so.9.19.0"), or of the
// wheel that it lies in ("nvidia_cudnn_cu13-9.19.0.56.dist-info").
LibraryFile Examine(const std::string& path);

}  // namespace kbench::cudnn
