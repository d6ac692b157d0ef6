import Glibc

/// Returns the nanoseconds of CLOCK_MONOTONIC.
///
/// The marks of crash-maker, the crash handler and crashd use the same clock.
func monotonicNow_ns() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
