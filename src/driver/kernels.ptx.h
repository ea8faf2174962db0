// The two kernels that Tidegate brings for checks and benchmarks, as PTX text: no compiler is needed to build or to run
// them. PTX 6.4 is what CUDA 10.1 reads; sm_50 is the oldest target that current drivers accept. Both are older than
// the oldest driver that Tidegate loads. Included by kernels.cpp alone.
#pragma once

// %sum += mix64(word + weyl), as in src/base/checksum.h.
#define TG_PTX_ADD_WORD(word, weyl)              \
  "  {\n"                                        \
  "    .reg .b64 %x, %high;\n"                   \
  "    add.u64 %x, " word ", " weyl              \
  ";\n"                                          \
  "    shr.u64 %high, %x, 32;\n"                 \
  "    xor.b64 %x, %x, %high;\n"                 \
  "    mul.lo.u64 %x, %x, 0xD6E8FEB86659FD93;\n" \
  "    shr.u64 %high, %x, 32;\n"                 \
  "    xor.b64 %x, %x, %high;\n"                 \
  "    mul.lo.u64 %x, %x, 0xD6E8FEB86659FD93;\n" \
  "    shr.u64 %high, %x, 32;\n"                 \
  "    xor.b64 %x, %x, %high;\n"                 \
  "    add.u64 %sum, %sum, %x;\n"                \
  "  }\n"

// Two neighbouring words at the thread's place; then on to the place of its next pair.
#define TG_PTX_ADD_PAIR(first, second)                                    \
  TG_PTX_ADD_WORD(first, "%weyl")                                         \
  "  add.u64 %weyl_second, %weyl, 0x9E3779B97F4A7C15;\n" TG_PTX_ADD_WORD( \
      second, "%weyl_second") "  add.u64 %weyl, %weyl, %weyl_stride;\n"

// Adds the sum of the lane `distance` further on, where the block has that lane.
#define TG_PTX_FOLD(distance)                      \
  "  {\n"                                          \
  "    .reg .pred %exists;\n"                      \
  "    .reg .b32 %low, %high, %other;\n"           \
  "    .reg .b64 %theirs;\n"                       \
  "    mov.b64 {%low, %high}, %sum;\n"             \
  "    shfl.sync.down.b32 %low, %low, " distance   \
  ", 31, %lane_mask;\n"                            \
  "    shfl.sync.down.b32 %high, %high, " distance \
  ", 31, %lane_mask;\n"                            \
  "    mov.b64 %theirs, {%low, %high};\n"          \
  "    add.u32 %other, %lane, " distance           \
  ";\n"                                            \
  "    setp.lt.u32 %exists, %other, %lanes;\n"     \
  "    @%exists add.u64 %sum, %sum, %theirs;\n"    \
  "  }\n"

