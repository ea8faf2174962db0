// What a run must know of the card before it starts: the link's rate, what a checksum costs, how fast it computes.
#pragma once

#include <cstdint>
#include <string>

#include "cli/choose_card.h"
#include "src/driver/kernels.h"

namespace tidegate::cli {

struct Calibration {
  double link_bytes_per_second = 0;
  std::string link_kind;  // "measured", "modelled"
  double checksum_fixed_ns = 0;
  double checksum_ns_per_byte = 0;
  double flops_per_second = 0;
  std::string flops_kind;  // where it is from, in words

  double checksum_ns(Bytes bytes) const {
    return checksum_fixed_ns + checksum_ns_per_byte * static_cast<double>(bytes);
  }
};

// Simulated: the link is the profile's. Real: the median of several copies from pinned memory. Takes some MiB of the
// card for a moment. `tflops` > 0 replaces the assumed rate: multiprocessors x FLOPs per clock of the generation x 1.5
// GHz.
Result<Calibration> calibrate(ChosenCard& chosen, const driver::CheckKernels& kernels, double tflops);

}  // namespace tidegate::cli
