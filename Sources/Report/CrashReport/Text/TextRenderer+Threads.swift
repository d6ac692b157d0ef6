/// Renders the threads that did not crash.
extension TextRenderer {
  /// Returns one section for each distinct stack, because a server has many idle threads with the same stack.
  func otherThreadSections(_ threads: [CrashReport.CrashedThread], in report: CrashReport) -> [[String]] {
    var stacks: [Stack] = []
    var members: [Stack: [CrashReport.CrashedThread]] = [:]
    for thread in threads {
      let stack = Stack(thread)
      if members[stack] == nil { stacks.append(stack) }
      members[stack, default: []].append(thread)
    }
    return stacks.map { stack in
      let group = members[stack] ?? []
      guard let first = group.first else { return [] }
      var lines = threadSection(first, isFirst: false, in: report)
      let rest = group.dropFirst()
      if !rest.isEmpty {
        let names = rest.prefix(Self.namesLimit).map(threadName).joined(separator: ", ")
        let more = rest.count > Self.namesLimit ? ", …" : ""
        lines.insert("  \(counted(rest.count, "more thread")) like it: \(names)\(more)", at: 1)
      }
      return lines
    }
  }

  /// Returns why a thread has no stack, such as `did not answer in time (running)`.
  func describe(_ silence: CrashReport.Silence) -> String {
    let state = Self.runStates[silence.runState].map { " (\($0))" } ?? ""
    return (silence.isBlocking ? "could not answer: it blocks signals" : "did not answer in time") + state
  }

  /// Returns a description of a task, such as `in task 12 "restock", at background priority`.
  func describe(_ task: CrashReport.Task) -> String {
    let name = task.name.map { " \"\(CleanText.line($0))\"" } ?? ""
    return "  in task \(task.id)\(name), at \(task.priorityName) priority"
  }

  private static let namesLimit = 8

  private static let runStates = [
    "R": "running", "S": "sleeping", "D": "waiting in the kernel", "T": "stopped", "t": "traced", "Z": "ended",
    "X": "ended", "I": "idle",
  ]

  /// A key that is equal for threads with the same stack.
  private struct Stack: Hashable {
    var addresses: [UInt64]
    var omitted: Int?
    var isBlocking: Bool?
    var runState: String?

    init(_ thread: CrashReport.CrashedThread) {
      addresses = thread.frames.map(\.address.rawValue)
      omitted = thread.framesOmitted
      isBlocking = thread.silence?.isBlocking
      runState = thread.silence?.runState
    }
  }
}