namespace tidegate::driver {

// clang-format off
inline constexpr char kKernelsPtx[] = R"ptx(
.version 6.4
.target sm_50
.address_size 64

// Adds the checksum of `bytes` bytes at `ptr` to the 64-bit word at `out`; both are 8-byte aligned.
// Grid and block are one-dimensional, of any size. Each word is read once; nothing past the end is read.
.visible .entry tidegate_checksum(
  .param .u64 p_ptr,
  .param .u64 p_bytes,
  .param .u64 p_out)
{
  .reg .pred %p;
  .reg .b32 %tid_x, %block_size, %block, %blocks, %lane, %lanes, %lane_mask, %warp, %warps, %shift, %slot;
  .reg .b64 %ptr, %bytes, %out, %words, %head, %pairs, %odd, %tail, %thread, %threads, %t;
  .reg .b64 %i, %reach, %i_step, %address, %address1, %address2, %address3, %stride, %stride4;
  .reg .b64 %sum, %weyl, %weyl_second, %weyl_stride, %byte;
  .reg .b64 %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7;
  .shared .align 8 .b64 warp_sums[32];

  ld.param.u64 %ptr, [p_ptr];
  ld.param.u64 %bytes, [p_bytes];
  ld.param.u64 %out, [p_out];
  cvta.to.global.u64 %ptr, %ptr;
  cvta.to.global.u64 %out, %out;

  mov.u32 %tid_x, %tid.x;
  mov.u32 %block_size, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %thread, %block, %block_size;
  cvt.u64.u32 %t, %tid_x;
  add.u64 %thread, %thread, %t;
  mul.wide.u32 %threads, %blocks, %block_size;

  // The range is: one head word where ptr is not 16-byte aligned, pairs of words, an odd word, a tail of bytes.
  shr.u64 %words, %bytes, 3;
  shr.u64 %head, %ptr, 3;
  and.b64 %head, %head, 1;
  min.u64 %head, %head, %words;
  sub.u64 %pairs, %words, %head;
  and.b64 %odd, %pairs, 1;
  shr.u64 %pairs, %pairs, 1;

  // The thread's first pair is number `thread`, its first word number head + 2 * thread.
  shl.b64 %t, %head, 3;
  add.u64 %address, %ptr, %t;
  shl.b64 %t, %thread, 4;
  add.u64 %address, %address, %t;
  shl.b64 %t, %thread, 1;
  add.u64 %t, %t, %head;
  add.u64 %t, %t, 1;
  mul.lo.u64 %weyl, %t, 0x9E3779B97F4A7C15;
  shl.b64 %stride, %threads, 4;
  shl.b64 %stride4, %threads, 6;
  mul.lo.u64 %weyl_stride, %threads, 0x3C6EF372FE94F82A;  // twice 0x9E37...
  mul.lo.u64 %reach, %threads, 3;
  shl.b64 %i_step, %threads, 2;
  mov.u64 %i, %thread;
  mov.u64 %sum, 0;

FOUR_PAIRS:
  add.u64 %t, %i, %reach;
  setp.ge.u64 %p, %t, %pairs;
  @%p bra ONE_PAIR;
  add.u64 %address1, %address, %stride;
  add.u64 %address2, %address1, %stride;
  add.u64 %address3, %address2, %stride;
  ld.global.v2.u64 {%w0, %w1}, [%address];
  ld.global.v2.u64 {%w2, %w3}, [%address1];
  ld.global.v2.u64 {%w4, %w5}, [%address2];
  ld.global.v2.u64 {%w6, %w7}, [%address3];
)ptx"
  TG_PTX_ADD_PAIR("%w0", "%w1")
  TG_PTX_ADD_PAIR("%w2", "%w3")
  TG_PTX_ADD_PAIR("%w4", "%w5")
  TG_PTX_ADD_PAIR("%w6", "%w7")
R"ptx(
  add.u64 %address, %address, %stride4;
  add.u64 %i, %i, %i_step;
  bra FOUR_PAIRS;

ONE_PAIR:
  setp.ge.u64 %p, %i, %pairs;
  @%p bra EDGES;
  ld.global.v2.u64 {%w0, %w1}, [%address];
)ptx"
  TG_PTX_ADD_PAIR("%w0", "%w1")
R"ptx(
  add.u64 %address, %address, %stride;
  add.u64 %i, %i, %threads;
  bra ONE_PAIR;

EDGES:  // what is no pair: the grid's first thread alone
  setp.ne.u64 %p, %thread, 0;
  @%p bra REDUCE;

  setp.eq.u64 %p, %head, 0;
  @%p bra ODD_WORD;
  ld.global.u64 %w0, [%ptr];
  mov.u64 %weyl, 0x9E3779B97F4A7C15;
)ptx"
  TG_PTX_ADD_WORD("%w0", "%weyl")
R"ptx(
ODD_WORD:
  mul.lo.u64 %weyl, %words, 0x9E3779B97F4A7C15;
  shl.b64 %t, %words, 3;
  add.u64 %address, %ptr, %t;
  setp.eq.u64 %p, %odd, 0;
  @%p bra TAIL;
  ld.global.u64 %w0, [%address + -8];
)ptx"
  TG_PTX_ADD_WORD("%w0", "%weyl")
