// Lists and ranges of sizes, as the client accepts them: "1Ki..64Mi*2", "256,512,1024",
// "m=1..64*4,n=4096,k=4096". Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kernels/catalog/catalog.h"

namespace kbench {

// Every single size that `text` stands for, in order, at most `most` (else an error of field
// "size", reason TOO_MANY_SIZES, that says how many there would be). A text without a list or a
// range gives itself.
Expected<std::vector<std::string>, CatalogError> ExpandSizes(const std::string& text,
                                                             std::size_t most);

// "4096", "2^26", "64Mi", "3k" (k, M, G = powers of 1000; Ki, Mi, Gi = of 1024) as an integer in
// [1, 2^62].
Expected<std::int64_t, CatalogError> ParseCount(const std::string& text);

}  // namespace kbench
