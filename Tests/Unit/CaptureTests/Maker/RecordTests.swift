@testable import CrashRing
import Testing

@Suite("What a record tells")
struct RecordTests {
  @Test(
    "of a C++ exception, its type and the text that it was made with", arguments: ["cxx-terminate", "noexcept-throw"])
  func exception(scenario: String) throws {
    let record = try #require(try capture(scenario).records.first)
    #expect(record.exceptionType == "St13runtime_error")
    #expect(record.exceptionText == "the warehouse is closed")
  }

  @Test("D9: of a long message its beginning, and a mark where it is cut")
  func longMessage() throws {
    let message = try #require(try capture("fatal-error-long").records.first).message
    #expect(message.contains(".swift:"))
    #expect(message.contains("Fatal error: of 400 prices, line 0 is wrong; of 400 prices, line 1 is wrong"))
    #expect(message.hasSuffix("…"))
    #expect(message.utf8.count > 2000)
  }

  @Test("S15: that isolated work trapped when its budget was used up")
  func budget() throws {
    let contents = try capture("array-index", ["--isolate", "3", "--budget", "2"])
    #expect(contents.records.map(\.exceedsIsolationBudget) == [true])
    #expect(contents.incidents.count == 2)
    #expect(try capture("array-index").records.map(\.exceedsIsolationBudget) == [false])
  }

  @Test("of a C++ exception without a text, its type")
  func number() throws {
    let record = try #require(try capture("cxx-throw-int").records.first)
    #expect(record.exceptionType == "i")
    #expect(record.exceptionText.isEmpty)
  }

  @Test("of a C++ exception with two base classes, the text of the one that has one")
  func severalBases() throws {
    let record = try #require(try capture("cxx-throw-derived").records.first)
    #expect(record.exceptionType.hasSuffix("ClosedE"))
    #expect(record.exceptionText == "closed on Sundays")
  }

  @Test("of a SIGBUS, the file that was mapped there, and where in it")
  func mappedFile() throws {
    let record = try #require(try capture("bus-truncated-mmap").records.first)
    #expect(record.mappedFile == CrashRecord.MappedFile(path: "/memfd:truncated (deleted)", offset: 100))
    #expect(record.exceptionText.isEmpty)
    #expect(try capture("null-read").records.first?.mappedFile == nil)
  }

  @Test("of an unowned reference, the class of what it referred to")
  func objectClass() throws {
    let record = try #require(try capture("unowned-dangling").records.first)
    #expect(record.objectClass == "CrashMaker.Customer")
    #expect(record.exceptionText.isEmpty)
    #expect(try capture("forced-cast-class").records.first?.objectClass == "")
  }

  @Test("of a crash in a task, the task's number, priority and name")
  func task() throws {
    let record = try #require(try capture("task-named").records.first)
    let task = try #require(record.task)
    #expect(task.name == "restock the shelves")
    // Where nothing waits for it with a higher one it would be 0x09; its waiter raises it.
    #expect([0x09, 0x15, 0x19].contains(task.priority))
    #expect(task.id > 0)
  }

  @Test("of a crash on a thread without a task, none")
  func noTask() throws {
    let record = try #require(try capture("abort").records.first)
    #expect(record.task == nil)
  }

  @Test("of a crash in a task without a name, no name")
  func noName() throws {
    let record = try #require(try capture("in-async-let").records.first)
    #expect(record.task?.name == "")
  }

  @Test("of the memory around registers, the header of the object that is in one")
  func memory() throws {
    let contents = try capture("null-read")
    let record = try #require(contents.records.first)
    #expect(contents.memory.mode == .scrubbed)
    #expect(!record.memory.isEmpty)
    for memory in record.memory {
      #expect(memory.start % 8 == 0 && memory.bytes.count % 8 == 0 && !memory.bytes.isEmpty)
      // What is on the recorded stack is not there twice.
      let stack = record.stackStart..<record.stackStart + UInt64(record.stack.count)
      let range = memory.start..<memory.start + UInt64(memory.bytes.count)
      #expect(record.registers.contains { range.contains($0) && !stack.contains($0) })
    }
    // Equal where the allocator, as a sanitizer's, does without brk.
    #expect(contents.memory.heapStart ?? 0 <= record.heapEnd)
  }
}
