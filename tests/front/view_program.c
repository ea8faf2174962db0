/* Looks at device memory as host memory (tidegate/sim_view.h): what lies there, what comes, and that it cannot be
 * written. Prints one line. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tidegate/sim_view.h"

extern int cuInit(), cuDevicePrimaryCtxRetain(), cuCtxSetCurrent(), cuMemAlloc_v2(), cuMemFree_v2(), cuMemcpyHtoD_v2(),
    cuMemsetD8_v2(), cuCtxSynchronize();

static void must(int holds, const char* what) {
  if (!holds) printf("%s\n", what), exit(1);
}

int main(void) {
  enum { kBytes = 3 << 20, kPart = 5000 };
  void* context = 0;
  unsigned long long at = 0, other = 0;
  unsigned char* data = malloc(kBytes);
  const void *host = 0, *none = 0;
  int (*map)(uint64_t, size_t, const void**) = 0;
  void (*unmap)(const void*) = 0;
  int64_t (*now)(void) = 0, begin = 0;
  *(void**)&map = dlsym(RTLD_DEFAULT, "tidegate_sim_map");
  *(void**)&unmap = dlsym(RTLD_DEFAULT, "tidegate_sim_unmap");
  *(void**)&now = dlsym(RTLD_DEFAULT, "tidegate_sim_now");
  must(map && unmap && now, "no tidegate_sim_map");
  for (int i = 0; i < kBytes; i++) data[i] = (unsigned char)(i * 7 + (i >> 9));
  must(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context), "no card");
  must(!cuMemAlloc_v2(&at, (size_t)kBytes) && !cuMemAlloc_v2(&other, (size_t)kBytes), "no memory");
  begin = now();
  must(!cuMemcpyHtoD_v2(at, data, (size_t)kBytes) && !cuMemsetD8_v2(other, 0x5a, (size_t)kBytes), "no copy");
  must(!cuCtxSynchronize(), "no synchronise");
  must(begin >= 0 && now() - begin >= 1000 * (int64_t)kBytes / (1 << 20), "a copy of MiBs took no microsecond each");
  must(map(at + kPart, kBytes - kPart, &host) == 0, "not mapped");
  must(memcmp(host, data + kPart, kBytes - kPart) == 0, "other bytes");
  memset(data, 0xc3, kBytes);
  must(!cuMemcpyHtoD_v2(at, data, (size_t)kBytes), "no copy");
  must(memcmp(host, data + kPart, kBytes - kPart) == 0, "bytes that came later are not seen");
  memset(data, 0x11, kBytes);
  must(!cuMemsetD8_v2(at, 0x11, (size_t)kBytes) && !cuCtxSynchronize(), "no fill");
  must(memcmp(host, data + kPart, kBytes - kPart) == 0, "a fill is not seen");
  must(map(other, kBytes, &none) == 0 && *(const unsigned char*)none == 0x5a, "a filled range is not mapped");
  unmap(none);
  must(map(at, (size_t)1 << 40, &none) == 1 && map(12345, 4, &none) == 1 && map(at, 0, &none) == 1, "not refused");
  if (getenv("TIDEGATE_BROKER")) {
    void* page = (void*)((uintptr_t)host & ~(uintptr_t)4095);
    must(mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0, "it may be written");
  }
  must(!cuMemFree_v2(at), "not freed");
  if (getenv("TIDEGATE_BROKER")) must(*(const unsigned char*)host == 0x11, "gone with the memory");
  unmap(host);
  printf("device bytes seen\n");
  return 0;
}
