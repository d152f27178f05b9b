// Keeps the store in order while the coordinator serves: a thread that drops what is beyond its
// retention and counts the bytes, and what AdminService asks for. Owned by the server; thread-safe.
// Backup and Info block for as long as they read the store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "kbench/v1/admin_service.pb.h"
#include "proto/support/clock.h"
#include "proto/support/mutex.h"
#include "server/metrics/metrics.h"
#include "server/store/store.h"

namespace kbench::server {

struct KeeperOptions {
  std::string backup_dir;  // backups are folders in it
  store::Retention retention;
  double first_seconds = 10;  // from the start to the first round
  double round_seconds = 300;
  double pause_seconds = 0.05;  // between two transactions that drop something
};

class StoreKeeper {
 public:
  // All outlive it.
  StoreKeeper(store::Store& store, metrics::Metrics& metrics, Clock& clock, KeeperOptions options);
  ~StoreKeeper() { Stop(); }

  void Start();
  // Ends the thread; a backup under way is finished.
  void Stop();

  // INVALID_ARGUMENT for a name that is no plain file name, ALREADY_EXISTS for one that is there.
  absl::StatusOr<kbench::v1::BackupResponse> Backup(const kbench::v1::BackupRequest& request);
  absl::StatusOr<kbench::v1::StoreInfo> Info(const kbench::v1::GetStoreRequest& request);

 private:
  void Loop();
  void Round();
  // False at the end.
  bool Pause(double seconds);
  absl::StatusOr<std::map<std::string, std::int64_t>> CountBytes();

  store::Upkeep& upkeep_;
  metrics::Metrics& metrics_;
  Clock& clock_;
  const KeeperOptions options_;
  Mutex backup_mutex_;  // one backup at a time
  std::int64_t last_backup_micros_ ABSL_GUARDED_BY(backup_mutex_) = 0;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace kbench::server
