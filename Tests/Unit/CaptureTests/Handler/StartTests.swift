import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

/// Starts the C part of the shield in this process.
///
/// The caller must be an exit test, because a process can start the shield only once.
private func start(socket: String = "/tmp/cs-no-daemon/attach") -> (cs_shim_error, cs_shim_failure) {
  var failure = cs_shim_failure()
  // Invariant: the C string is valid during the call, and the call copies the path.
  let error = unsafe socket.withCString { path in
    var configuration = unsafe cs_shim_configuration()
    unsafe configuration.socket_path = path
    return unsafe cs_shim_start(&configuration, &failure)
  }
  return (error, failure)
}

/// Sets an annotation of this process.
private func annotate(_ key: String, _ value: String) -> Bool {
  // Invariant: the characters are valid during the call, and the call copies them.
  unsafe cs_shim_annotate(key, key.utf8.count, value, value.utf8.count)
}

/// The ring of this process.
private func ring() -> UnsafePointer<cs_ring>? {
  // Invariant: the shield keeps its ring mapped until the process ends.
  unsafe cs_testing_ring()?.assumingMemoryBound(to: cs_ring.self)
}

@Suite("Starting")
struct StartTests {
  @Test("a second start reports that the shield has started")
  func twice() async {
    await #expect(processExitsWith: .success) {
      guard start().0 == .CS_SHIM_OK, cs_shim_is_started() else { exit(1) }
      exit(start().0 == .CS_SHIM_ALREADY_STARTED ? 0 : 2)
    }
  }

  @Test("with CRASHSHIELD_DISABLE=1, a start does nothing")
  func disabled() async {
    await #expect(processExitsWith: .success) {
      // Invariant: no other thread of this process reads the environment during this change.
      unsafe setenv("CRASHSHIELD_DISABLE", "1", 1)
      exit(start().0 == .CS_SHIM_DISABLED && !cs_shim_is_started() ? 0 : 1)
    }
  }

  @Test("a start with a socket path that is too long fails and leaves nothing behind")
  func longPath() async {
    await #expect(processExitsWith: .success) {
      let (error, failure) = start(socket: String(repeating: "x", count: 200))
      var action = sigaction()
      // Invariant: sigaction() writes the current action into `action`.
      unsafe sigaction(SIGSYS, nil, &action)
      let isUntouched = unsafe action.__sigaction_handler.sa_handler == nil
      // Invariant: `what` is a C array of chars, which Swift imports as a tuple. The loop reads only its bytes.
      let what = unsafe withUnsafeBytes(of: failure.what) {
        unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      let isRefused =
        error == .CS_SHIM_BAD_ARGUMENT && failure.errno_value == ENAMETOOLONG
        && what == "the socket path (CRASHSHIELD_SOCKET) is too long"
      exit(isRefused && isUntouched && !cs_shim_is_started() ? 0 : 1)
    }
  }

  @Test("a start succeeds with an XDG_RUNTIME_DIR that is too long for a socket")
  func longUserDirectory() async {
    await #expect(processExitsWith: .success) {
      // Invariant: no other thread of this process reads the environment during this change.
      unsafe setenv("XDG_RUNTIME_DIR", String(repeating: "/x", count: 100), 1)
      exit(cs_shim_start(nil, nil) == .CS_SHIM_OK ? 0 : 1)
    }
  }

  @Test("the shim takes less than 4 KiB of thread-local storage from each thread's stack")
  func threadLocals() {
    // The result includes the thread-local storage of this test program's own Swift files.
    #expect(cs_test_thread_local_bytes() < 4096)
  }

  @Test("a process in which the shield has not started accepts no annotation")
  func notStarted() {
    #expect(!annotate("key", "value"))
    #expect(!cs_shim_is_started())
  }
}

@Suite("Annotations and breadcrumbs")
struct TextTests {
  @Test("an annotation is set, replaced and removed by its key")
  func annotations() async {
    await #expect(processExitsWith: .success) {
      guard start().0 == .CS_SHIM_OK, let ring = unsafe ring() else { exit(1) }
      guard annotate("route", "/a"), annotate("route", "/other") else { exit(2) }
      // Invariant: the ring stays mapped, and this thread is its only writer.
      let entry = unsafe ring.pointee.annotations.0
      guard entry.key_bytes == 5, entry.value_bytes == 6, entry.sequence == 4 else { exit(3) }
      guard entry.value.0 == UInt8(ascii: "/"), entry.value.1 == UInt8(ascii: "o") else { exit(4) }
      guard annotate("route", "") else { exit(5) }
      exit(unsafe ring.pointee.annotations.0.key_bytes == 0 ? 0 : 6)
    }
  }

  @Test("the value of an annotation that is too long is cut between two characters")
  func cut() async {
    await #expect(processExitsWith: .success) {
      guard start().0 == .CS_SHIM_OK, let ring = unsafe ring() else { exit(1) }
      let value = String(repeating: "ä", count: 300) + "x"
      guard !annotate("long", "x" + value) else { exit(2) }
      // Invariant: the ring stays mapped, and this thread is its only writer. The shield truncates the value to 1 + 2 ×
      // 219 = 439 bytes, because the next character of 2 bytes would exceed the limit of 440 bytes.
      exit(unsafe ring.pointee.annotations.0.value_bytes == 439 ? 0 : 3)
    }
  }

  @Test("if the table of annotations is full, a new key is refused and counted")
  func full() async {
    await #expect(processExitsWith: .success) {
      guard start().0 == .CS_SHIM_OK, let ring = unsafe ring() else { exit(1) }
      for index in 0..<Int(CS_RING_ANNOTATION_LIMIT) {
        guard annotate(String(index), "v") else { exit(2) }
      }
      guard !annotate("one more", "v") else { exit(3) }
      // The ring stays mapped.
      exit(unsafe ring.pointee.header.annotation_lost == 1 ? 0 : 4)
    }
  }

  @Test("when all entries are used, a new breadcrumb overwrites the oldest one")
  func breadcrumbs() async {
    await #expect(processExitsWith: .success) {
      guard start().0 == .CS_SHIM_OK, let ring = unsafe ring() else { exit(1) }
      for _ in 0...Int(CS_RING_BREADCRUMB_LIMIT) {
        // Invariant: the characters are valid during the call, and the call copies them.
        unsafe cs_shim_breadcrumb("step", 4)
      }
      // Invariant: the ring stays mapped, and this thread is its only writer.
      let header = unsafe ring.pointee.header
      let newest = unsafe ring.pointee.breadcrumbs.0
      let oldest = unsafe ring.pointee.breadcrumbs.1
      guard header.breadcrumb_head == UInt64(CS_RING_BREADCRUMB_LIMIT) + 1 else { exit(2) }
      guard newest.sequence == header.breadcrumb_head, newest.text_bytes == 4 else { exit(3) }
      exit(oldest.sequence == 2 ? 0 : 4)
    }
  }
}
