import CLinux
import Glibc

extension Descriptor {
  /// Opens a pidfd, which becomes readable when the process ends.
  package convenience init(ofProcess pid: Int32) throws(SystemError) {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_process_open(pid, &number), "watch process \(pid)")
    self.init(owning: number)
  }
}

/// Returns the index of the first descriptor that becomes readable or reports a hang-up, or nil after the timeout.
///
/// A timeout of -1 means that the wait is unlimited.
package func firstReadable(_ descriptors: [Int32], timeout_ms: Int32) -> Int? {
  let end = timeout_ms < 0 ? nil : ContinuousClock.now + .milliseconds(Int64(timeout_ms))
  var set = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  while true {
    let left = end.map { Int32(max(0, (ContinuousClock.now.duration(to: $0) / .milliseconds(1)).rounded(.up))) }
    // Invariant: the pointer and the count cover the array, and poll uses the pointer only during the call.
    let count = unsafe poll(&set, UInt(set.count), left ?? -1)
    if count < 0 && errno == EINTR { continue }
    return count > 0 ? set.firstIndex { $0.revents != 0 } : nil
  }
}

/// Returns whether the descriptor becomes readable before the timeout.
package func isReadable(_ descriptor: Int32, timeout_ms: Int32) -> Bool {
  firstReadable([descriptor], timeout_ms: timeout_ms) != nil
}
