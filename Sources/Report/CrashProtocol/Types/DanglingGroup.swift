public import CrashReport

/// A group of use-after-free incidents with the same class, access kind and call site in one program.
///
/// Each process and each call stack has its own incident. A group combines them.
public struct DanglingGroup: Codable, Sendable, Equatable {
  /// The id of the incident that was seen last.
  ///
  /// `crashctl dangling show` accepts this id.
  public var id: String
  /// The program's name.
  public var program: String
  /// The class of the objects.
  public var className: String
  /// The access kind, such as `call`.
  public var kind: IncidentReport.Kind
  /// The called method, whether or not the call was executed, or nil for other access kinds.
  public var method: String?
  /// The innermost in-app function of the access, or another function if no function is in-app.
  public var place: String
  /// The source location, such as `Shop.swift:12`, of the incident that was seen last, or empty if unknown.
  public var line: String
  /// The number of occurrences.
  public var count: Int
  /// The number of processes.
  public var processes: Int
  /// The number of builds.
  public var builds: Int
  /// The number of functions that released the objects.
  public var releases: Int
  /// The modes of the incidents, in alphabetical order.
  public var modes: [IncidentReport.Mode]
  /// The time of the first occurrence, RFC 3339 in UTC.
  public var first: String
  /// The time of the last occurrence.
  public var last: String
  /// The median time between the last release and the access, in nanoseconds, over the incidents with a known time.
  public var age_ns: Int?
  /// `certain`, or `probable` if no incident of the group is certain.
  public var confidence: IncidentReport.Confidence

  /// Creates a group from its parts.
  package init(
    id: String, program: String, className: String, kind: IncidentReport.Kind, method: String?, place: String,
    line: String, count: Int, processes: Int, builds: Int, releases: Int, modes: [IncidentReport.Mode], first: String,
    last: String, age_ns: Int?, confidence: IncidentReport.Confidence
  ) {
    (self.id, self.program, self.className, self.kind, self.method) = (id, program, className, kind, method)
    (self.place, self.line, self.count, self.processes, self.builds) = (place, line, count, processes, builds)
    (self.releases, self.modes, self.first, self.last) = (releases, modes, first, last)
    (self.age_ns, self.confidence) = (age_ns, confidence)
  }
}
