// The reasons why a trap was not contained, and why containment does not work. Only this file defines the sentences of
// the reasons.
extension CrashReport.Containment {
  /// Why the handler did not contain a trap.
  ///
  /// The value is a number if this version does not define the reason.
  public struct Reason: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The process had already contained the maximum number of traps (the budget).
    package static let budget = Self("budget")

    /// Creates the reason from a number of `cs_ring_verdict_reason`; nil if the number is 0.
    package init?(number: Int) {
      guard number != 0 else { return nil }
      self.init(Self.all.indices.contains(number - 1) ? Self.all[number - 1].word : "\(number)")
    }

    /// The reason as a clause, such as `the trap was on an actor`.
    package var clause: String { Self.clauses[rawValue] ?? "the handler gave the reason \(CleanText.line(rawValue))" }

    private static let clauses = Dictionary(uniqueKeysWithValues: all.map { ($0.word, $0.clause) })

    /// The reasons in the order of their numbers; the first number is 1.
    package static let all: [(word: String, clause: String)] = [
      ("budget", "the budget of contained traps was used up"),
      ("deepStack", "the stack had too many frames"),
      ("unknownFrames", "the stack had frames that could not be identified"),
      ("libc", "the C library or the loader called the code that trapped"),
      ("dispatch", "Dispatch called the code that trapped"),
      ("lazyGlobal", "the thread was initializing a lazy global"),
      ("concurrency", "Swift's concurrency library called the code that trapped, and may hold a lock"),
      ("actor", "the trap was on an actor"),
      ("stream", "the thread held the lock of stdin, stdout or stderr"),
      ("noTask", "the thread ran no Swift task"),
      ("noRequest", "the task belonged to no contained request"),
      ("notTrap", "the signal did not come from a Swift trap"),
      ("foreignCode", "code that is not Swift trapped, or called the code that trapped"),
      ("forkedChild", "the process was a forked child"),
      ("sent", "a process had sent the signal"),
      ("shieldLock", "the thread held a lock of the shield"),
      ("corrupt", "memory may have been corrupt after an earlier crash or a message of the heap"),
      ("replaced", "other code had replaced the shield's signal handler"),
      ("runtime", "a function of the Swift runtime that may hold a lock was on the stack"),
      ("ringFull", "a table of the shield had no free entry for the trap"),
      ("repeated", "the same code had trapped too often"),
      ("waits", "another thread waited for a lock that a stopped thread holds"),
      ("draining", "the process was already draining"),
      ("unavailable", "containment does not work in this process"),
      ("eventLoop", "the thread was an event loop"),
    ]
  }

  /// Why containment does not work in a process.
  ///
  /// The value is a number if this version does not define the obstacle.
  public struct Obstacle: OpenEnum {
    /// The value as a string, as in JSON.
    public let rawValue: String
    /// Creates a value from any string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates the obstacle from a number of `cs_ring_obstacle`; nil if the number is 0.
    package init?(number: Int) {
      guard number != 0 else { return nil }
      self.init(Self.all.indices.contains(number - 1) ? Self.all[number - 1].word : "\(number)")
    }

    /// The obstacle as a clause, such as `other code has replaced the global executor`.
    package var clause: String {
      Self.texts[rawValue]?.clause ?? "the process gave the reason \(CleanText.line(rawValue))"
    }

    /// How the user can remove the obstacle, or nil if no remedy is known.
    package var remedy: String? { Self.texts[rawValue]?.remedy }

    private static let texts = Dictionary(
      uniqueKeysWithValues: all.map { ($0.word, (clause: $0.clause, remedy: $0.remedy)) })

    /// The obstacles in the order of their numbers; the first number is 1.
    package static let all: [(word: String, clause: String, remedy: String?)] = [
      ("images", "the C library is not a separate image", "link the C library dynamically"),
      ("runtime", "functions of the Swift runtime were not found", "link a later release of the shield"),
      (
        "lookup", "the handler cannot find the request of a task with this Swift runtime",
        "link a later release of the shield"
      ),
      ("runner", "the function that runs tasks was not found", "link a later release of the shield"),
      (
        "executor", "the handler cannot find the actor of a thread with this Swift runtime",
        "link a later release of the shield"
      ),
      ("threads", "the threads of containment could not be created", "raise the limit of threads of the process"),
      (
        "hook", "other code has replaced the global executor",
        "remove NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor or similar code"
      ),
      (
        "version", "the pool is not verified with this version of the Swift runtime",
        "use the mode drain without the pool, or link a later release of the shield"
      ),
      ("cores", "a drain without the pool needs two processors", "use the pool, or give the process two processors"),
    ]
  }
}
