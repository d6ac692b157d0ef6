public import CrashReport

/// A group of use-after-free incidents: of one class, one kind and one call site of one program.
///
/// Each process and each call stack has an incident of its own; a group joins them.
public struct DanglingGroup: Codable, Sendable, Equatable {
  /// The incident that was seen last: `crashctl dangling show` shows it.
  public var id: String
  /// The program's name.
  public var program: String
  /// The class of the objects.
  public var className: String
  /// The kind of use, such as `call`.
  public var kind: IncidentReport.Kind
  /// The method that was called, or would have been; nil for other kinds.
  public var method: String?
  /// The innermost in-app function of the use; another function where there is none.
  public var place: String
  /// Such as `Shop.swift:12`, of the incident that was seen last; empty when unknown.
  public var line: String
  /// The number of occurrences.
  public var count: Int
  /// The number of processes.
  public var processes: Int
  /// The number of builds.
  public var builds: Int
  /// The number of functions that released the objects.
  public var releases: Int
  /// The reactions, in alphabetical order.
  public var modes: [IncidentReport.Mode]
  /// RFC 3339 in UTC, of the first occurrence.
  public var first: String
  /// Of the last occurrence.
  public var last: String
  /// The median time between the last release and the use, in nanoseconds, of the incidents that have it.
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
