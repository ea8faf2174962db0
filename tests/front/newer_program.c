/* Asks for functions that only a newer driver has, and calls them. */
#include <stdio.h>

extern int cuGetProcAddress(const char*, void**, int, unsigned long long);

int main(void) {
  int (*future)(void) = 0;
  int (*later)(void) = 0;
  if (cuGetProcAddress("cuFromTheFuture", (void**)&future, 13000, 0) != 0) return 1;
  if (cuGetProcAddress("cuFromLater", (void**)&later, 13000, 0) != 0 || future == later) return 2;
  future();
  printf("%d %d\n", future(), later());
  return 0;
}
