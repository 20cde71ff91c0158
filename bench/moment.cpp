// Prints when it began, in nanoseconds of the system's clock.

#include <cstdio>
#include <ctime>

int main() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  std::printf("%lld%09ld\n", static_cast<long long>(now.tv_sec), now.tv_nsec);
  return 0;
}
