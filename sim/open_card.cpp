#include "sim/open_card.h"

#include <utility>

#include "tidegate/sim.h"

namespace tidegate::sim {
namespace {

Error call_failed(const char* call, cu::Status status) {
  return {Errc::kDriver, std::string(call) + " on the simulated card: status " + std::to_string(status),
          static_cast<int>(status)};
}

}  // namespace

SimCard::SimCard(Profile profile, const SimCardOptions& options)
    : profile_(std::move(profile)),
      executor_(base::VirtualOptions{.seed = options.seed, .pace = options.pace}),
      machine_(executor_, options.seed, options.machine),
      process_((machine_.add_card(profile_), machine_.start_process("tidegate"))) {}

SimCard::~SimCard() {
  if (context_ != nullptr) (void)driver().device_primary_ctx_release(0);
}

driver::Driver& SimCard::driver() { return process_.driver(); }

Result<void> SimCard::start() {
  const cu::Status initialized = driver().init(0);
  if (initialized != cu::kSuccess) return call_failed("cuInit", initialized);
  const cu::Status retained = driver().device_primary_ctx_retain(&context_, 0);
  if (retained != cu::kSuccess) {
    context_ = nullptr;
    return call_failed("cuDevicePrimaryCtxRetain", retained);
  }
  return make_current();
}

Result<void> SimCard::make_current() {
  const cu::Status status = driver().ctx_set_current(context_);
  if (status != cu::kSuccess) return call_failed("cuCtxSetCurrent", status);
  return {};
}

Result<std::unique_ptr<SimCard>> SimCard::open(const std::string& profile, const SimCardOptions& options) {
  Result<Profile> loaded = load_profile(profile);
  if (!loaded) return loaded.error();
  std::unique_ptr<SimCard> card(new SimCard(std::move(loaded).value(), options));
  if (Result<void> started = card->start(); !started) return started.error();
  return card;
}

Result<std::unique_ptr<tidegate::Card>> open_card(const std::string& profile, std::uint64_t seed) {
  SimCardOptions options;
  options.seed = seed;
  auto opened = SimCard::open(profile, options);
  if (!opened) return opened.error();
  return std::unique_ptr<tidegate::Card>(std::move(opened).value());
}

}  // namespace tidegate::sim
