#include <future>

#include "proto/support/clock.h"
#include "tests/server/store/conformance.h"

namespace kbench::store {

std::pair<absl::Status, std::vector<std::int64_t>> CommitNow(Store& store, Batch batch) {
  std::promise<std::pair<absl::Status, std::vector<std::int64_t>>> promise;
  auto future = promise.get_future();
  store.Commit(std::move(batch),
               [&](const absl::Status& status, const std::vector<std::int64_t>& sequences) {
                 promise.set_value({status, sequences});
               });
  return future.get();
}

NewJob MakeJob(const std::string& name, int cases, std::int64_t order,
               const std::string& request_id) {
  NewJob job;
  job.job.set_name(name);
  job.job.set_owner("ada");
  *job.job.mutable_create_time() = ToTimestamp(1'700'000'000'123'456);
  job.request_id = request_id;
  job.request_digest = "digest";
  job.entry.name = name;
  job.entry.order = order;
  job.entry.priority = 700;
  job.entry.device = "gpu0";
  job.entry.queue_deadline = 1'700'000'100.5;
  for (int i = 0; i < cases; ++i) {
    kbench::v1::CaseSpec* spec = job.job.mutable_spec()->add_cases();
    spec->set_kernel("matmul");
    spec->set_dtype("fp16");
    spec->set_shape("m=" + std::to_string(i + 1));
    scheduler::Case item;
    item.ref = {name, i};
    job.entry.cases.push_back(item);
  }
  return job;
}

kbench::v1::Result MakeResult(const std::string& job, int case_index, int cell,
                              const std::string& implementation, double median) {
  kbench::v1::Result result;
  result.set_name("results/" + job.substr(job.find('/') + 1) + "-" + std::to_string(case_index) +
                  "-" + std::to_string(cell));
  result.set_job(job);
  result.set_case_index(case_index);
  result.mutable_case_()->set_kernel("matmul");
  result.mutable_case_()->set_dtype("fp16");
  result.mutable_case_()->set_shape("m=1");
  result.mutable_case_()->set_mode("cold");
  result.set_implementation(implementation);
  result.set_device("gpu0");
  result.set_outcome(kbench::v1::OUTCOME_OK);
  result.mutable_device_time()->set_median(median);
  return result;
}

Batch JobBatch(NewJob job) {
  Batch batch;
  batch.new_jobs.push_back(std::move(job));
  return batch;
}

}  // namespace kbench::store
