@testable import CrashRing
import Testing

@Suite("The contents of a record")
struct RecordTests {
  @Test(
    "the record of an uncaught C++ exception has its type and message", arguments: ["cxx-terminate", "noexcept-throw"])
  func exception(scenario: String) throws {
    let record = try #require(try capture(scenario).records.first)
    #expect(record.exceptionType == "St13runtime_error")
    #expect(record.exceptionText == "the warehouse is closed")
  }

  @Test("D9: a record has the beginning of a message that is too long, and a mark where it is cut")
  func longMessage() throws {
    let message = try #require(try capture("fatal-error-long").records.first).message
    #expect(message.contains(".swift:"))
    #expect(message.contains("Fatal error: of 400 prices, line 0 is wrong; of 400 prices, line 1 is wrong"))
    #expect(message.hasSuffix("…"))
    #expect(message.utf8.count > 2000)
  }

  @Test("S15: a record notes that contained work trapped after its budget was used up")
  func budget() throws {
    let contents = try capture("array-index", ["--isolate", "3", "--budget", "2"])
    #expect(contents.records.map(\.exceedsIsolationBudget) == [true])
    #expect(contents.incidents.count == 2)
    #expect(try capture("array-index").records.map(\.exceedsIsolationBudget) == [false])
  }

  @Test("the record of a C++ exception without a message has the type of the exception")
  func number() throws {
    let record = try #require(try capture("cxx-throw-int").records.first)
    #expect(record.exceptionType == "i")
    #expect(record.exceptionText.isEmpty)
  }

  @Test("a record has the text of a C++ exception whose class has two base classes")
  func severalBases() throws {
    let record = try #require(try capture("cxx-throw-derived").records.first)
    #expect(record.exceptionType.hasSuffix("ClosedE"))
    #expect(record.exceptionText == "closed on Sundays")
  }

  @Test("a record of a SIGBUS has the mapped file and the offset in it")
  func mappedFile() throws {
    let record = try #require(try capture("bus-truncated-mmap").records.first)
    #expect(record.mappedFile == CrashRecord.MappedFile(path: "/memfd:truncated (deleted)", offset: 100))
    #expect(record.exceptionText.isEmpty)
    #expect(try capture("null-read").records.first?.mappedFile == nil)
  }

  @Test("a record of a dangling unowned reference has the object's class")
  func objectClass() throws {
    let record = try #require(try capture("unowned-dangling").records.first)
    #expect(record.objectClass == "CrashMaker.Customer")
    #expect(record.exceptionText.isEmpty)
    #expect(try capture("forced-cast-class").records.first?.objectClass == "")
  }

  @Test("a record of a crash in a task has the task's number, priority and name")
  func task() throws {
    let record = try #require(try capture("task-named").records.first)
    let task = try #require(record.task)
    #expect(task.name == "restock the shelves")
    // The task's own priority is 0x09, but a task of higher priority that waits for it can raise its priority.
    #expect([0x09, 0x15, 0x19].contains(task.priority))
    #expect(task.id > 0)
  }

  @Test("a record of a crash on a thread without a task has no task")
  func noTask() throws {
    let record = try #require(try capture("abort").records.first)
    #expect(record.task == nil)
  }

  @Test("a record of a crash in an unnamed task has no task name")
  func noName() throws {
    let record = try #require(try capture("in-async-let").records.first)
    #expect(record.task?.name == "")
  }

  @Test("the memory in a record contains the object header at the address in a register")
  func memory() throws {
    let contents = try capture("null-read")
    let record = try #require(contents.records.first)
    #expect(contents.memory.mode == .scrubbed)
    #expect(!record.memory.isEmpty)
    for memory in record.memory {
      #expect(memory.start % 8 == 0 && memory.bytes.count % 8 == 0 && !memory.bytes.isEmpty)
      // Memory that is part of the recorded stack is not recorded a second time.
      let stack = record.stackStart..<record.stackStart + UInt64(record.stack.count)
      let range = memory.start..<memory.start + UInt64(memory.bytes.count)
      #expect(record.registers.contains { range.contains($0) && !stack.contains($0) })
    }
    // A sanitizer's allocator does not use brk(2), so the start and the end of the brk heap are equal.
    #expect(contents.memory.heapStart ?? 0 <= record.heapEnd)
  }
}
