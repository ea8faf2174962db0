/* A program of the CUDA driver API in plain C: allocates, copies there and back, and prints what it saw.
 * -DWAY=1: linked with -lcuda; 2: dlopen and dlsym; 3: dlopen and cuGetProcAddress. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long Ptr;
typedef int (*Any)();

#if WAY == 1
extern int cuInit(), cuDeviceGet(), cuDevicePrimaryCtxRetain(), cuCtxSetCurrent(), cuMemGetInfo_v2(), cuMemAlloc_v2(),
    cuStreamCreate(), cuMemcpyHtoDAsync_v2(), cuMemcpyDtoHAsync_v2(), cuStreamSynchronize(), cuMemFree_v2();
#define CALL(name, suffix) name##suffix
#else
static void* library;
static Any find(const char* name, const char* suffix) {
  char whole[80];
  Any function = 0;
#if WAY == 2
  snprintf(whole, sizeof whole, "%s%s", name, suffix);
  *(void**)&function = dlsym(library, whole);
#else
  int (*ask)(const char*, void**, int, Ptr, int*) = 0;
  (void)suffix, (void)whole;
  *(void**)&ask = dlsym(library, "cuGetProcAddress_v2");
  if (!ask || ask(name, (void**)&function, 12060, 0, 0) != 0) function = 0;
#endif
  if (!function) printf("%s is missing\n", name), exit(2);
  return function;
}
#define CALL(name, suffix) find(#name, #suffix)
#endif

static void must(int status, const char* call) {
  if (status != 0) printf("%s: %d\n", call, status), exit(1);
}
#define MUST(name, suffix, ...) must(CALL(name, suffix)(__VA_ARGS__), #name)

int main(void) {
  enum { kBytes = 8 << 20 };
  int device = -1;
  void *context = 0, *stream = 0;
  size_t before = 0, after = 0, total = 0;
  Ptr at = 0;
  unsigned char *in = malloc(kBytes), *out = calloc(1, kBytes);
#if WAY != 1
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) printf("%s\n", dlerror()), exit(2);
#endif
  for (int i = 0; i < kBytes; i++) in[i] = (unsigned char)(i * 31 + (i >> 11));
  MUST(cuInit, , 0u);
  MUST(cuDeviceGet, , &device, 0);
  MUST(cuDevicePrimaryCtxRetain, , &context, device);
  MUST(cuCtxSetCurrent, , context);
  MUST(cuMemGetInfo, _v2, &before, &total);
  MUST(cuMemAlloc, _v2, &at, (size_t)kBytes);
  MUST(cuMemGetInfo, _v2, &after, &total);
  MUST(cuStreamCreate, , &stream, 1u);
  MUST(cuMemcpyHtoDAsync, _v2, at, in, (size_t)kBytes, stream);
  MUST(cuMemcpyDtoHAsync, _v2, out, at, (size_t)kBytes, stream);
  MUST(cuStreamSynchronize, , stream);
  MUST(cuMemFree, _v2, at);
  printf("took %zu MiB of %zu, same %d\n", (before - after) >> 20, total >> 20, memcmp(in, out, kBytes) == 0);
  return memcmp(in, out, kBytes) != 0;
}
