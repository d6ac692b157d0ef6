/// What is protected from uses of dead objects in one program of a user, by whose word, and what the statistics say.
public struct DanglingPolicy: Codable, Sendable, Equatable {
  /// A class that is protected.
  public struct Class: Codable, Sendable, Equatable {
    /// The full name.
    public var name: String
    /// `operator` or `statistics`.
    public var listedBy: String
    /// What becomes of its objects: `absorb`, `zero`, `diagnose`.
    public var mode: String
    /// How many of them are kept.
    public var limit: Int
  }

  /// What came on one day, UTC.
  public struct Day: Codable, Sendable, Equatable {
    /// Such as `2026-11-22`.
    public var date: String
    /// Reports with a dangling cause.
    public var crashes: Int
    /// Those of them that counted.
    public var counted: Int
    /// Uses that the quarantine caught.
    public var hits: Int
    /// Processes times hours.
    public var processHours: Double
    /// Crashes by build.
    public var builds: [String: Int]

    /// A day on which nothing came.
    public init(date: String) {
      self.date = date
      (crashes, counted, hits, processHours, builds) = (0, 0, 0, 0, [:])
    }
  }

  /// While the level is raised: how far it is from being lowered.
  public struct Stop: Codable, Sendable, Equatable {
    /// When it was raised, RFC 3339 in UTC.
    public var since: String
    /// Uses that were caught since.
    public var hits: Int
    /// Places that they came from.
    public var groups: Int
    /// Hits since the last new place.
    public var runWithoutNewGroup: Int
    /// So many of them end the level.
    public var enoughHitsWithoutNewGroup: Int
    /// The estimated share of uses from places not seen yet.
    public var unseenShare: Double
    /// The evidence that uses became rarer.
    public var dropEvidence: Double
    /// So much of it ends the level.
    public var dropThreshold: Double
    /// How long it lasts.
    public var days: Double
    /// How long it may.
    public var atMostDays: Double

    enum CodingKeys: String, CodingKey {
      case since, hits, groups, runWithoutNewGroup, enoughHitsWithoutNewGroup, unseenShare, dropEvidence
      case dropThreshold, days
      case atMostDays = "atMost_days"
    }
  }

  /// Whose processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// Its path.
  public var program: String
  /// `off`, `base` or `raised`.
  public var level: String
  /// `automatic`, `on` or `off`: the operator's word.
  public var pin: String
  /// Whether an alarm may raise the level.
  public var isAutomaticAllowed: Bool
  /// What the quarantine of one process may hold now.
  public var budgetBytes: Int
  /// The same at the level `base`.
  public var baseBudgetBytes: Int
  /// The same at the level `raised`.
  public var raisedBudgetBytes: Int
  /// Restarted processes that crash within this time count once.
  public var crashLoopSeconds: Double
  /// The detector's value.
  public var evidence: Double
  /// The value that is an alarm: the days between two false ones, at least.
  public var alarmThresholdDays: Double
  /// Crashes a day that are taken for usual.
  public var usualPerDay: Double
  /// Crashes that counted.
  public var countedCrashes: Int
  /// What is protected.
  public var classes: [Class]
  /// What never is.
  public var releasedClasses: [String]
  /// Whether all of the program's own classes are, because crashes did not name one.
  public var includesOwnClasses: Bool
  /// Attached processes.
  public var processes: Int
  /// Those that have applied it.
  public var obeying: Int
  /// What the others said, by class.
  public var refusals: [String: String]
  /// The last days on which something came, the latest last.
  public var days: [Day]
  /// While the level is raised.
  public var stop: Stop?
  /// The last change of the level, in words.
  public var lastSwitch: String?
  /// When that was, RFC 3339 in UTC.
  public var lastSwitchTime: String?

