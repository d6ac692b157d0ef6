/// The health of one build of a program: how long it ran, how many requests it served, and how often it crashed.
public struct BuildHealth: Codable, Sendable, Equatable {
  /// The numbers of requests.
  public struct Requests: Codable, Sendable, Equatable {
    /// The number of requests that began.
    public var begun: Int
    /// The number of requests that ended without an error.
    public var finished: Int
    /// The number of requests that ended by an error or by a contained trap.
    public var failed: Int
    /// The number of requests that were in flight when a crash ended their process.
    public var lost: Int

    /// Creates a value from its parts.
    package init(begun: Int, finished: Int, failed: Int, lost: Int) {
      (self.begun, self.finished, self.failed, self.lost) = (begun, finished, failed, lost)
    }

    /// The share of requests that were not in flight when a process crashed; nil if no request began.
    public var crashFree: Double? { begun > 0 ? 1 - Double(min(lost, begun)) / Double(begun) : nil }
  }

  /// The user ID of the build's processes.
  public var uid: Int
  /// The name of the program.
  public var program: String
  /// The build id of the executable, or `unknown`.
  public var build: String
  /// The program's annotation `release`; nil if the program has none.
  public var release: String?
  /// The program's annotation `environment`; nil if the program has none.
  public var environment: String?
  /// The time at which the first process of the build attached, as RFC 3339 in UTC.
  public var firstSeen: String
  /// The time at which a process of the build was last attached, as RFC 3339 in UTC.
  public var lastSeen: String
  /// The number of processes that are attached now.
  public var running: Int
  /// The total running time of all processes of the build, in seconds.
  public var processSeconds: Double
  /// The numbers of requests; nil if the program counts no requests.
  public var requests: Requests?
  /// The number of processes that a crash ended.
  public var crashes: Int
  /// The crash rate: the number of crashes per 1,000 process-hours; nil if no process ran.
  public var crashesPerThousandHours: Double?
  /// The lower end of the 95 % confidence interval of the crash rate.
  public var rateLower: Double?
  /// The upper end of the 95 % confidence interval of the crash rate.
  public var rateUpper: Double?
  /// The median time from a crash to the next attach of the program; nil if there was no such attach.
  public var timeToBack_ms: Double?
  /// The number of crashes after which a process of the program attached again.
  public var returns: Int
  /// The comparison with the program's build that was first seen directly before this build; nil for the first build.
  public var comparison: BuildVerdict?

  /// Creates the health of a build without counts.
  package init(
    uid: Int, program: String, build: String, release: String?, environment: String?, firstSeen: String,
    lastSeen: String
  ) {
    (self.uid, self.program, self.build) = (uid, program, build)
    (self.release, self.environment, self.firstSeen, self.lastSeen) = (release, environment, firstSeen, lastSeen)
    (running, processSeconds, crashes, returns) = (0, 0, 0, 0)
  }
}

/// Whether a new build crashes more often than an old build of the same program.
public struct BuildVerdict: Codable, Sendable, Equatable {
  /// The build id of the new build.
  public var build: String
  /// The build id of the old build.
  public var against: String
  /// Whether the evidence shows that the new build crashes more often.
  public var isWorse: Bool
  /// How many times better a higher rate of the new build explains the crashes than equal rates of both builds do (the
  /// e-value).
  public var evidence: Double
  /// The minimum evidence at which the new build is treated as worse.
  public var threshold: Double
  /// What the crash rates are relative to: `requests` or `processHours`.
  public var measure: String
  /// The number of compared crashes of the new build.
  public var newCrashes: Int
  /// The number of compared crashes of the old build.
  public var oldCrashes: Int
  /// The number of crashes that the new build would have had at the old build's rate; nil if the builds cannot be
  /// compared.
  public var expectedCrashes: Double?

  /// Creates a value from its parts.
  package init(
    build: String, against: String, isWorse: Bool, evidence: Double, threshold: Double, measure: String,
    newCrashes: Int, oldCrashes: Int, expectedCrashes: Double?
  ) {
    (self.build, self.against, self.isWorse) = (build, against, isWorse)
    (self.evidence, self.threshold, self.measure) = (evidence, threshold, measure)
    (self.newCrashes, self.oldCrashes, self.expectedCrashes) = (newCrashes, oldCrashes, expectedCrashes)
  }
}

/// The reply of the method `Health`.
public struct HealthReport: Codable, Sendable, Equatable {
  /// The builds in the order in which they were first seen.
  public var builds: [BuildHealth]
  /// The comparison that the call requested; nil if the call requested none.
  public var comparison: BuildVerdict?

  /// Creates a value from its parts.
  package init(builds: [BuildHealth], comparison: BuildVerdict? = nil) {
    (self.builds, self.comparison) = (builds, comparison)
  }
}
