public import CrashReport

/// A group of use-after-free incidents of one program that have the same class, access kind and call site.
///
/// Each process and each call stack has a separate incident. A group combines these incidents.
public struct DanglingGroup: Codable, Sendable, Equatable {
  /// The id of the incident in the group with the latest occurrence.
  ///
  /// `crashctl dangling show` accepts this id.
  public var id: String
  /// The name of the program.
  public var program: String
  /// The class of the objects.
  public var className: String
  /// The access kind, such as `call`.
  public var kind: IncidentReport.Kind
  /// The called method, even if the quarantine prevented the call.
  ///
  /// The value is nil for other access kinds.
  public var method: String?
  /// The innermost in-app function of the access.
  ///
  /// If the stack has no in-app function, the value is another function of the stack.
  public var place: String
  /// The source location of the incident with the latest occurrence, such as `Shop.swift:12`.
  ///
  /// The value is empty if the location is unknown.
  public var line: String
  /// The number of occurrences.
  public var count: Int
  /// The number of processes in which the incidents of the group occurred.
  public var processes: Int
  /// The number of builds in which the incidents of the group occurred.
  public var builds: Int
  /// The number of functions that released the objects.
  public var releases: Int
  /// The modes of the incidents, in alphabetical order.
  public var modes: [IncidentReport.Mode]
  /// The time of the first occurrence, as RFC 3339 in UTC.
  public var first: String
  /// The time of the last occurrence, as RFC 3339 in UTC.
  public var last: String
  /// The median time from the last release to the access, in nanoseconds.
  ///
  /// The median includes only incidents for which this time is known.
  public var age_ns: Int?
  /// The value is `certain` if at least one incident of the group is certain, and otherwise `probable`.
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
