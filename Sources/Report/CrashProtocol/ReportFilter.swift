package import CrashReport

/// Selects reports.
///
/// A property that is nil does not restrict the selection.
///
/// The parameters of `List`, `Groups` and `Subscribe`, the settings of forwarding, and the options of crashctl use this
/// filter.
public struct ReportFilter: Codable, Sendable, Hashable {
  /// The pid of the process.
  public var pid: Int?
  /// A part of the program's name.
  public var name: String?
  /// The key of the group, or the first digits of the key.
  public var group: String?
  /// The systemd unit of the process.
  public var unit: String?
  /// The name of the signal, such as `SIGSEGV`.
  public var signal: String?
  /// A part of the executable's path.
  public var executable: String?
  /// The value of the program's annotation `release`.
  public var release: String?
  /// The value of the program's annotation `environment`.
  public var environment: String?
  /// Annotations, each as `KEY=VALUE`.
  ///
  /// A report matches only if it has all these annotations.
  public var tags: [String]?
  /// The operation of the request in which the thread that crashed first was working.
  public var route: String?
  /// The trace id of the request in which the thread that crashed first was working, in 32 hexadecimal digits.
  public var traceID: String?
  /// The earliest time of the crash, as RFC 3339.
  public var since: String?
  /// The latest time of the crash, as RFC 3339.
  public var until: String?

  /// Creates a filter.
  public init(
    pid: Int? = nil, name: String? = nil, group: String? = nil, unit: String? = nil, signal: String? = nil,
    executable: String? = nil, release: String? = nil, environment: String? = nil, tags: [String]? = nil,
    route: String? = nil, traceID: String? = nil, since: String? = nil, until: String? = nil
  ) {
    (self.pid, self.name, self.group, self.unit) = (pid, name, group, unit)
    (self.signal, self.executable, self.since, self.until) = (signal, executable, since, until)
    (self.release, self.environment, self.tags) = (release, environment, tags)
    (self.route, self.traceID) = (route, traceID)
  }
}

// Describes the fields of the filter that compare a string in the report.
extension ReportFilter {
  /// One string field of the filter.
  ///
  /// The name of the field is also the name of the parameter, of the setting, and of the column in the store.
  package struct Text: Sendable {
    /// How the string in a report must match the string in the filter.
    package enum Match: Sendable {
      case whole
      case part
      /// The report's tag with the same name as the field must equal the string in the filter.
      case tag
      /// The field with the same name in the report's request must equal the string in the filter.
      case request

      /// Whether the store looks the string up in a table other than `reports`.
      package var isLookup: Bool { self == .tag || self == .request }
    }

    package var name: String
    /// The name of the setting and of crashctl's option, if it differs from the name of the field.
    package var option: String?
    package var path: any WritableKeyPath<ReportFilter, String?> & Sendable
    package var match: Match
    /// A description of the valid values of the setting, for an error message.
    package var takes: String
    /// Returns whether the string is a valid value of the setting.
    package var isGood: @Sendable (String) -> Bool = { !$0.isEmpty }
    /// Returns the string in a report that the filter compares.
    package var text: @Sendable (CrashReport) -> String?
  }

  package static let texts = [
    Text(name: "name", path: \.name, match: .part, takes: "a part of a program's name") { $0.process.name },
    Text(
      name: "unit", path: \.unit, match: .whole, takes: "the name of a unit, such as shop.service",
      isGood: { $0.contains(".") }
    ) { $0.process.unit },
    // The value must be the name of a signal, as reports contain it.
    Text(
      name: "signal", path: \.signal, match: .whole, takes: "the name of a signal, such as SIGSEGV",
      isGood: { text in (1...64).contains { SignalNames.name(of: $0) == text } }
    ) { $0.signal.name },
    Text(name: "executable", path: \.executable, match: .part, takes: "a part of an executable's path") {
      $0.process.executable
    },
    Text(name: "release", path: \.release, match: .tag, takes: "a release, such as shop@2.4.1") { $0[.release] },
    Text(name: "environment", path: \.environment, match: .tag, takes: "an environment, such as production") {
      $0[.environment]
    },
    Text(name: "route", path: \.route, match: .request, takes: "the operation of a request, such as GET /orders/{id}") {
      $0.requestFields["route"]
    },
    Text(
      name: "traceID", option: "trace-id", path: \.traceID, match: .request,
      takes: "a trace id in 32 hexadecimal digits", isGood: isTraceID
    ) { $0.requestFields["traceID"] },
  ]

