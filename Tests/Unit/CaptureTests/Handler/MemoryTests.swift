import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

@Suite("The program's memory in a record", .enabled(if: cs_test_can_run()))
struct MemoryTests {
  /// Crashes a child with a secret on its stack, on its heap and in its environment.
  ///
  /// Returns its outcome, and whether each of the three secrets was recorded.
  private func crash(_ memory: String) throws -> (outcome: Outcome, found: [Bool]) {
    try withTemporaryDirectory { directory in
      // Invariant: the strings and the summary are valid during the calls.
      let waitStatus = unsafe cs_test_run_with_secrets(memory, directory)
      var spool = cs_test_spool()
      try #require(unsafe cs_test_read_spool(directory, &spool))
      let secrets: [String] = [CS_TEST_STACK_SECRET, CS_TEST_HEAP_SECRET, CS_TEST_ENVIRONMENT_SECRET]
      let found = secrets.map { secret in unsafe cs_test_spool_contains(directory, secret) }
      return (Outcome(waitStatus: waitStatus, spool: spool), found)
    }
  }

  @Test("a record in the mode full has the program's memory around the crash's registers, but never the environment")
  func full() throws {
    let (outcome, found) = try crash("full")
    #expect(outcome.signal == SIGSEGV)
    #expect(found == [true, true, false])
    #expect(outcome.spool.stack_bytes > 256 && outcome.spool.memory_count > 0)
  }

  @Test(
    "a record in the mode scrubbed, the default, contains no text from the program's memory",
    arguments: ["scrubbed", "", "nonsense"])
  func scrubbed(memory: String) throws {
    let (outcome, found) = try crash(memory)
    #expect(outcome.signal == SIGSEGV)
    #expect(found == [false, false, false])
    #expect(outcome.spool.stack_bytes > 256 && outcome.spool.memory_count > 0)
    #expect(outcome.spool.scrubbed_count >= CS_TEST_STACK_SECRET.utf8.count)
    #expect(outcome.spool.frame_count > 3)
  }

  @Test("a record in the mode none contains no memory, but the frames of the unwound stack")
  func none() throws {
    let (outcome, found) = try crash("none")
    #expect(outcome.signal == SIGSEGV)
    #expect(found == [false, false, false])
    #expect(outcome.spool.stack_bytes == 0 && outcome.spool.memory_count == 0)
    #expect(outcome.spool.stack_start != 0)
    #expect(outcome.spool.frame_count > 3)
  }

  /// Scrubs a block of 64 bytes that consists of the given bytes and zeros.
  private func scrubbed(_ bytes: [UInt8], mapped: UInt64 = 0, held: UInt64 = 0) -> [UInt8] {
    var memory = bytes + [UInt8](repeating: 0, count: 64 - bytes.count)
    // Invariant: the function reads and writes 64 bytes, which is the size of `memory`.
    unsafe cs_test_scrub(&memory, mapped, held)
    return Array(memory.prefix(bytes.count))
  }

  private func word(_ value: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

  // Not under a sanitizer: it maps so much memory that the bytes of a text can be a mapped address, which scrubbing
  // keeps.
  @Test(
    "scrubbing removes texts of four or more bytes, at any alignment", .enabled(if: cs_test_gives_stacks()),
    arguments: ["abcd", "пароль", "密码密码", "a\tb\nc d"])
  func texts(text: String) {
    for offset in 0..<8 {
      let prefix = [UInt8](repeating: 0, count: offset)
      let blank = [UInt8](repeating: UInt8(CS_RING_SCRUBBED_BYTE), count: text.utf8.count)
      #expect(scrubbed(prefix + Array(text.utf8) + [0]) == prefix + blank + [0])
    }
  }

  @Test("scrubbing keeps numbers whose bytes are not text, and strings of up to three bytes")
  func numbers() {
    for bytes in [word(3), word(0x1_0000_0003), Array("abc".utf8) + [0], word(.max), word(0x8081_8283_8485_8687)] {
      #expect(scrubbed(bytes) == bytes)
    }
  }

  @Test("scrubbing keeps mapped addresses whose bytes look like text, and words that equal a register")
  func addresses() {
    let address: UInt64 = 0x6162_6364_6566  // "fedcba"
    let reference = address | 0x80 << 56
    let blank = [UInt8](repeating: UInt8(CS_RING_SCRUBBED_BYTE), count: 6) + [0, 0]
    #expect(scrubbed(word(address)) == blank)
    #expect(scrubbed(word(address), mapped: address) == word(address))
    #expect(scrubbed(word(reference), mapped: address) == word(reference))
    #expect(scrubbed(word(address), held: address) == word(address))
    // Scrubbing also keeps addresses in the page below a mapped page, because that page can be the guard page of a
    // stack. It does not keep addresses two pages below.
    #expect(scrubbed(word(address), mapped: address + 4_096) == word(address))
    #expect(scrubbed(word(address), mapped: address + 8_192) == blank)
    // Scrubbing keeps an address that is in a register, and overwrites the text before and after it.
    let around = Array("before: ".utf8) + word(address) + Array("and after".utf8)
    let result = scrubbed(around, held: address)
    #expect(Array(result[8..<16]) == word(address))
    #expect(result[..<8].allSatisfy { $0 == CS_RING_SCRUBBED_BYTE })
    #expect(result[16...].allSatisfy { $0 == CS_RING_SCRUBBED_BYTE })
  }

  @Test("the number of the crashed Swift task is read, because the shield supports this runtime's layout")
  func task() throws {
    #expect(cs_test_task_layout_is_known())
    #expect(cs_test_task_has_names())
  }
}
