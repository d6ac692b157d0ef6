internal import CrashShield
public import Logging

/// Leaves what a server logs as breadcrumbs, so that the report of a crash shows the last lines before it.
///
/// It writes nothing anywhere else; stand it beside the handler that does:
///
/// ```swift
/// LoggingSystem.bootstrap { label in
///   MultiplexLogHandler([StreamLogHandler.standardOutput(label: label), BreadcrumbLogHandler(label: label)])
/// }
/// ```
///
/// A breadcrumb is `info shop.carts: checkout request-id=7F3A`. Metadata may hold what must not leave the process, so only
/// the keys that are named go along. A line takes about a microsecond, most of it for the text; 128 breadcrumbs of
/// 232 bytes are kept, the oldest give way, longer ones are cut. Any thread; nothing is done before `Shield.start`.
public struct BreadcrumbLogHandler: LogHandler {
  /// The keys under which Vapor and Hummingbird log a request's identifier.
  public static let requestIdentifiers: Set<String> = ["request-id", "hb.request.id"]

  /// Lines below it leave no breadcrumb.
  public var logLevel: Logger.Level
  /// The logger's own metadata.
  public var metadata: Logger.Metadata = [:]
  /// Asked for the metadata of the task that logs.
  public var metadataProvider: Logger.MetadataProvider?
  /// The keys of metadata that breadcrumbs show, with their values.
  public var shownMetadata: Set<String>

  private let label: String
  private let leave: @Sendable (String) -> Void

  /// Makes a handler for the logger of this label.
  ///
  /// - Parameters:
  ///   - label: The logger's, which stands in front of each line.
  ///   - logLevel: Lines below it leave no breadcrumb.
  ///   - shownMetadata: The keys of metadata that breadcrumbs show. Not those of secrets.
  ///   - metadataProvider: Metadata of the task, as for any handler.
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

  /// One part of the logger's own metadata.
  public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  /// Leaves the line as a breadcrumb.
  public func log(event: LogEvent) {
    var text = "\(event.level) \(label): \(event.message)"
    for (key, value) in shown(event.metadata) { text += " \(key)=\(value)" }
    if let error = event.error { text += " error=\(type(of: error))" }
    leave(text)
  }

  /// A line's own metadata is stronger than its task's, and that than the logger's.
  private func shown(_ own: Logger.Metadata?) -> [(key: String, value: Logger.Metadata.Value)] {
    if shownMetadata.isEmpty { return [] }
    let provided = metadataProvider?.get()
    return shownMetadata.sorted().compactMap { key in
      (own?[key] ?? provided?[key] ?? metadata[key]).map { (key, $0) }
    }
  }
}
