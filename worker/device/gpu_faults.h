// Xid events and uncorrectable memory errors of one GPU, as the driver reports them: waited for on
// a thread of its own, which a sick driver may hang without harm to anybody. Where the driver's
// library lacks the functions nothing is ever reported. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "worker/device/device.h"
#include "worker/device/nvml_library.h"

namespace kbench {

class GpuFaults {
 public:
  GpuFaults(std::shared_ptr<const Nvml> nvml, nvmlDevice_t board);
  // Does not wait for a call that hangs: the thread is left behind and ends when it returns.
  ~GpuFaults();
  GpuFaults(const GpuFaults&) = delete;
  GpuFaults& operator=(const GpuFaults&) = delete;

  // Those since the last call, in order.
  std::vector<ObservedFault> Take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// What an Xid means here. 13, 31, 43 and 45 are faults of an application; 48, 63, 64, 74, 79, 94
// and 95 are the hardware's; of others nothing is concluded.
enum class XidKind { kApplication, kHardware, kOther };
XidKind KindOfXid(unsigned long long xid);
// "Xid 79: the GPU has fallen off the bus".
std::string XidText(unsigned long long xid);

}  // namespace kbench
