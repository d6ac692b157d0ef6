package import CrashReport

/// Selects reports; nil does not restrict.
///
/// The parameters of `List`, `Groups` and `Subscribe`, the settings of forwarding and the options of crashctl share
/// this filter.
public struct ReportFilter: Codable, Sendable, Hashable {
  /// The process.
  public var pid: Int?
  /// A part of the program's name.
  public var name: String?
  /// The group's key, or its beginning.
  public var group: String?
  /// The systemd unit.
  public var unit: String?
  /// The signal, such as `SIGSEGV`.
  public var signal: String?
  /// A part of the executable's path.
  public var executable: String?
  /// The release that the program names.
  public var release: String?
  /// The environment that it names.
  public var environment: String?
  /// Annotations, each as `KEY=VALUE`; a report has all of them.
  public var tags: [String]?
  /// Only crashes at or after this time, RFC 3339.
  public var since: String?
  /// Only crashes before or at this time, RFC 3339.
  public var until: String?

  /// Makes a filter.
  public init(
    pid: Int? = nil, name: String? = nil, group: String? = nil, unit: String? = nil, signal: String? = nil,
    executable: String? = nil, release: String? = nil, environment: String? = nil, tags: [String]? = nil,
    since: String? = nil, until: String? = nil
  ) {
    (self.pid, self.name, self.group, self.unit) = (pid, name, group, unit)
    (self.signal, self.executable, self.since, self.until) = (signal, executable, since, until)
    (self.release, self.environment, self.tags) = (release, environment, tags)
  }
}

// Filters by one text of a report.
extension ReportFilter {
  /// A field of the filter, which gives the parameter, the setting and the store's column their name.
  package struct Text: Sendable {
    /// How the text of a report must match the filter's.
    package enum Match: Sendable {
      case whole
      case part
      /// The whole text of a tag with the field's name.
      case tag
    }

    package var name: String
    package var path: any WritableKeyPath<ReportFilter, String?> & Sendable
    package var match: Match
    /// The values that a setting takes, for its error message.
    package var takes: String
    /// Whether a setting takes this value.
    package var isGood: @Sendable (String) -> Bool = { !$0.isEmpty }
    /// The text of a report.
    package var text: @Sendable (CrashReport) -> String?
  }

  package static let texts = [
    Text(name: "name", path: \.name, match: .part, takes: "a part of a program's name") { $0.process.name },
    Text(
      name: "unit", path: \.unit, match: .whole, takes: "the name of a unit, such as shop.service",
      isGood: { $0.contains(".") }
    ) { $0.process.unit },
    // As reports write it.
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
  ]

  /// The wanted value of the text with this name.
  package subscript(text name: String) -> String? {
    get { Self.texts.first { $0.name == name }.flatMap { self[keyPath: $0.path] } }
    set { if let field = Self.texts.first(where: { $0.name == name }) { self[keyPath: field.path] = newValue } }
  }

  /// The texts that it filters by.
  package var wantedTexts: [(field: Text, wanted: String)] {
    Self.texts.compactMap { field in self[keyPath: field.path].map { (field, $0) } }
  }
}

// Filters by tags.
extension ReportFilter {
  /// A key and the wanted value.
  package typealias Tag = (key: String, value: String)

  /// The limit of tags in one filter: the store looks up each for every report that has the first one.
  package static let tagLimit = 8

  /// Splits `KEY=VALUE`; nil: it has no key, or no value.
  package static func tag(_ text: String) -> Tag? {
    guard let mark = text.firstIndex(of: "="), mark != text.startIndex else { return nil }
    let value = text[text.index(after: mark)...]
    return value.isEmpty ? nil : (String(text[..<mark]), String(value))
  }

  /// Whether each of `tags` is one.
  package var hasGoodTags: Bool {
    (tags ?? []).count <= Self.tagLimit && (tags ?? []).allSatisfy { Self.tag($0) != nil }
  }

  /// Every tag that it filters by, once; one without a key matches nothing.
  package var wantedTags: [Tag] {
    let all =
      wantedTexts.filter { $0.field.match == .tag }.map { ($0.field.name, $0.wanted) }
      + (tags ?? []).map { Self.tag($0) ?? ("", "") }
    return all.enumerated().filter { entry in !all[..<entry.offset].contains { $0 == entry.element } }.map(\.element)
  }
}

extension ReportFilter.Text {
  package func includes(_ report: CrashReport, _ wanted: String) -> Bool {
    guard let text = text(report) else { return false }
    return match == .part ? text.contains(wanted) : text == wanted
  }
}
