import Glibc

/// Returns the nanoseconds of CLOCK_MONOTONIC, the clock that the marks of crash-maker, the crash handler and crashd
/// also use.
func monotonicNow_ns() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