  /// Whether a string is a trace id in the form that reports use.
  @Sendable package static func isTraceID(_ text: String) -> Bool {
    text.utf8.count == 32 && text.utf8.allSatisfy("0123456789abcdef".utf8.contains)
  }

  /// Whether a text is the uid of a Kubernetes pod, and not the pod's name.
  package static func isPodUID(_ text: String?) -> Bool {
    let groups = text?.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false) ?? []
    return groups.map(\.count) == [8, 4, 4, 4, 12] && groups.joined().allSatisfy("0123456789abcdef".utf8.contains)
  }

  /// The value that the filter has for the field with this name.
  package subscript(text name: String) -> String? {
    get { Self.texts.first { $0.name == name }.flatMap { self[keyPath: $0.path] } }
    set { if let field = Self.texts.first(where: { $0.name == name }) { self[keyPath: field.path] = newValue } }
  }

  /// The fields that are set in the filter, with their values.
  package var wantedTexts: [(field: Text, wanted: String)] {
    Self.texts.compactMap { field in self[keyPath: field.path].map { (field, $0) } }
  }
}

// Compares the tags of the filter with the tags of a report.
extension ReportFilter {
  /// The key of a tag or of a field of the request, and the value that the report must have for that key.
  package struct Tag: Equatable, Sendable {
    package var key: String
    package var value: String
    /// Whether the key is a field of the request, and not a tag.
    package var isOfRequest = false

    /// Whether the report has the value for the key.
    package func isTag(of report: CrashReport) -> Bool {
      (isOfRequest ? report.requestFields : report.tags)[key] == value
    }
  }

  /// The maximum number of tags in one filter.
  ///
  /// The number is limited because of the cost: for each report with the first tag, the store looks up every other tag.
  package static let tagLimit = 8

  /// Splits a string of the form `KEY=VALUE`.
  ///
  /// Returns nil if the key or the value is missing.
  package static func tag(_ text: String) -> Tag? {
    guard let mark = text.firstIndex(of: "="), mark != text.startIndex else { return nil }
    let value = text[text.index(after: mark)...]
    return value.isEmpty ? nil : Tag(key: String(text[..<mark]), value: String(value))
  }

  /// Whether every element of `tags` is valid.
  package var hasGoodTags: Bool {
    (tags ?? []).count <= Self.tagLimit && (tags ?? []).allSatisfy { Self.tag($0) != nil }
  }

  /// The tags, and the fields of the request, that the filter requires a report to have; without duplicates.
  ///
  /// A tag without a key matches no report.
  package var wantedTags: [Tag] {
    let all =
      wantedTexts.filter { $0.field.match.isLookup }
      .map { Tag(key: $0.field.name, value: $0.wanted, isOfRequest: $0.field.match == .request) }
      + (tags ?? []).map { Self.tag($0) ?? Tag(key: "", value: "") }
    return all.enumerated().filter { entry in !all[..<entry.offset].contains { $0 == entry.element } }.map(\.element)
  }
}

extension CrashReport {
  /// The fields of the request of the thread that crashed first, by the names of their filters.
  package var requestFields: [String: String] {
    var fields: [String: String] = [:]
    (fields["route"], fields["traceID"]) = (request?.operation, request?.traceID)
    return fields.filter { !$0.value.isEmpty }
  }
}

extension ReportFilter.Text {
  package func includes(_ report: CrashReport, _ wanted: String) -> Bool {
    guard let text = text(report) else { return false }
    return match == .part ? text.contains(wanted) : text == wanted
  }
}
