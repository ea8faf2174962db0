#include "sim/timeline.h"

#include <algorithm>
#include <cassert>

#include "sim/context.h"

namespace tidegate::sim {

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kCopyH2D:
      return "copy-h2d";
    case OpKind::kCopyD2H:
      return "copy-d2h";
    case OpKind::kCopyD2D:
      return "copy-d2d";
    case OpKind::kFill:
      return "fill";
    case OpKind::kKernel:
      return "kernel";
    case OpKind::kRecord:
      return "record";
    case OpKind::kWait:
      return "wait";
    case OpKind::kReset:
      return "reset";
  }
  return "?";
}

const char* name_of(EngineKind kind) {
  switch (kind) {
    case EngineKind::kCompute:
      return "compute";
    case EngineKind::kH2D:
      return "h2d";
    case EngineKind::kD2H:
      return "d2h";
    case EngineKind::kBeside:
      return "beside";
    case EngineKind::kNone:
      return "none";
  }
  return "?";
}

int Timeline::add_card() {
  engines_.resize(engines_.size() + kEngineCount);
  beside_busy_.push_back(0);
  return static_cast<int>(beside_busy_.size()) - 1;
}

void Timeline::submit(std::shared_ptr<Op> op, int card, const std::vector<Op*>& after, base::Nanos now) {
  assert(op->stream->context->card == card);
  (void)card;
  advance(now);
  op->seq = next_seq_++;
  const auto depend = [&](Op* earlier) {
    if (earlier == nullptr || earlier->done) return;
    earlier->dependents.push_back(op);
    ++op->waits_for;
  };
  depend(op->stream->last());
  for (Op* earlier : after) depend(earlier);
  op->stream->pending.push_back(op);
  ++op->stream->context->pending;
  if (op->waits_for > 0) return;
  became_ready_.push_back(std::move(op));
  settle();
  dispatch();
}

void Timeline::settle() {
  // Grows while it is walked: operations that take no time make others ready.
  std::size_t i = 0;
  while (i < became_ready_.size()) make_ready(std::move(became_ready_[i++]));
  became_ready_.clear();
}

void Timeline::make_ready(std::shared_ptr<Op> op) {
  if (op->done) return;
  op->ready = now_;
  if (op->engine == EngineKind::kNone) {
    op->started = true;
    finish(op);
    return;
  }
  const base::Nanos at = op->fault == cu::kSuccess ? effects_.scheduled(*op, now_) : now_;
  if (at > now_) {
    const std::uint64_t seq = op->seq;
    held_.push_back({at, seq, std::move(op)});
    std::push_heap(held_.begin(), held_.end());
    return;
  }
  enqueue(std::move(op));
}

void Timeline::enqueue(std::shared_ptr<Op> op) {
  const auto card = static_cast<std::size_t>(op->stream->context->card);
  Engine& engine = op->engine == EngineKind::kBeside
                       ? beside_
                       : engines_[card * kEngineCount + static_cast<std::size_t>(op->engine)];
  const base::Nanos ready = op->ready;
  const std::uint64_t seq = op->seq;
  engine.queue.push_back({ready, seq, std::move(op)});
  std::push_heap(engine.queue.begin(), engine.queue.end());
}

void Timeline::finish(const std::shared_ptr<Op>& op) {
  effects_.finished(*op, now_);
  op->done = true;
  op->finished_at = now_;
  assert(op->stream->pending.front() == op);
  op->stream->pending.pop_front();
  --op->stream->context->pending;
  for (std::shared_ptr<Op>& next : op->dependents) {
    if (--next->waits_for == 0 && !next->done) became_ready_.push_back(std::move(next));
  }
  op->dependents.clear();
  effects_.retired(*op);
}

void Timeline::start(Engine* engine, std::shared_ptr<Op> op) {
  op->started = true;
  effects_.started(*op, now_);
  if (engine == &beside_) {
    running_beside_.push_back({now_ + op->duration, std::move(op)});
    std::push_heap(running_beside_.begin(), running_beside_.end());
    return;
  }
  engine->start = now_;
  engine->end = now_ + op->duration;
  engine->running = std::move(op);
}

