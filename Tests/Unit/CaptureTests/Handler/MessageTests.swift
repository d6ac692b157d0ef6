import CTestKit
import Glibc
import Testing

/// A string of error messages, in place of the Swift runtime's string.
private struct RuntimeString {
  private let text: StaticString

  init(_ text: StaticString) { self.text = text }

  /// Makes this string the runtime's current one.
  func set() {
    // Invariant: a StaticString is NUL-terminated, and stays valid until the process ends.
    unsafe cs_test_message_set(UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self))
  }
}

/// Returns the messages that a thread finds, if it traps now.
private func read(by reader: UInt32 = 0) -> String {
  var bytes = [CChar](repeating: 0, count: 256)
  // Invariant: the function writes at most as many bytes as the array has.
  let count = unsafe cs_test_message_read(reader, &bytes, bytes.count)
  return String(decoding: bytes.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
}

@Suite("The messages of the Swift runtime that no record contains yet")
struct MessageTests {
  @Test("each later message of Swift 6.2's runtime, which replaces the string, is read whole and once")
  func replaced() async {
    await #expect(processExitsWith: .exitCode(42)) {
      RuntimeString("Fatal error: the first message, which is the longest of all\n").set()
      #expect(read() == "Fatal error: the first message, which is the longest of all\n")
      cs_test_message_mark(0)
      #expect(read() == "")
      RuntimeString("(null)Fatal error: the second\n").set()
      #expect(read() == "Fatal error: the second\n")
      // A crash does not mark its message as recorded, so another thread finds it, too.
      #expect(read(by: 1) == "Fatal error: the second\n")
      cs_test_message_mark(0)
      #expect(read() == "")
      RuntimeString("(null)Fatal error: third\n").set()
      #expect(read() == "Fatal error: third\n")
      cs_test_message_mark(0)
      #expect(read() == "")
      exit(42)
    }
  }

  @Test("a message that Swift 6.3's runtime appends is read without the marked messages before it")
  func appended() async {
    await #expect(processExitsWith: .exitCode(42)) {
      RuntimeString("Fatal error: one\n").set()
      #expect(read() == "Fatal error: one\n")
      cs_test_message_mark(0)
      RuntimeString("Fatal error: one\nFatal error: two\n").set()
      #expect(read() == "Fatal error: two\n")
      RuntimeString("Fatal error: one\nFatal error: two\nFatal error: three\n").set()
      #expect(read() == "Fatal error: two\nFatal error: three\n")
      cs_test_message_mark(0)
      #expect(read() == "")
      exit(42)
    }
  }

  @Test("a thread that marks an older string of Swift 6.2's runtime last leaves the newer string marked")
  func late() async {
    await #expect(processExitsWith: .exitCode(42)) {
      RuntimeString("(null)Fatal error: older\n").set()
      #expect(read(by: 0) == "Fatal error: older\n")
      RuntimeString("(null)Fatal error: newer\n").set()
      #expect(read(by: 1) == "Fatal error: newer\n")
      cs_test_message_mark(1)
      cs_test_message_mark(0)
      #expect(read() == "")
      exit(42)
    }
  }

  @Test("without a message, a thread finds none, and marking nothing changes nothing")
  func none() async {
    await #expect(processExitsWith: .exitCode(42)) {
      #expect(read() == "")
      cs_test_message_mark(0)
      RuntimeString("Fatal error: one\n").set()
      #expect(read() == "Fatal error: one\n")
      exit(42)
    }
  }
}
