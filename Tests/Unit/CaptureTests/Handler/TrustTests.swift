import CShim
import CShimRing
import CTestKit
import Glibc
import Testing

@Suite("Disclosure of a process's data", .enabled(if: cs_test_can_run()))
struct TrustTests {
  private func gifts(oldKernel: Bool) throws -> cs_test_gifts {
    try withTemporaryDirectory { directory in
      var gifts = cs_test_gifts()
      // Invariant: the C string is valid during the call, and the call writes the structure before it returns.
      let line = unsafe cs_test_take_gifts(oldKernel, directory, &gifts)
      try #require(line == 0)
      return gifts
    }
  }

  @Test(
    "F2: the peer of the attach socket cannot write into the ring, on kernels with and without the write seal",
    arguments: [false, true])
  func sealedRing(oldKernel: Bool) throws {
    #expect(try !gifts(oldKernel: oldKernel).is_ring_writable)
  }

  @Test("F2: the files sent with the first message (hello) do not depend on paths in the ring or on replaced files")
  func chosenFiles() throws {
    let gifts = try gifts(oldKernel: false)
    #expect(gifts.first_count >= 2)
    #expect(gifts.foreign_count == 0)
    #expect(!gifts.has_replaced_plugin)
    #expect(gifts.second_count == gifts.first_count - 1)
  }

  @Test("F2: another user's listener at the attach socket receives no data", .enabled(if: geteuid() == 0))
  func stranger() throws {
    try withTemporaryDirectory { directory in
      var waitStatus: Int32 = 0
      // Invariant: the C string is valid during the call, and the call writes the number before it returns.
      let line = unsafe cs_test_run_beside_stranger(directory, &waitStatus)
      #expect(line == 0)
      #expect(waitStatus & 0x7f == SIGSEGV)
      var spool = cs_test_spool()
      // Invariant: the C string is valid during the call, and the call writes the summary before it returns.
      try #require(unsafe cs_test_read_spool(directory, &spool))
      #expect(spool.committed_count == 1)
    }
  }

  /// The socket path of a process whose runtime directory has this owner and mode.
  private func socket(owner: uid_t, mode: mode_t) throws -> (path: String, directory: String) {
    try withTemporaryDirectory { directory in
      // Invariant: the C strings of both paths are valid during the calls.
      try #require(unsafe chmod(directory, mode) == 0 && (owner == geteuid() || chown(directory, owner, owner) == 0))
      var text = [CChar](repeating: 0, count: 256)
      // Invariant: the array has the length that the function requires.
      try #require(unsafe cs_test_default_socket(directory, &text))
      let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      return (String(decoding: bytes, as: UTF8.self), directory)
    }
  }

  @Test("F7: the library trusts a runtime directory only if the user owns it and no other user can write to it")
  func ownRuntimeDirectory() throws {
    let own = try socket(owner: geteuid(), mode: 0o700)
    #expect(own.path.hasPrefix(own.directory + "/crashd/attach: "))
    #expect(try socket(owner: geteuid(), mode: 0o770).path.hasPrefix("/run/crashd/attach: "))
  }

  @Test("F7: the library ignores a runtime directory of another user", .enabled(if: geteuid() == 0))
  func foreignRuntimeDirectory() throws {
    #expect(try socket(owner: 65_534, mode: 0o700).path.hasPrefix("/run/crashd/attach: "))
  }

  @Test("F7: the library writes no ring to a spool directory of another user", .enabled(if: geteuid() == 0))
  func foreignSpool() throws {
    try withTemporaryDirectory { directory in
      let spool = directory + "/spool"
      // Invariant: the C strings are valid during the calls.
      try #require(unsafe mkdir(spool, 0o700) == 0 && chown(spool, 65_534, 65_534) == 0)
      try #require(unsafe chmod(spool, 0o2733) == 0)
      let waitStatus = unsafe cs_test_run(.CS_TEST_SEGV, directory)
      #expect(waitStatus & 0x7f == SIGSEGV)
      var found = cs_test_spool()
      try #require(unsafe cs_test_read_spool(directory, &found))
      #expect(found.file_count == 0 && found.partial_count == 0)
    }
  }
}

@Suite("A non-dumpable process", .enabled(if: cs_test_can_run() && geteuid() == 0))
struct RestrictedTests {
  private func crash(_ restriction: cs_test_restriction) throws -> (spool: cs_test_spool, hasSecret: Bool) {
    try withTemporaryDirectory { directory in
      let path = directory + "/spool"
      // Invariant: the C strings are valid during the calls, and the call writes the summary before it returns.
      try #require(unsafe mkdir(path, 0o700) == 0 && chmod(path, 0o1733) == 0 && chmod(directory, 0o755) == 0)
      let waitStatus = unsafe cs_test_run_restricted(restriction, directory)
      #expect(waitStatus & 0x7f == SIGSEGV)
      var spool = cs_test_spool()
      try #require(unsafe cs_test_read_spool(directory, &spool))
      let secrets: [String] = [CS_TEST_STACK_SECRET, CS_TEST_HEAP_SECRET]
      return (spool, secrets.contains { unsafe cs_test_spool_contains(directory, $0) })
    }
  }

  @Test(
    "F6: the record of a non-dumpable process has no memory, in every mode of memory capture",
    arguments: [cs_test_restriction.CS_TEST_RESTRICTED_BEFORE, .CS_TEST_RESTRICTED_AFTER])
  func noMemory(restriction: cs_test_restriction) throws {
    let (spool, hasSecret) = try crash(restriction)
    #expect(!hasSecret)
    #expect(spool.committed_count == 1)
    #expect(spool.is_restricted && spool.request_begun == 1)
    #expect(spool.stack_bytes == 0 && spool.memory_count == 0)
    // This spool file contains registers, so `has_address` must be true. The next test expects false.
    #expect(spool.has_address)
  }

  @Test("F6: a non-dumpable process's spool file has no memory, registers, texts, addresses or counts of requests")
  func dropped() throws {
    let (spool, hasSecret) = try crash(.CS_TEST_RESTRICTED_DROPPED)
    #expect(!hasSecret)
    #expect(spool.file_count == 1 && spool.committed_count == 1 && spool.bad_checksum_count == 0)
    #expect(spool.signal == SIGSEGV && spool.frame_count > 2)
    #expect(spool.is_restricted && spool.flags & CS_RING_RECORD_BARE != 0)
    #expect(spool.stack_bytes == 0 && spool.memory_count == 0)
    #expect(!spool.has_address && spool.request_begun == 0)
  }
}