  enum CodingKeys: String, CodingKey {
    case uid, name, program, level, pin, isAutomaticAllowed, budgetBytes, baseBudgetBytes, raisedBudgetBytes
    case evidence, countedCrashes, classes, releasedClasses, includesOwnClasses, processes, obeying, refusals, days
    case stop, lastSwitch, lastSwitchTime
    case crashLoopSeconds = "crashLoop_s"
    case alarmThresholdDays = "alarmThreshold_days"
    case usualPerDay = "usual_perDay"
  }
}

/// Something that was decided about what a program's processes protect.
public struct DanglingEvent: Codable, Sendable, Equatable {
  /// The decision.
  public struct Decision: Codable, Sendable, Equatable {
    /// RFC 3339 in UTC.
    public var time: String
    /// `switched`, `advised`, `released` or `operator`.
    public var action: String
    /// The level before.
    public var from: String
    /// The level after.
    public var to: String
    /// All of it in words, with the reason.
    public var text: String
    /// Classes that became protected by it.
    public var classes: [String]
  }

  /// Its number in the store.
  public var sequence: Int
  /// Whose processes.
  public var uid: Int
  /// The program's name.
  public var name: String
  /// Its path.
  public var program: String
  /// What was decided.
  public var decision: Decision
}

/// The estimates of one class in one build.
public struct DanglingClass: Codable, Sendable, Equatable {
  /// A probability and the interval that it lies in with 95 %.
  public struct Probability: Codable, Sendable, Equatable {
    /// The probability.
    public var estimate: Double
    /// The interval.
    public var interval: Bounds
  }

  /// An interval.
  public struct Bounds: Codable, Sendable, Equatable {
    /// Its lower end.
    public var lower: Double
    /// Its upper end.
    public var upper: Double
  }

  /// The figures.
  public struct Figures: Codable, Sendable, Equatable {
    /// The class's full name.
    public var className: String
    /// The build's id.
    public var build: String
    /// Objects that are freed in a second, in one process.
    public var deallocationsPerSecond: Double
    /// The most of them between two looks.
    public var highestDeallocationsPerSecond: Double
    /// How many are kept.
    public var slots: Double
    /// The memory that this takes in one process.
    public var bytes: Double
    /// How long an object is kept; nil: for ever.
    public var horizonSeconds: Double?
    /// How likely a use is caught; nil before the first hit.
    public var detection: Probability?
    /// Uses that were caught.
    public var hits: Double
    /// Times that a handle was asked for an object that had gone; nil where an older crashd does not tell.
    public var handleMisses: Double?
    /// Uses in all, caught or missed.
    public var estimatedAccesses: Double
    /// The standard deviation of that.
    public var estimatedAccessesDeviation: Double
    /// Uses that were missed.
    public var missed: Double
    /// Crashes that were attributed to the class.
    public var attributedCrashes: Double
    /// Uses a day that the next KiB would catch.
    public var gainPerKiB: Double
    /// How many objects should be kept.
    public var suggestedSlots: Int
    /// Places of use that were seen.
    public var groups: Int
    /// The estimated share of uses from places not seen yet.
    public var unseenShare: Double

    enum CodingKeys: String, CodingKey {
      case className, build, deallocationsPerSecond, highestDeallocationsPerSecond, slots, bytes, detection, hits
      case handleMisses, estimatedAccesses, missed, attributedCrashes, gainPerKiB, suggestedSlots, groups, unseenShare
      case horizonSeconds = "horizon_s"
      case estimatedAccessesDeviation = "estimatedAccesses_sd"
    }
  }

  /// Whose processes.
  public var uid: Int
  /// The program's name.
  public var process: String
  /// Its path.
  public var program: String
  /// The figures.
  public var figures: Figures
}

