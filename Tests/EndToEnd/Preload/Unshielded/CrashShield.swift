// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Replaces the module CrashShield in a crash-maker that does not link the shield's library (scripts/build/unshielded).
// The preloaded library provides the shield for this program. Therefore the functions in this file start and record
// nothing.
import Glibc

public enum Shield {
  public struct StartError: Error, Equatable {}
  public struct ProtectionError: Error {}
  public struct Containment: Error {}

  public struct Configuration {
    public init(tags: [String: String], _ onStatusChange: @escaping @Sendable (Status) -> Void) {}
  }

  public enum Connection: Sendable { case attached }

  public struct Status: Sendable {
    public var connection: Connection?
    public var replacedHandlers: [Int32: String] = [:]
  }

  public enum Selection { case named(String) }
  public struct Protection { public var protected: [String] = [] }

  public static var isStarted: Bool { false }
  public static var status: Status { Status() }
  public static var maximumContainedFaults: Int {
    get { 0 }
    set {}
  }

  public static func startOrThrow(_ configuration: Configuration) throws(StartError) {}
  public static func startInForkedChild() throws(StartError) {}
  public static func protect(_ selection: Selection) throws(ProtectionError) -> Protection { Protection() }
  public static func setTag(_ key: String, to value: String) {}
  /// Makes a call that the optimizer cannot remove, so that the call before it in the caller does not become a tail
  /// call.
  public static func addBreadcrumb(_ message: String) { _ = getpid() }
  public static func withRequest(
    _ operation: String, id: String, traceID: String? = nil, spanID: String? = nil, tags: [String: String] = [:],
    _ body: () -> Void
  ) { body() }
  public static func withRequest(
    _ operation: String, id: String, traceID: String? = nil, spanID: String? = nil, tags: [String: String] = [:],
    _ body: () async -> Void
  ) async { await body() }
  public static func isolated(_ body: () -> Void) throws(Containment) { body() }
  public static func isolated(_ body: () async -> Void) async throws(Containment) { await body() }
}
