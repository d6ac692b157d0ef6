import CLinux
import Glibc
import LinuxSystem

/// epoll and a wake-up, for one thread.
struct Poller: Sendable {
  /// The token of the wake-up itself.
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

  /// Removes a descriptor.
  ///
  /// One that is not watched is no error, because the kernel removes closed ones itself.
  func remove(_ descriptor: Descriptor) {
    _ = cd_poller_remove(poller.number, descriptor.number)
  }

  /// Reports only the hang-up of a watched descriptor from now on.
  func awaitHangUp(_ descriptor: Descriptor, token: UInt64) {
    _ = cd_poller_await_hangup(poller.number, descriptor.number, token)
  }

  /// Makes `wait` return, now or the next time.
  ///
  /// Any thread may call it.
  func wake() {
    var one: UInt64 = 1
    // write reads the eight bytes of `one`. EAGAIN means that a wake-up is pending already.
    _ = unsafe write(alarm.number, &one, MemoryLayout<UInt64>.size)
  }

  /// Waits for the tokens of ready descriptors; empty after the time-out.
  func wait(timeout_ms: Int32) throws(SystemError) -> [UInt64] {
    var events = [cd_poller_event](repeating: cd_poller_event(), count: 64)
    var count = 0
    // The array has as many elements as the call may write.
    let code = unsafe cd_poller_wait(poller.number, &events, events.count, timeout_ms, &count)
    if code == EINTR { return [] }
    try SystemError.check(code, "wait for events")
    let tokens = events.prefix(count).map(\.token)
    if tokens.contains(Self.wakeToken) {
      var value: UInt64 = 0
      // read writes the eight bytes of `value` and so resets the eventfd.
      _ = unsafe read(alarm.number, &value, MemoryLayout<UInt64>.size)
    }
    return tokens
  }
}
