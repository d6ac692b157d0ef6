import Glibc
import LinuxSystem

/// Watches the spool directory, in which processes leave crash records, with inotify.
///
/// The watch reports the names of complete files that appeared, and whether processes have created files with other
/// names.
struct SpoolWatch: Sendable {
  let descriptor: Descriptor

  /// The events since the previous call of `read`.
  struct News: Equatable {
    var names: [String] = []
    /// Whether a process created a file in the spool directory.
    ///
    /// The file can be foreign or exceed the quota.
    var hasBegun = false
    /// Whether the kernel's event queue overflowed.
    ///
    /// If so, events were lost, and the whole directory must be listed.
    var overflowed = false
  }

  private static let readsPerTurn = 64

  init(directory: String) throws(SystemError) {
    let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    guard number >= 0 else { throw SystemError("make an inotify instance") }
    descriptor = Descriptor(owning: number)
    guard unsafe inotify_add_watch(number, directory, UInt32(IN_MOVED_TO | IN_CREATE | IN_ONLYDIR)) >= 0 else {
      throw SystemError("watch '\(directory)'")
    }
  }

  /// Reads the pending inotify events without blocking.
  ///
  /// The number of reads in one call is limited, because otherwise a process that keeps renaming files could occupy
  /// crashd. The next call reads the remaining events.
  func read() -> News {
    var news = News()
    var bytes = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<Self.readsPerTurn {
      // read writes at most `bytes.count` bytes, which is the size of the array.
      let count = unsafe Glibc.read(descriptor.number, &bytes, bytes.count)
      guard count > 0 else { return news }
      Self.parse(bytes.prefix(count), into: &news)
    }
    return news
  }

  private static func parse(_ bytes: ArraySlice<UInt8>, into news: inout News) {
    let headerSize = MemoryLayout<inotify_event>.size
    var rest = bytes
    while rest.count >= headerSize {
      // The kernel writes whole events, and an inotify_event contains only integers, so any bytes are valid.
      let event = unsafe rest.withUnsafeBytes { unsafe $0.loadUnaligned(as: inotify_event.self) }
      rest = rest.dropFirst(headerSize)
      let name = rest.prefix(Int(event.len)).prefix { $0 != 0 }
      if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { news.overflowed = true }
      if event.mask & UInt32(IN_CREATE) != 0 {
        news.hasBegun = true
      } else if !name.isEmpty {
        news.names.append(String(decoding: name, as: UTF8.self))
      }
      rest = rest.dropFirst(Int(event.len))
    }
  }
}
