public import CrashReport

/// Use-after-free incidents that are the same to an operator: of one class, of one kind, at one call site of one program.
///
/// Each process and each call stack has an incident of its own; here they are one.
public struct DanglingGroup: Codable, Sendable, Equatable {
  /// The incident of it that was seen last: `crashctl dangling show` shows it.
  public var id: String
  /// The program's name.
  public var program: String
  /// The class of the objects.
  public var className: String
  /// What was done, such as `call`.
  public var kind: IncidentReport.Kind
  /// The method that was called, or was to be; nil for other kinds.
  public var method: String?
  /// The innermost in-app function that did it; another function where there is none.
  public var place: String
  /// Such as `Shop.swift:12`, of the incident that was seen last; empty where it is not known.
  public var line: String
  /// How often.
  public var count: Int
  /// In how many processes.
  public var processes: Int
  /// Of how many builds.
  public var builds: Int
  /// From how many functions the objects had been released.
  public var releases: Int
  /// What was done about it, in alphabetical order.
  public var modes: [IncidentReport.Mode]
  /// RFC 3339 in UTC, of the first time.
  public var first: String
  /// Of the last time.
  public var last: String
  /// Between the last release and the use, in nanoseconds: the median of the incidents that have it.
  public var age_ns: Int?
  /// `certain`, or `probable` where none of its incidents is certain.
  public var confidence: IncidentReport.Confidence

  /// Makes one from its parts.
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
