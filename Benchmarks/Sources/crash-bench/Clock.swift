import Glibc

/// Nanoseconds of CLOCK_MONOTONIC: the clock of the marks, of the handler and of crashd.
func monotonicNow_ns() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
