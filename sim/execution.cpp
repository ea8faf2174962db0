// What operations do to contents: kernels read when they start, everything is written when it ends.
#include <algorithm>
#include <cstring>

#include "sim/context.h"
#include "sim/world.h"

namespace tidegate::sim {

namespace {

// Writes pieces one after the other along the spans of a destination.
class SpanWriter {
 public:
  explicit SpanWriter(const std::vector<Span>& spans, HostAccess& host = direct_host_access())
      : spans_(spans), host_(host) {}

  void put(Piece piece) {
    while (piece.length > 0 && index_ < spans_.size()) {
      const Span& span = spans_[index_];
      Piece part = piece;
      part.length = std::min(piece.length, span.length - done_);
      span.block().content.put(span.offset + done_, part, host_);
      done_ += part.length;
      piece.length -= part.length;
      if (piece.kind == PieceKind::kTag) piece.source_offset += part.length;
      if (piece.kind == PieceKind::kBytes) piece.data += part.length;
      if (done_ == span.length) {
        ++index_;
        done_ = 0;
      }
    }
  }

 private:
  const std::vector<Span>& spans_;
  HostAccess& host_;
  std::size_t index_ = 0;
  Bytes done_ = 0;
};

template <typename F>
void for_each_piece(const std::vector<Span>& spans, F&& visit) {
  for (const Span& span : spans) span.block().content.for_each(span.offset, span.offset + span.length, visit);
}

void fill_host(HostAccess& host, unsigned char* at, unsigned char value, Bytes bytes) {
  unsigned char block[4096];
  std::memset(block, value, sizeof block);
  while (bytes > 0) {
    const Bytes part = std::min<Bytes>(bytes, sizeof block);
    if (!host.write(at, block, part)) return;
    at += part;
    bytes -= part;
  }
}

std::string describe(const Op& op) {
  return std::string(name_of(op.kind)) + " of call " + std::to_string(op.call_index) + " on stream " +
         std::to_string(op.stream->handle);
}

}  // namespace

void World::check_unwritten(const Op& op, const std::vector<Span>& spans) {
  if (!options.detect) return;
  Bytes unwritten = 0;
  for_each_piece(spans, [&](const Piece& piece) {
    if (piece.kind == PieceKind::kUnwritten) unwritten += piece.length;
  });
  if (unwritten == 0) return;
  report(*op.stream->context->process, "UNWRITTEN", false,
         describe(op) + " reads " + std::to_string(unwritten) + " bytes that were never written");
}

base::Nanos World::scheduled(Op& op, base::Nanos now) {
  return cards[static_cast<std::size_t>(op.stream->context->card)]->personality->schedule(op, now);
}

void World::started(Op& op, base::Nanos) {
  if (options.trace) {
    log("start " + describe(op) + " engine " + name_of(op.engine) + " for " + std::to_string(op.duration));
  }
  if (op.kind != OpKind::kKernel) return;
  check_unwritten(op, op.source);
  if (op.kernel != KernelId::kChecksum) return;
  ChecksumSum sum;
  for_each_piece(op.source, [&](const Piece& piece) { sum.add(piece); });
  op.result = sum.finish();
}

void World::add_result(Op& op) {
  unsigned char bytes[8] = {};
  Bytes at = 0;
  bool real = true;
  for_each_piece(op.destination, [&](const Piece& piece) {
    if (piece.kind == PieceKind::kBytes) std::memcpy(bytes + at, piece.data, piece.length);
    if (piece.kind == PieceKind::kFill) std::memset(bytes + at, piece.fill, piece.length);
    if (piece.kind == PieceKind::kTag || piece.kind == PieceKind::kUnwritten) real = false;
    at += piece.length;
  });
  if (!real) {
    report(*op.stream->context->process, "UNWRITTEN", false, describe(op) + " adds to a sum that was never set");
  }
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  value += op.result;
  std::memcpy(bytes, &value, sizeof value);
  SpanWriter(op.destination).put({PieceKind::kBytes, 0, 0, 0, bytes, sizeof bytes});
}

void World::finished(Op& op, base::Nanos) {
  if (options.trace) log("end " + describe(op));
  HostAccess& host = op.stream->context->process->host_memory;
  switch (op.kind) {
    case OpKind::kCopyH2D: {
      SpanWriter writer(op.destination, host);
      for (const Piece& piece : op.host_source) writer.put(piece);
      break;
    }
    case OpKind::kCopyD2D: {
      check_unwritten(op, op.source);
      std::vector<Piece> pieces;
      for_each_piece(op.source, [&](const Piece& piece) { pieces.push_back(piece); });
      SpanWriter writer(op.destination);
      for (const Piece& piece : pieces) writer.put(piece);
      break;
    }
    case OpKind::kCopyD2H: {
      check_unwritten(op, op.source);
      unsigned char* at = op.host_destination;
      Bytes tagged = 0;
      for_each_piece(op.source, [&](const Piece& piece) {
        if (piece.kind == PieceKind::kBytes) {
          (void)host.write(at, piece.data, piece.length);
        } else {
          fill_host(host, at, piece.kind == PieceKind::kFill ? piece.fill : 0, piece.length);
        }
        if (piece.kind == PieceKind::kTag) tagged += piece.length;
        at += piece.length;
      });
      if (tagged > 0) {
        report(*op.stream->context->process, "TAG-READ", false,
               describe(op) + " copies " + std::to_string(tagged) +
                   " bytes that exist only as a tag; the host gets zeros");
      }
      break;
    }
    case OpKind::kFill:
      SpanWriter(op.destination).put({PieceKind::kFill, op.fill, 0, 0, nullptr, op.bytes});
      break;
    case OpKind::kReset:
      SpanWriter(op.destination).put({PieceKind::kUnwritten, 0, 0, 0, nullptr, op.bytes});
      break;
    case OpKind::kKernel:
      if (op.kernel == KernelId::kChecksum) add_result(op);
      break;
    case OpKind::kRecord:
    case OpKind::kWait:
      break;
  }
}

void World::faulted(Op& op, base::Nanos) {
  Context& context = *op.stream->context;
  if (!op.fault_text.empty()) report(*context.process, "UNMAPPED", false, op.fault_text);
  fail_context(context, op.fault);
}

void World::retired(Op& op) {
  const auto let_go = [&](std::vector<Span>& spans) {
    for (const Span& span : spans) {
      std::vector<Op*>& pending = span.mapping->pending;
      const auto found = std::find(pending.begin(), pending.end(), &op);
      if (found != pending.end()) pending.erase(found);
    }
    spans.clear();
    spans.shrink_to_fit();
  };
  let_go(op.source);
  let_go(op.destination);
  op.host_source.clear();
}

}  // namespace tidegate::sim
