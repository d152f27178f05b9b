#include "worker/device/gpu_faults.h"

#include <chrono>
#include <thread>
#include <utility>

#include "proto/support/mutex.h"
#include "spdlog/spdlog.h"

namespace kbench {
namespace {

constexpr unsigned kWaitMillis = 500;
// After a call that failed: the driver may be away for good.
constexpr auto kPause = std::chrono::seconds(5);

struct KnownXid {
  unsigned long long xid;
  XidKind kind;
  const char* meaning;
};

// By NVIDIA's catalogue of Xid errors.
constexpr KnownXid kXids[] = {
    {13, XidKind::kApplication, "a kernel faulted"},
    {31, XidKind::kApplication, "a kernel touched memory that is not its own"},
    {43, XidKind::kApplication, "a kernel was stopped"},
    {45, XidKind::kApplication, "a program ended with work under way"},
    {48, XidKind::kHardware, "an uncorrectable error of the device's memory"},
    {63, XidKind::kHardware, "a row of the device's memory is to be replaced"},
    {64, XidKind::kHardware, "a row of the device's memory could not be replaced"},
    {74, XidKind::kHardware, "an error of NVLink"},
    {79, XidKind::kHardware, "the GPU has fallen off the bus"},
    {94, XidKind::kHardware, "a contained error of the device's memory"},
    {95, XidKind::kHardware, "an uncontained error of the device's memory"},
};

const KnownXid* Find(unsigned long long xid) {
  for (const KnownXid& known : kXids) {
    if (known.xid == xid) return &known;
  }
  return nullptr;
}

}  // namespace

XidKind KindOfXid(unsigned long long xid) {
  const KnownXid* known = Find(xid);
  return known == nullptr ? XidKind::kOther : known->kind;
}

std::string XidText(unsigned long long xid) {
  const KnownXid* known = Find(xid);
  return "Xid " + std::to_string(xid) +
         (known == nullptr ? "" : std::string(": ") + known->meaning);
}

// Shared with the thread, which may outlive the object.
struct GpuFaults::State {
  Mutex mutex;
  bool stop ABSL_GUARDED_BY(mutex) = false;
  std::vector<ObservedFault> seen ABSL_GUARDED_BY(mutex);

  bool Stopped() {
    MutexLock lock(mutex);
    return stop;
  }

  void Take(const nvmlEventData_t& event) {
    if (event.eventType == nvmlEventTypeDoubleBitEccError) {
      Add({"ECC", "the device's memory lost data: an uncorrectable ECC error"});
      return;
    }
    if (event.eventType != nvmlEventTypeXidCriticalError) return;
    const std::string text = XidText(event.eventData);
    switch (KindOfXid(event.eventData)) {
      case XidKind::kApplication:
        spdlog::info("{}: a fault of an application, the device is well", text);
        return;
      case XidKind::kHardware:
        Add({"XID", text});
        return;
      case XidKind::kOther:
        spdlog::warn("{}: nothing is concluded from it", text);
        return;
    }
  }

  void Add(ObservedFault fault) {
    MutexLock lock(mutex);
    seen.push_back(std::move(fault));
  }
};

namespace {

nvmlReturn_t Register(const Nvml& nvml, nvmlDevice_t board, nvmlEventSet_t set) {
  constexpr unsigned long long kBoth =
      nvmlEventTypeXidCriticalError | nvmlEventTypeDoubleBitEccError;
  const nvmlReturn_t both = nvml.RegisterEvents(board, kBoth, set);
  // A card without ECC knows Xids alone.
  return both == NVML_SUCCESS ? both
                              : nvml.RegisterEvents(board, nvmlEventTypeXidCriticalError, set);
}

}  // namespace

GpuFaults::GpuFaults(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board)
    : state_(std::make_shared<State>()) {
  if (nvml->EventSetCreate == nullptr || nvml->RegisterEvents == nullptr ||
      nvml->EventSetWait == nullptr) {
    spdlog::info("this driver reports no Xid events");
    return;
  }
  std::thread([nvml = std::move(nvml), board, state = state_] {
    nvmlEventSet_t set = nullptr;
    if (nvml->EventSetCreate(&set) != NVML_SUCCESS || Register(*nvml, board, set) != NVML_SUCCESS) {
      spdlog::info("this device reports no Xid events");
      return;
    }
    while (!state->Stopped()) {
      nvmlEventData_t event{};
      const nvmlReturn_t error = nvml->EventSetWait(set, &event, kWaitMillis);
      if (error == NVML_SUCCESS) {
        state->Take(event);
      } else if (error != NVML_ERROR_TIMEOUT) {
        std::this_thread::sleep_for(kPause);
      }
    }
    if (nvml->EventSetFree != nullptr) nvml->EventSetFree(set);
  }).detach();
}

GpuFaults::~GpuFaults() {
  MutexLock lock(state_->mutex);
  state_->stop = true;
}

std::vector<ObservedFault> GpuFaults::Take() {
  MutexLock lock(state_->mutex);
  return std::exchange(state_->seen, {});
}

}  // namespace kbench
