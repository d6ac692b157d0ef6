import CrashRing
import Testing

@Suite("A crash in an unusual state of the process")
struct LockTests {
  @Test(
    "a crash while a lock of libc, the loader or the runtime is held is recorded with its stack",
    arguments: ["inside-stdio", "inside-setxid", "fork-lock-held-by-other"])
  func locks(scenario: String) throws {
    let contents = try capture(scenario)
    #expect(contents.records.count == 1)
    let record = try #require(contents.records.first)
    #expect(record.frames.count > 3)
    #expect(contents.losses.isEmpty)
  }

  @Test(
    "the record of a SIGABRT from another process has no C++ exception, even if the program is handling one",
    .enabled(if: !isSanitized, "a sanitizer's operator new calls no new-handler"))
  func sentAbort() throws {
    let contents = try capture("sent-abort-in-new")
    let record = try #require(contents.records.first)
    #expect(record.senderPid == contents.identity.pid && record.code == 0)
    #expect(record.exceptionType.isEmpty)
    #expect(record.exceptionText.isEmpty)
  }

  @Test("a crash records the Swift tasks of other threads with name, priority and awaiting functions")
  func waitingTask() throws {
    var contents = try capture("task-beside-task")
    // Repeats the crash if a thread did not run at all during the thread sweep (the recording of the other threads).
    for _ in 0..<3 where contents.threads.contains(where: { $0.answer != .whole }) {
      contents = try capture("task-beside-task")
    }
    let thread = try #require(contents.threads.first { $0.task?.name == "count the stock" })
    #expect(thread.answer == .whole)
    #expect(thread.task?.priority == 0x11)
    let task = try #require(thread.task)
    #expect(task.id > 0 && task.id != contents.records.first?.task?.id)
    // The callers are two functions and the closure of the task. The target CrashTests checks their names.
    let callers = thread.frames.filter(\.isAsync)
    #expect(callers.count >= 3)
    #expect(callers.prefix(3).allSatisfy { $0.image == callers.first?.image && $0.image != nil })
    #expect(Set(callers.map(\.pc)).count == callers.count)
  }
}