void Timeline::dispatch() {
  bool again = true;
  const auto serve = [&](Engine& engine) {
    while (idle(engine) && !engine.queue.empty()) {
      std::pop_heap(engine.queue.begin(), engine.queue.end());
      std::shared_ptr<Op> op = std::move(engine.queue.back().op);
      engine.queue.pop_back();
      if (op->done) continue;  // dropped meanwhile
      if (op->fault == cu::kSuccess) {
        start(&engine, std::move(op));
      } else {
        effects_.faulted(*op, now_);
        again = true;  // dropping may have freed engines and made others ready
      }
    }
  };
  while (again) {
    again = false;
    for (Engine& engine : engines_) serve(engine);
    serve(beside_);
    if (!became_ready_.empty()) {
      settle();
      again = true;
    }
  }
}

void Timeline::advance(base::Nanos now) {
  for (;;) {
    const base::Nanos next = next_event_time();
    if (next > now) break;
    now_ = std::max(now_, next);
    for (Engine& engine : engines_) {
      if (!engine.running || engine.end != next) continue;
      std::shared_ptr<Op> op = std::move(engine.running);
      engine.running = nullptr;
      engine.end = base::kNever;
      engine.busy += now_ - engine.start;
      finish(op);
    }
    while (!running_beside_.empty() && running_beside_.front().end == next) {
      std::pop_heap(running_beside_.begin(), running_beside_.end());
      std::shared_ptr<Op> op = std::move(running_beside_.back().op);
      running_beside_.pop_back();
      beside_busy_[static_cast<std::size_t>(op->stream->context->card)] += op->duration;
      finish(op);
    }
    while (!held_.empty() && held_.front().ready == next) {
      std::pop_heap(held_.begin(), held_.end());
      std::shared_ptr<Op> op = std::move(held_.back().op);
      held_.pop_back();
      op->ready = now_;
      if (!op->done) enqueue(std::move(op));
    }
    settle();
    dispatch();
  }
  now_ = std::max(now_, now);
}

base::Nanos Timeline::next_event_time() const {
  base::Nanos next = running_beside_.empty() ? base::kNever : running_beside_.front().end;
  if (!held_.empty()) next = std::min(next, held_.front().ready);
  for (const Engine& engine : engines_) next = std::min(next, engine.end);
  return next;
}

void Timeline::drop(const std::vector<std::shared_ptr<Stream>>& streams, base::Nanos now) {
  now_ = std::max(now_, now);
  std::vector<std::shared_ptr<Op>> dropped;
  for (const std::shared_ptr<Stream>& stream : streams) {
    for (std::shared_ptr<Op>& op : stream->pending) {
      op->done = true;
      op->failed = true;
      op->finished_at = now_;
      dropped.push_back(std::move(op));
    }
    stream->context->pending -= stream->pending.size();
    stream->pending.clear();
  }
  for (Engine& engine : engines_) {
    if (!engine.running || !engine.running->done) continue;
    engine.busy += now_ - engine.start;
    engine.running = nullptr;
    engine.end = base::kNever;
  }
  std::erase_if(held_, [](const Waiting& waiting) { return waiting.op->done; });
  std::make_heap(held_.begin(), held_.end());
  std::erase_if(running_beside_, [](const Running& running) { return running.op->done; });
  std::make_heap(running_beside_.begin(), running_beside_.end());
  for (const std::shared_ptr<Op>& op : dropped) {
    for (std::shared_ptr<Op>& next : op->dependents) {
      if (--next->waits_for == 0 && !next->done) became_ready_.push_back(std::move(next));
    }
    op->dependents.clear();
    effects_.retired(*op);
  }
  settle();
  dispatch();
}

base::Nanos Timeline::busy_ns(int card, EngineKind kind) const {
  if (kind == EngineKind::kBeside) return beside_busy_[static_cast<std::size_t>(card)];
  const Engine& engine = engines_[static_cast<std::size_t>(card) * kEngineCount + static_cast<std::size_t>(kind)];
  return engine.busy + (engine.running ? now_ - engine.start : 0);
}

}  // namespace tidegate::sim
