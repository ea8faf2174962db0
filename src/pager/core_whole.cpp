// Mode::kOff: whole models in plain allocations.

#include <vector>

#include <fmt/format.h>

#include "src/driver/errors.h"
#include "src/pager/core.h"
#include "src/pager/insist.h"

namespace tidegate {

using driver::driver_error;

Result<void> PagerCore::load_whole(Model& model) {
  cu::DevicePtr base = 0;
  const cu::Status allocated = driver_.mem_alloc(&base, model.bytes);
  plain_allocations_.resize(models_.size(), 0);
  plain_bytes_.resize(models_.size(), 0);
  if (allocated != cu::kSuccess) {
    Error error = driver_error(driver_, allocated, "allocating a whole model");
    if (allocated == cu::kOutOfMemory) {
      error.code = Errc::kOutOfMemory;
      error.message = fmt::format(
          "model {} of {} bytes does not fit on the card beside the others; mode dynamic pages "
          "it instead",
          model.name, model.bytes);
    }
    return error;
  }
  plain_allocations_[model.id] = base;
  plain_bytes_[model.id] = model.bytes;
  const auto give_up = [&](Error error) {
    pager::insist([&] { return driver_.stream_synchronize(arrivals_.stream()); });  // copies into it may be under way
    pager::insist([&] { return driver_.mem_free(base); });
    plain_allocations_[model.id] = 0;
    plain_bytes_[model.id] = 0;
    return error;
  };
  Bytes offset = 0;
  for (std::uint32_t i = 0; i < model.blocks.size(); ++i) {
    cu::Status copied = cu::kSuccess;
    if (model.sources[i] == nullptr) {
      if (auto read = read_whole(model, i, base + offset); !read) return give_up(read.error());
    } else {
      copied = pager::insist([&] {
        return driver_.memcpy_htod_async(base + offset, model.sources[i], model.source_bytes[i], arrivals_.stream());
      });
    }
    if (copied != cu::kSuccess) return give_up(driver_error(driver_, copied, "copying a weight"));
    block_at(model.id_of(i)).address = base + offset;
    offset += model.blocks[i].bytes;
    model.copied += model.source_bytes[i];
    ++counters_.copies;
  }
  std::uint64_t sequence = 0;
  if (!arrivals_.has_room()) pager::insist([&] { return driver_.stream_synchronize(arrivals_.stream()); });
  if (!arrivals_.has_room()) return give_up(driver_error(driver_, cu::kNotReady, "waiting for the copy stream"));
  const cu::Status recorded = pager::insist([&] { return arrivals_.record(&sequence); });
  if (recorded != cu::kSuccess) return give_up(driver_error(driver_, recorded, "recording an event"));
  for (std::uint32_t i = 0; i < model.blocks.size(); ++i) {
    Block& block = block_at(model.id_of(i));
    block.arrival = sequence;
    block.state.fetch_or(pager::kResident, std::memory_order_release);
  }
  return {};
}

// Mode::kOff: a weight straight to its place for life.
Result<void> PagerCore::read_whole(Model& model, std::uint32_t index, DeviceAddress to) {
  std::vector<std::byte> bytes(model.source_bytes[index]);
  if (auto read = model.source->read(model.weight_of[index], bytes.data()); !read) return read;
  // From memory that is not page-locked: the driver has taken the bytes when this returns.
  const cu::Status status = driver_.memcpy_htod_async(to, bytes.data(), bytes.size(), arrivals_.stream());
  if (status != cu::kSuccess) return driver::driver_error(driver_, status, "copying a weight");
  return {};
}

}  // namespace tidegate