R"ptx(
TAIL:  // 1 to 7 bytes, little-endian, padded with zeros: read from the last to the first
  and.b64 %tail, %bytes, 7;
  setp.eq.u64 %p, %tail, 0;
  @%p bra REDUCE;
  add.u64 %weyl, %weyl, 0x9E3779B97F4A7C15;
  mov.u64 %w0, 0;
TAIL_BYTE:
  add.u64 %tail, %tail, -1;
  add.u64 %t, %address, %tail;
  ld.global.u8 %byte, [%t];
  shl.b64 %w0, %w0, 8;
  or.b64 %w0, %w0, %byte;
  setp.ne.u64 %p, %tail, 0;
  @%p bra TAIL_BYTE;
)ptx"
  TG_PTX_ADD_WORD("%w0", "%weyl")
R"ptx(
REDUCE:  // lanes of a warp, warps of a block, blocks by an atomic addition
  and.b32 %lane, %tid_x, 31;
  sub.u32 %lanes, %tid_x, %lane;
  sub.u32 %lanes, %block_size, %lanes;
  min.u32 %lanes, %lanes, 32;
  sub.u32 %shift, 32, %lanes;
  mov.u32 %lane_mask, 0xFFFFFFFF;
  shr.u32 %lane_mask, %lane_mask, %shift;
)ptx"
  TG_PTX_FOLD("16")
  TG_PTX_FOLD("8")
  TG_PTX_FOLD("4")
  TG_PTX_FOLD("2")
  TG_PTX_FOLD("1")
R"ptx(
  setp.ne.u32 %p, %lane, 0;
  @%p bra WARPS;
  shr.u32 %warp, %tid_x, 5;
  shl.b32 %warp, %warp, 3;
  mov.u32 %slot, warp_sums;
  add.u32 %slot, %slot, %warp;
  st.shared.u64 [%slot], %sum;
WARPS:
  bar.sync 0;
  setp.ne.u32 %p, %tid_x, 0;
  @%p bra DONE;
  add.u32 %warps, %block_size, 31;
  shr.u32 %warps, %warps, 5;
  mov.u32 %slot, warp_sums;
  mov.u64 %sum, 0;
ONE_WARP:
  ld.shared.u64 %t, [%slot];
  add.u64 %sum, %sum, %t;
  add.u32 %slot, %slot, 8;
  add.u32 %warps, %warps, -1;
  setp.ne.u32 %p, %warps, 0;
  @%p bra ONE_WARP;
  red.global.add.u64 [%out], %sum;
DONE:
  ret;
}

// Keeps one thread of each block busy for `nanoseconds` of the card's clock, after reading the first byte at `ptr` if
// `bytes` is not 0. Meant for one block of one thread.
.visible .entry tidegate_work(
  .param .u64 p_ptr,
  .param .u64 p_bytes,
  .param .u64 p_nanoseconds)
{
  .reg .pred %p;
  .reg .b32 %tid_x, %byte;
  .reg .b64 %ptr, %bytes, %nanoseconds, %start, %now, %elapsed;

  mov.u32 %tid_x, %tid.x;
  setp.ne.u32 %p, %tid_x, 0;
  @%p bra DONE;
  mov.u64 %start, %globaltimer;
  ld.param.u64 %ptr, [p_ptr];
  ld.param.u64 %bytes, [p_bytes];
  ld.param.u64 %nanoseconds, [p_nanoseconds];
  setp.eq.u64 %p, %bytes, 0;
  @%p bra SPIN;
  cvta.to.global.u64 %ptr, %ptr;
  ld.volatile.global.u8 %byte, [%ptr];
SPIN:
  mov.u64 %now, %globaltimer;
  sub.u64 %elapsed, %now, %start;
  setp.lt.u64 %p, %elapsed, %nanoseconds;
  @%p bra SPIN;
DONE:
  ret;
}
)ptx";
// clang-format on

}  // namespace tidegate::driver

#undef TG_PTX_ADD_WORD
#undef TG_PTX_ADD_PAIR
#undef TG_PTX_FOLD
