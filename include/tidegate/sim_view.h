/* Device memory of Tidegate's simulated card as host memory: what a host-side kernel (numpy, a test) needs to compute
 * on the bytes that a program has paged in. Exported by libtidegate_front.so, which is loaded where the simulated
 * libcuda.so.1 is, and by nvcuda.dll; find it with dlsym(RTLD_DEFAULT, ...) or GetProcAddress and do without where it
 * is missing: a real card has no such thing. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maps [address, address + bytes) of device memory for reading; it must lie in one mapping. The bytes are those of the
 * moment, and change as copies and kernels change them: order your reads by synchronising, as for any work of the card.
 * Under `tidegate sim exec` they lie in a memfd that the broker passes, sealed against writing by others. Any thread.
 * Answers a CUresult: 0; 1 (INVALID_VALUE) where there is no such memory; 801 (NOT_SUPPORTED) where it has no bytes
 * (content tags, or the system cannot share them); 4 (DEINITIALIZED) where the broker has gone. */
int tidegate_sim_map(uint64_t address, size_t bytes, const void** host);

/* The card's time in nanoseconds: it passes with the card's work, not with the clock on the wall (but for --real-time
 * and where there is no broker). For programs that decide by time, so that what they decide fits what the card does.
 * Starts anywhere, never goes back. Any thread. Negative: there is no card, or the broker has gone. */
int64_t tidegate_sim_now(void);

/* What Windows would answer this process about the card's video memory, in its own layouts (x64), for programs that
 * read it through function pointers: a D3DKMT_QUERYSTATISTICS, whose process is 0 for the caller (an NTSTATUS comes
 * back), and a DXGI_QUERY_VIDEO_MEMORY_INFO of the adapter with the given number, counted from 0 (an HRESULT). Cards
 * that do not behave as under Windows refuse. Any thread. */
int32_t tidegate_sim_query_statistics(void* query);
int32_t tidegate_sim_query_video_memory_info(uint32_t adapter, uint32_t node, uint32_t segment_group, void* info);

/* Ends the mapping that tidegate_sim_map answered. To be called before the memory is freed: without a broker the bytes
 * go with it. */
void tidegate_sim_unmap(const void* host);

#ifdef __cplusplus
}
#endif
