import CLinux
import Glibc
import LinuxSystem

/// An epoll instance for one thread, with a descriptor that wakes the thread.
struct Poller: Sendable {
  /// The token of the wake-up descriptor.
  static let wakeToken: UInt64 = 0

  private let poller: Descriptor
  private let alarm: Descriptor

  init() throws(SystemError) {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_poller_create(&number), "make an epoll instance")
    poller = Descriptor(owning: number)
    try SystemError.check(unsafe cd_wake_create(&number), "make an eventfd")
    alarm = Descriptor(owning: number)
    try add(alarm, token: Self.wakeToken)
  }

  func add(_ descriptor: Descriptor, token: UInt64) throws(SystemError) {
    try SystemError.check(cd_poller_add(poller.number, descriptor.number, token), "watch a descriptor")
  }

  /// Stops watching a descriptor.
  ///
  /// The call does not fail if the descriptor is not watched, because the kernel removes closed descriptors itself.
  func remove(_ descriptor: Descriptor) {
    _ = cd_poller_remove(poller.number, descriptor.number)
  }

  /// Stops reporting all events of a watched descriptor except its hang-up.
  func awaitHangUp(_ descriptor: Descriptor, token: UInt64) {
    _ = cd_poller_await_hangup(poller.number, descriptor.number, token)
  }

  /// Makes the current or the next call of `wait` return.
  ///
  /// Any thread can call this function.
  func wake() {
    var one: UInt64 = 1
    // write reads the eight bytes of `one`, which is valid during the call. The error EAGAIN means that a wake-up is
    // already pending.
    _ = unsafe write(alarm.number, &one, MemoryLayout<UInt64>.size)
  }

  /// Waits for ready descriptors and returns their tokens; the result is empty after the time-out.
  func wait(timeout_ms: Int32) throws(SystemError) -> [UInt64] {
    var events = [cd_poller_event](repeating: cd_poller_event(), count: 64)
    var count = 0
    // The call writes at most `events.count` elements, which is the size of the array.
    let code = unsafe cd_poller_wait(poller.number, &events, events.count, timeout_ms, &count)
    if code == EINTR { return [] }
    try SystemError.check(code, "wait for events")
    let tokens = events.prefix(count).map(\.token)
    if tokens.contains(Self.wakeToken) {
      var value: UInt64 = 0
      // read writes the eight bytes of `value` and resets the eventfd.
      _ = unsafe read(alarm.number, &value, MemoryLayout<UInt64>.size)
    }
    return tokens
  }
}
