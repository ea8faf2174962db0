#include "src/pager/learner.h"

#include <algorithm>

namespace tidegate::pager {

Learner::~Learner() {
  for (const Step& step : steps_) {
    for (const cu::Event event : {step.request, step.granted, step.released}) {
      if (event != nullptr) driver_.event_destroy(event);
    }
  }
}

cu::Event Learner::mark(cu::Stream stream) {
  cu::Event event = nullptr;
  if (!measurable_) return nullptr;
  cu::CaptureStatus capture = cu::kCaptureNone;
  if (driver_.stream_is_capturing(stream, &capture) != cu::kSuccess || capture != cu::kCaptureNone ||
      driver_.event_create(&event, cu::kEventDefault) != cu::kSuccess) {
    measurable_ = false;
    return nullptr;
  }
  if (driver_.event_record(event, stream) != cu::kSuccess) measurable_ = false;
  return event;
}

std::int32_t Learner::request(std::span<const std::uint32_t> blocks, cu::Stream stream) {
  if (steps_.empty()) stream_ = stream;
  if (stream != stream_) measurable_ = false;
  Step step;
  step.first_block = blocks[0];
  step.first_use = uses_.size();
  step.uses = blocks.size();
  step.request = mark(stream);
  uses_.insert(uses_.end(), blocks.begin(), blocks.end());
  steps_.push_back(step);
  return static_cast<std::int32_t>(steps_.size() - 1);
}

void Learner::granted(std::int32_t step, cu::Stream stream) {
  const auto index = static_cast<std::size_t>(step);
  if (index < steps_.size() && steps_[index].granted == nullptr) steps_[index].granted = mark(stream);
}

void Learner::released(std::int32_t step, cu::Stream stream) {
  const auto index = static_cast<std::size_t>(step);
  if (index < steps_.size() && steps_[index].released == nullptr) steps_[index].released = mark(stream);
}

bool Learner::ready() {
  if (!measurable_) return true;
  for (; passed_ < steps_.size(); ++passed_) {
    const Step& step = steps_[passed_];
    if (step.released == nullptr || step.granted == nullptr) return false;
    const cu::Status status = driver_.event_query(step.released);
    if (status == cu::kNotReady) return false;
    if (status != cu::kSuccess) measurable_ = false;
  }
  return true;
}

std::vector<PlanUse> Learner::result() {
  std::vector<PlanUse> result;
  result.reserve(uses_.size());
  const auto between = [this](cu::Event start, cu::Event end) -> Nanos {
    float milliseconds = 0;
    if (!measurable_ || driver_.event_elapsed_time(&milliseconds, start, end) != cu::kSuccess) {
      measurable_ = false;
      return 0;
    }
    return std::max<Nanos>(0, static_cast<Nanos>(static_cast<double>(milliseconds) * 1e6));
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    Nanos compute = between(step.granted, step.released);
    if (i > 0) compute += between(steps_[i - 1].released, step.request);
    for (std::size_t k = 0; k < step.uses; ++k) {
      const Nanos share = k + 1 == step.uses ? compute : 0;  // a step's blocks are needed together
      result.push_back({uses_[step.first_use + k], static_cast<std::uint32_t>(i), share});
    }
  }
  if (!measurable_) {
    for (PlanUse& use : result) use.compute = 0;
  }
  return result;
}

}  // namespace tidegate::pager
