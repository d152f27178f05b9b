// What every back end of the store must do. A back end's test instantiates the suite with a
// factory:
//   INSTANTIATE_TEST_SUITE_P(Sqlite, StoreConformance, ::testing::Values(&MakeSqliteBackend));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/store/store.h"

namespace kbench::store {

// A place where stores can be opened again and again over the same data.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual absl::StatusOr<std::unique_ptr<Store>> Open() = 0;
};

class StoreConformance : public ::testing::TestWithParam<std::unique_ptr<Backend> (*)()> {
 protected:
  StoreConformance() : backend_(GetParam()()) { Reopen(); }
  // Drops the store without a farewell and opens its data again.
  void Reopen();

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Store> store_;
};

// Commits and waits: the status, and the sequences of the events.
std::pair<absl::Status, std::vector<std::int64_t>> CommitNow(Store& store, Batch batch);

NewJob MakeJob(const std::string& name, int cases, std::int64_t order,
               const std::string& request_id = "");
kbench::v1::Result MakeResult(const std::string& job, int case_index, int cell,
                              const std::string& implementation, double median);
// One batch: the job alone.
Batch JobBatch(NewJob job);

}  // namespace kbench::store
