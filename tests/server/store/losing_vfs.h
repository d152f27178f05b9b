// A SQLite VFS over the default one that can lose power: everything written since a file's last
// sync is gone then, and every later write fails, until the next Reset(). Registered under Name();
// for tests. Thread-safe.
#pragma once

#include <functional>

namespace kbench::store {

class LosingVfs {
 public:
  static const char* Name();
  // Registers it once. Forgets what was lost.
  static void Reset();
  // With `lie` true a sync says that it is done and is not: what a test must find out.
  static void LieAboutSyncs(bool lie);
  // Now. Returns how many unsynced writes were undone.
  static int LosePower();
};

}  // namespace kbench::store
