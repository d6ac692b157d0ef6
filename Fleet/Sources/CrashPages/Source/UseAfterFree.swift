/// The risk of use-after-free by class.
public struct UseAfterFree: Codable, Sendable, Equatable {
  /// The estimates for one class in one build.
  public struct Class: Codable, Sendable, Equatable {
    /// The name of the program.
    public var program: String
    /// The full name of the class.
    public var name: String
    /// The build id.
    public var build: String
    /// The memory of the quarantined objects in one process, in bytes.
    public var bytes: Double
    /// The probability that the quarantine detects an access; nil before the first detected access.
    public var detection: Double?
    /// The lower end of the 95 % confidence interval of `detection`.
    public var lower: Double?
    /// The upper end of this interval.
    public var upper: Double?
    /// The number of detected accesses.
    public var hits: Double
    /// The estimated number of accesses after the last release, both detected and missed.
    public var estimatedAccesses: Double
    /// The number of crashes that the statistics attribute to the class.
    public var crashes: Double

    /// Creates a value from its parts.
    public init(
      program: String, name: String, build: String, bytes: Double, detection: Double? = nil, lower: Double? = nil,
      upper: Double? = nil, hits: Double, estimatedAccesses: Double, crashes: Double
    ) {
      (self.program, self.name, self.build, self.bytes) = (program, name, build, bytes)
      (self.detection, self.lower, self.upper) = (detection, lower, upper)
      (self.hits, self.estimatedAccesses, self.crashes) = (hits, estimatedAccesses, crashes)
    }
  }

  /// Incidents of one class with the same access kind and call site.
  public struct Group: Codable, Sendable, Equatable {
    /// The name of the program.
    public var program: String
    /// The class.
    public var className: String
    /// The access, such as `call of Cart.total()`.
    public var access: String
    /// The function of the access.
    public var place: String
    /// The number of occurrences.
    public var count: Int
    /// The time of the last occurrence.
    public var last: String
    /// The median delay from the last release to the access, in nanoseconds.
    public var delay_ns: Int?

    /// Creates a value from its parts.
    public init(
      program: String, className: String, access: String, place: String, count: Int, last: String, delay_ns: Int? = nil
    ) {
      (self.program, self.className, self.access, self.place) = (program, className, access, place)
      (self.count, self.last, self.delay_ns) = (count, last, delay_ns)
    }
  }

  /// The classes.
  public var classes: [Class]
  /// The groups of incidents, the one seen last first.
  public var groups: [Group]
  /// The delays from the last release to the access, in nanoseconds, of the newest incidents.
  public var delays_ns: [Int]

  /// Creates a value from its parts.
  public init(classes: [Class], groups: [Group], delays_ns: [Int]) {
    (self.classes, self.groups, self.delays_ns) = (classes, groups, delays_ns)
  }
}

/// The alarms about use-after-free crashes.
public struct Alarms: Codable, Sendable, Equatable {
  /// The alarm of one program.
  public struct Program: Codable, Sendable, Equatable {
    /// The name of the program.
    public var name: String
    /// The level of protection, such as `raised`.
    public var level: String
    /// A number that grows while crashes are more frequent than usual.
    public var evidence: Double
    /// The value of `evidence` at which crashd raises the alarm.
    public var threshold: Double
    /// The usual number of crashes in a day.
    public var usualPerDay: Double
    /// The days that had crashes or detected accesses, newest last.
    public var days: [Day]
    /// The reason for the last change of the level.
    public var lastSwitch: String?
    /// The time of the last change of the level.
    public var lastSwitchTime: String?

    /// Creates a value from its parts.
    public init(
      name: String, level: String, evidence: Double, threshold: Double, usualPerDay: Double, days: [Day],
      lastSwitch: String? = nil, lastSwitchTime: String? = nil
    ) {
      (self.name, self.level, self.evidence, self.threshold) = (name, level, evidence, threshold)
      (self.usualPerDay, self.days) = (usualPerDay, days)
      (self.lastSwitch, self.lastSwitchTime) = (lastSwitch, lastSwitchTime)
    }
  }

  /// The counts of one day.
  public struct Day: Codable, Sendable, Equatable {
    /// The date, such as `2026-11-22`.
    public var date: String
    /// The number of use-after-free crashes.
    public var crashes: Int
    /// The number of accesses that the quarantine detected.
    public var hits: Int

    /// Creates a value from its parts.
    public init(date: String, crashes: Int, hits: Int) { (self.date, self.crashes, self.hits) = (date, crashes, hits) }
  }

  /// A decision about the protection of a program.
  public struct Decision: Codable, Sendable, Equatable {
    /// The time.
    public var time: String
    /// The name of the program.
    public var program: String
    /// The decision and its reason, as a sentence.
    public var text: String

    /// Creates a value from its parts.
    public init(time: String, program: String, text: String) {
      (self.time, self.program, self.text) = (time, program, text)
    }
  }

  /// The programs.
  public var programs: [Program]
  /// The latest decisions, newest first.
  public var decisions: [Decision]

  /// Creates a value from its parts.
  public init(programs: [Program], decisions: [Decision]) { (self.programs, self.decisions) = (programs, decisions) }
}
