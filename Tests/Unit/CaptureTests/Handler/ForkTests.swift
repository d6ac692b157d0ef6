import CTestKit
import Glibc
import Testing

@Suite("Starts in forked children, and starts in two parts", .enabled(if: cs_test_can_run()))
struct ForkTests {
  @Test(
    "a forked child that starts like its parent has a ring, the annotations and the images; the parent's is untouched",
    arguments: [
      cs_test_way.CS_TEST_CHILD_LIKE_PARENT, .CS_TEST_CHILD_REATTACHES, .CS_TEST_CHILD_BESIDE_LOADER_LOCK,
      .CS_TEST_GRANDCHILD,
    ])
  func child(way: cs_test_way) throws {
    let outcome = try crash(way)
    #expect(outcome.exitCode == 0)
    #expect(outcome.spool.file_count == 1)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.frame_count > 3)
    #expect(outcome.spool.image_count > 1)
  }

  @Test("if the parent has not started the shield, a forked child cannot start it like its parent")
  func childOfNobody() throws {
    #expect(try crash(.CS_TEST_CHILD_OF_NOBODY).exitCode == 0)
  }

  @Test(
    "the first part of a start is enough to capture a crash, and the second part completes it",
    arguments: [cs_test_way.CS_TEST_EARLY, .CS_TEST_EARLY_THEN_START])
  func early(way: cs_test_way) throws {
    let outcome = try crash(way)
    #expect(outcome.signal == SIGSEGV)
    #expect(outcome.spool.committed_count == 1)
    #expect(outcome.spool.frame_count > 3)
  }
}