/// What an operator changes of a program's rules; nil: it stays.
public struct DanglingRules: Codable, Sendable, Equatable {
  /// `automatic`, `on` or `off`.
  public var pin: String?
  /// Whether an alarm may raise the level.
  public var automatic: Bool?
  /// What the quarantine of one process may hold at the level `base`.
  public var baseBudgetBytes: Int?
  /// The same at the level `raised`.
  public var raisedBudgetBytes: Int?
  /// Restarted processes that crash within this time count once.
  public var crashLoopSeconds: Int?
  /// Days between two false alarms, at least.
  public var alarmThresholdDays: Int?

  enum CodingKeys: String, CodingKey {
    case pin, automatic, baseBudgetBytes, raisedBudgetBytes
    case crashLoopSeconds = "crashLoop_s"
    case alarmThresholdDays = "alarmThreshold_days"
  }

  /// Changes nothing yet.
  public init() {}
}

/// What came of a change.
public struct DanglingChange: Codable, Sendable, Equatable {
  /// The names of the programs.
  public var services: [String]
  /// Their attached processes.
  public var processes: Int
  /// Those that have applied it so far.
  public var obeying: Int

  /// Makes one from its parts.
  public init(services: [String], processes: Int, obeying: Int) {
    self.services = services
    self.processes = processes
    self.obeying = obeying
  }
}

extension CrashClient {
  private struct Named: Encodable {
    var name: String?
  }

  /// The policies of programs whose name contains this, of all without one.
  public func danglingPolicies(name: String? = nil) throws(ClientError) -> [DanglingPolicy] {
    struct Parameters: Decodable { var services: [DanglingPolicy] }
    return try call("DanglingPolicies", Named(name: name), returning: Parameters.self).services
  }

  /// The estimates of their classes.
  public func danglingClasses(name: String? = nil) throws(ClientError) -> [DanglingClass] {
    struct Parameters: Decodable { var classes: [DanglingClass] }
    return try call("DanglingClasses", Named(name: name), returning: Parameters.self).classes
  }

  /// What was decided about them, the latest first.
  public func danglingEvents(name: String? = nil, limit: Int? = nil) throws(ClientError) -> [DanglingEvent] {
    struct Query: Encodable {
      var name: String?
      var limit: Int?
    }
    struct Parameters: Decodable { var events: [DanglingEvent] }
    return try call("DanglingEvents", Query(name: name, limit: limit), returning: Parameters.self).events
  }

  /// Protects a class.
  ///
  /// - Parameters:
  ///   - className: Its full or its mangled name.
  ///   - name: In programs whose name contains this; in all without one.
  ///   - limit: How many dead objects to keep.
  ///   - mode: `absorb`, `zero` or `diagnose`.
  /// - Returns: The programs, and what their processes made of it.
  /// - Throws: What kept crashd from it.
  @discardableResult
  public func protect(
    class className: String, name: String? = nil, limit: Int? = nil, mode: String? = nil
  ) throws(ClientError) -> DanglingChange {
    struct Query: Encodable {
      var `class`: String
      var name: String?
      var limit: Int?
      var mode: String?
    }
    let query = Query(class: className, name: name, limit: limit, mode: mode)
    return try call("DanglingProtect", query, returning: DanglingChange.self)
  }

  /// Ends the protection of a class.
  /// - Returns: The programs, and what their processes made of it.
  @discardableResult
  public func release(class className: String, name: String? = nil) throws(ClientError) -> DanglingChange {
    struct Query: Encodable {
      var `class`: String
      var name: String?
    }
    return try call("DanglingRelease", Query(class: className, name: name), returning: DanglingChange.self)
  }

  /// Changes rules of programs.
  /// - Returns: The programs, and what their processes made of it.
  @discardableResult
  public func setRules(_ rules: DanglingRules, name: String) throws(ClientError) -> DanglingChange {
    struct Query: Encodable {
      var name: String
      var rules: DanglingRules

      enum CodingKeys: String, CodingKey { case name }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try rules.encode(to: encoder)
      }
    }
    return try call("PolicySet", Query(name: name, rules: rules), returning: DanglingChange.self)
  }
}
