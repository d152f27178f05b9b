// What the engine's parts return: nothing, or a kb_status with one plain sentence. The engine links
// no Abseil, so this is its status. A plain value type.
#pragma once

#include <cstdint>
#include <string>

#include "worker/engine/kbench_engine.h"

namespace kbench::engine {

struct EngineError {
  int code = KB_OK;               // a kb_status; KB_OK: no error
  std::string message;            // names what was wrong and what would be right
  std::int64_t needed_bytes = 0;  // KB_OUT_OF_MEMORY
  std::int64_t free_bytes = 0;
  explicit operator bool() const { return code != KB_OK; }
};

}  // namespace kbench::engine
