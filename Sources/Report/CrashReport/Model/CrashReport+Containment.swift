// How the process reacted to the trap: contained, drained, or ended at once.
extension CrashReport {
  /// The reaction of a process in which the program turned containment on.
  public struct Containment: Codable, Sendable, Equatable {
    /// The mode that the program chose.
    public var mode: Mode
    /// What the signal handler decided at the crash, or nil if the program has not crashed.
    public var verdict: Verdict?
    /// Why the trap was not contained, or nil if there is no reason.
    public var reason: Reason?
    /// Why containment does not work in the process, or nil if it works.
    public var obstacle: Obstacle?
    /// The maximum number of traps that the process is allowed to contain; 0 for the mode `drain`.
    public var budget: Int
    /// The number of traps of requests that the process contained.
    public var contained: Int
    /// The drain that followed the crash, or nil if the process did not drain.
    public var drain: Drain?

    /// Creates a value from its parts.
    public init(
      mode: Mode, verdict: Verdict? = nil, reason: Reason? = nil, obstacle: Obstacle? = nil, budget: Int = 0,
      contained: Int = 0, drain: Drain? = nil
    ) {
      (self.mode, self.verdict, self.reason, self.obstacle) = (mode, verdict, reason, obstacle)
      (self.budget, self.contained, self.drain) = (budget, contained, drain)
    }

    /// A drain: how the requests that were in flight at the crash ended.
    public struct Drain: Codable, Sendable, Equatable {
      /// What ended the drain.
      ///
      /// The value is nil if crashd read the ring before the drain ended. crashd adds the value when the process has
      /// ended.
      public var endedBy: End?
      /// The number of requests that ended during the drain.
      ///
      /// Requests whose thread trapped or waited for a lock of a stopped thread are not included.
      public var finished: Int
      /// The number of requests that had not ended when the drain ended.
      ///
      /// Requests whose thread waited for a lock of a stopped thread are included.
      public var lost: Int
      /// The time from the beginning to the end of the drain, in nanoseconds.
      ///
      /// The value is nil while `endedBy` is nil, or if the clock was set back.
      public var durationNanoseconds: Int?

      /// Creates a drain from its parts.
      public init(endedBy: End? = nil, finished: Int, lost: Int, durationNanoseconds: Int? = nil) {
        (self.endedBy, self.finished, self.lost) = (endedBy, finished, lost)
        self.durationNanoseconds = durationNanoseconds
      }
    }

    /// The reaction of the process to a trap, as chosen by the program.
    public struct Mode: OpenEnum {
      /// The value as a string, as in JSON.
      public let rawValue: String
      /// Creates a value from any string.
      public init(rawValue: String) { self.rawValue = rawValue }

      /// After a trap, the process ends as soon as the requests in flight have finished.
      public static let drain = Self("drain")
      /// The process contains traps until the maximum number of traps (the budget) is reached, and drains at the next
      /// trap.
      public static let contain = Self("contain")
    }

    /// What the handler decided at a crash.
    public struct Verdict: OpenEnum {
      /// The value as a string, as in JSON.
      public let rawValue: String
      /// Creates a value from any string.
      public init(rawValue: String) { self.rawValue = rawValue }

      /// The trap was contained, and the process continues.
      public static let contain = Self("contain")
      /// The process ends as soon as the other requests in flight have finished.
      public static let drain = Self("drain")
      /// The process ends at once.
      public static let die = Self("die")
    }

    /// What ended a drain.
    public struct End: OpenEnum {
      /// The value as a string, as in JSON.
      public let rawValue: String
      /// Creates a value from any string.
      public init(rawValue: String) { self.rawValue = rawValue }

      /// The drain ended because all requests had ended.
      public static let done = Self("done")
      /// The drain ended because the grace period was over.
      public static let deadline = Self("deadline")
      /// The drain ended because no request made progress.
      public static let stall = Self("stall")
      /// The drain ended at another crash, or at a trap for which the process had no spare thread left.
      public static let secondCrash = Self("secondCrash")
      /// The program called `exit()`.
      public static let exit = Self("exit")
      /// The drain ended because requests waited for a lock that a stopped thread holds.
      public static let waiter = Self("waiter")
      /// The process was killed or called `_exit()`, so the numbers of requests in the drain are unknown.
      public static let interrupted = Self("interrupted")

      /// The values of this type that this version defines.
      package static let known: Set<Self> = [.done, .deadline, .stall, .secondCrash, .exit, .waiter, .interrupted]
    }
  }
}
