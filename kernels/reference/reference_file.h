// A reference on disk: a header that says for what it is, and numbers. Private to the reference
// library. Several processes may write and read the same file.
#pragma once

#include <string>
#include <vector>

namespace kbench::reference {

// `dir`/`name`-<digest of key>.ref
std::string ReferencePath(const std::string& dir, const std::string& name, const std::string& key);

// True and the numbers when the file is whole, of this key and holds exactly `count` numbers.
bool LoadReference(const std::string& path, const std::string& key, std::size_t count,
                   std::vector<double>* values);

// Written beside and renamed, so that nobody sees half of it. False when that fails.
bool SaveReference(const std::string& path, const std::string& key,
                   const std::vector<double>& values);

}  // namespace kbench::reference
