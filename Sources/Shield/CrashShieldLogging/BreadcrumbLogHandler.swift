internal import CrashShield
public import Logging

/// Records a server's log lines as breadcrumbs: a crash report then shows the last lines before the crash.
///
/// This handler does not write a log. Combine it with a handler that writes the log:
///
/// ```swift
/// LoggingSystem.bootstrap { label in
///   MultiplexLogHandler([StreamLogHandler.standardOutput(label: label), BreadcrumbLogHandler(label: label)])
/// }
/// ```
///
/// A breadcrumb has the level and the message of the line, the logger's label as its category, and metadata. Because
/// metadata can contain secrets, a breadcrumb shows only the keys in `shownMetadata`. Recording a line takes about a
/// microsecond, mostly for creating the strings. The ring keeps the last 128 breadcrumbs, each cut to 224 bytes. May be
/// called from any thread; does nothing before `Shield.start`.
public struct BreadcrumbLogHandler: LogHandler {
  /// The keys under which Vapor and Hummingbird log a request's identifier.
  public static let requestIdentifiers: Set<String> = ["request-id", "hb.request.id"]

  /// The lowest level that is recorded.
  public var logLevel: Logger.Level
  /// The logger's own metadata.
  public var metadata: Logger.Metadata = [:]
  /// Provides the metadata of the current task.
  public var metadataProvider: Logger.MetadataProvider?
  /// The metadata keys that breadcrumbs show, with their values.
  public var shownMetadata: Set<String>

  private let label: String
  private let leave: Leave

  /// A function that records a breadcrumb with message, level, category and metadata.
  typealias Leave = @Sendable (String, Shield.Level, String, [String: String]) -> Void

  /// Creates a handler for the logger of this label.
  ///
  /// - Parameters:
  ///   - label: The logger's label, the category of each breadcrumb.
  ///   - logLevel: The lowest level that is recorded.
  ///   - shownMetadata: The metadata keys that breadcrumbs show. Do not list keys of secrets.
  ///   - metadataProvider: Provides the metadata of the current task, as for any handler.
  public init(
    label: String, logLevel: Logger.Level = .info, shownMetadata: Set<String> = requestIdentifiers,
    metadataProvider: Logger.MetadataProvider? = nil
  ) {
    self.init(
      label: label, logLevel: logLevel, shownMetadata: shownMetadata, metadataProvider: metadataProvider,
      leave: { Shield.addBreadcrumb($0, level: $1, category: $2, metadata: $3) })
  }

  init(
    label: String, logLevel: Logger.Level = .info, shownMetadata: Set<String> = requestIdentifiers,
    metadataProvider: Logger.MetadataProvider? = nil, leave: @escaping Leave
  ) {
    self.label = label
    self.logLevel = logLevel
    self.shownMetadata = shownMetadata
    self.metadataProvider = metadataProvider
    self.leave = leave
  }

  /// The value of a key in the logger's own metadata.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Records the line as a breadcrumb.
  public func log(event: LogEvent) {
    var shown = shown(event.metadata)
    if let error = event.error { shown["error"] = "\(type(of: error))" }
    leave("\(event.message)", Shield.Level(event.level), label, shown)
  }

  /// Returns the metadata to show.
  ///
  /// For the same key, the line's value takes precedence over the task's value, and the task's value over the logger's
  /// value.
  private func shown(_ own: Logger.Metadata?) -> [String: String] {
    if shownMetadata.isEmpty { return [:] }
    let provided = metadataProvider?.get()
    var shown: [String: String] = [:]
    for key in shownMetadata { shown[key] = (own?[key] ?? provided?[key] ?? metadata[key]).map { "\($0)" } }
    return shown
  }
}

extension Shield.Level {
  fileprivate init(_ level: Logger.Level) {
    switch level {
    case .trace: self = .trace
    case .debug: self = .debug
    case .info: self = .info
    case .notice: self = .notice
    case .warning: self = .warning
    case .error: self = .error
    case .critical: self = .critical
    }
  }
}
