// The host-to-device link as this card has it, measured: planning weighs bytes against compute with it.
#pragma once

#include "src/base/executor.h"
#include "src/driver/driver.h"
#include "tidegate/bytes.h"
#include "tidegate/result.h"

namespace tidegate::pager {

struct Link {
  double bytes_per_ns = 0;    // equals GB/s
  base::Nanos copy_cost = 0;  // of one copy call, beside its bytes
};

// Copies pinned memory to `device` (`room` bytes, content lost) on `stream`, a few times in two sizes; the two figures
// are the line through the fastest of each. Waits for the stream.
Result<Link> measure_link(driver::Driver& driver, cu::Stream stream, cu::DevicePtr device, Bytes room);

}  // namespace tidegate::pager
