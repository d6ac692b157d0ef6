public import CrashReport

/// A group of crashes with the same cause.
public struct Issue: Codable, Sendable, Equatable {
  /// The key of the group.
  public var key: String
  /// The readable title.
  public var title: String
  /// The diagnosis of the newest crash as a sentence; nil if unknown.
  public var sentence: String?
  /// The names of the programs.
  public var programs: [String]
  /// The number of crashes, including those whose reports were removed.
  public var count: Int
  /// The number of hosts; nil if the source covers only one machine.
  public var hosts: Int?
  /// The number of requests that the crashes lost; nil if unknown.
  public var lostRequests: Int?
  /// The time of the first crash.
  public var first: String
  /// The time of the last crash.
  public var last: String
  /// The number of builds.
  public var builds: Int
  /// The build id of the first crash.
  public var firstBuild: String
  /// The build id of the last crash.
  public var lastBuild: String
  /// The release of the last crash.
  public var release: String?
  /// The state: `new`, `open`, `resolved`, `regressed` or `muted`.
  public var state: String
  /// The id of the newest event; nil if all reports were removed.
  public var newestEvent: String?

  /// Creates an issue from its parts.
  public init(
    key: String, title: String, sentence: String? = nil, programs: [String], count: Int, hosts: Int? = nil,
    lostRequests: Int? = nil, first: String, last: String, builds: Int, firstBuild: String, lastBuild: String,
    release: String? = nil, state: String, newestEvent: String? = nil
  ) {
    (self.key, self.title, self.sentence, self.programs, self.count) = (key, title, sentence, programs, count)
    (self.hosts, self.lostRequests, self.first, self.last) = (hosts, lostRequests, first, last)
    (self.builds, self.firstBuild, self.lastBuild, self.release) = (builds, firstBuild, lastBuild, release)
    (self.state, self.newestEvent) = (state, newestEvent)
  }
}

/// An issue with the distribution of its events.
public struct IssueDetail: Codable, Sendable, Equatable {
  /// The number of events for each value of one property, such as the build.
  public struct Distribution: Codable, Sendable, Equatable {
    /// The name of the property, such as `build`.
    public var property: String
    /// The values and their numbers, greatest number first.
    public var values: [Value]
    /// If only the newest events were counted, their number; nil if all events were counted.
    public var sample: Int?

    /// Creates a distribution.
    public init(property: String, values: [Value], sample: Int? = nil) {
      (self.property, self.values, self.sample) = (property, values, sample)
    }
  }

  /// A value of a property.
  public struct Value: Codable, Sendable, Equatable {
    /// The value.
    public var value: String
    /// The number of events.
    public var count: Int

    /// Creates a value.
    public init(value: String, count: Int) { (self.value, self.count) = (value, count) }
  }

  /// The issue.
  public var issue: Issue
  /// The distributions.
  public var distributions: [Distribution]

  /// Creates a detail from its parts.
  public init(issue: Issue, distributions: [Distribution]) {
    (self.issue, self.distributions) = (issue, distributions)
  }
}

/// One crash in a list.
public struct Event: Codable, Sendable, Equatable {
  /// The id of the report.
  public var id: String
  /// The time of the crash.
  public var time: String
  /// The name of the program.
  public var program: String
  /// The pid of the process; nil if the source does not know it.
  public var pid: Int?
  /// The name of the signal.
  public var signal: String
  /// The diagnosis as a sentence; can be empty.
  public var sentence: String
  /// The source location of the first in-app frame, such as `Shop.swift:12`.
  public var place: String?
  /// The key of the issue; empty while symbols are read.
  public var issue: String
  /// The release.
  public var release: String?
  /// The environment.
  public var environment: String?
  /// The operation of the request that crashed.
  public var route: String?
  /// The host.
  public var host: String?
  /// The name of the pod.
  public var pod: String?

  /// Creates an event from its parts.
  public init(
    id: String, time: String, program: String, pid: Int? = nil, signal: String, sentence: String, place: String? = nil,
    issue: String, release: String? = nil, environment: String? = nil, route: String? = nil, host: String? = nil,
    pod: String? = nil
  ) {
    (self.id, self.time, self.program, self.pid, self.signal) = (id, time, program, pid, signal)
    (self.sentence, self.place, self.issue, self.release) = (sentence, place, issue, release)
    (self.environment, self.route, self.host, self.pod) = (environment, route, host, pod)
  }
}

/// One crash in full.
public struct EventDetail: Codable, Sendable, Equatable {
  /// The report.
  public var report: CrashReport
  /// The key of the issue; empty while symbols are read.
  public var issue: String
  /// The id of the next newer event of the issue.
  public var newer: String?
  /// The id of the next older event of the issue.
  public var older: String?

  /// Creates a detail from its parts.
  ///
  /// Without `issue`, the issue is the group of the report.
  public init(report: CrashReport, issue: String? = nil, newer: String? = nil, older: String? = nil) {
    (self.report, self.issue, self.newer, self.older) = (report, issue ?? report.group.key, newer, older)
  }
}
