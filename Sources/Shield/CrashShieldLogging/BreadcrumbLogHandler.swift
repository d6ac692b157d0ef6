internal import CrashShield
public import Logging

/// Records a server's log lines as breadcrumbs, so that a crash report shows the last lines before the crash.
///
/// It writes nothing else; combine it with the handler that writes the log:
///
/// ```swift
/// LoggingSystem.bootstrap { label in
///   MultiplexLogHandler([StreamLogHandler.standardOutput(label: label), BreadcrumbLogHandler(label: label)])
/// }
/// ```
///
/// A breadcrumb is `info shop.carts: checkout request-id=7F3A`. Metadata may hold secrets, so a breadcrumb shows only
/// the given keys. A line takes about a microsecond, most of it for the text. The ring keeps the last 128 breadcrumbs
/// of up to 232 bytes, and cuts longer ones. Any thread; does nothing before `Shield.start`.
public struct BreadcrumbLogHandler: LogHandler {
  /// The keys under which Vapor and Hummingbird log a request's identifier.
  public static let requestIdentifiers: Set<String> = ["request-id", "hb.request.id"]

  /// The lowest level that leaves a breadcrumb.
  public var logLevel: Logger.Level
  /// The logger's own metadata.
  public var metadata: Logger.Metadata = [:]
  /// Provides the metadata of the current task.
  public var metadataProvider: Logger.MetadataProvider?
  /// The keys of metadata that breadcrumbs show, with their values.
  public var shownMetadata: Set<String>

  private let label: String
  private let leave: @Sendable (String) -> Void

  /// Creates a handler for the logger of this label.
  ///
  /// - Parameters:
  ///   - label: The logger's label, which begins each breadcrumb.
  ///   - logLevel: The lowest level that leaves a breadcrumb.
  ///   - shownMetadata: The keys of metadata that breadcrumbs show. Not those of secrets.
  ///   - metadataProvider: Provides the metadata of the current task, as for any handler.
  public init(
    label: String, logLevel: Logger.Level = .info, shownMetadata: Set<String> = requestIdentifiers,
    metadataProvider: Logger.MetadataProvider? = nil
  ) {
    self.init(
      label: label, logLevel: logLevel, shownMetadata: shownMetadata, metadataProvider: metadataProvider,
      leave: Shield.breadcrumb)
  }

  init(
    label: String, logLevel: Logger.Level = .info, shownMetadata: Set<String> = requestIdentifiers,
    metadataProvider: Logger.MetadataProvider? = nil, leave: @escaping @Sendable (String) -> Void
  ) {
    self.label = label
    self.logLevel = logLevel
    self.shownMetadata = shownMetadata
    self.metadataProvider = metadataProvider
    self.leave = leave
  }

  /// One value of the logger's own metadata.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Records the line as a breadcrumb.
  public func log(event: LogEvent) {
    var text = "\(event.level) \(label): \(event.message)"
    for (key, value) in shown(event.metadata) { text += " \(key)=\(value)" }
    if let error = event.error { text += " error=\(type(of: error))" }
    leave(text)
  }

  /// The shown metadata: a line's own takes precedence over its task's, and that over the logger's.
  private func shown(_ own: Logger.Metadata?) -> [(key: String, value: Logger.Metadata.Value)] {
    if shownMetadata.isEmpty { return [] }
    let provided = metadataProvider?.get()
    return shownMetadata.sorted().compactMap { key in
      (own?[key] ?? provided?[key] ?? metadata[key]).map { (key, $0) }
    }
  }
}
