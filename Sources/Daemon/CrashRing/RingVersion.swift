internal import CShimRing

/// A version of the ring that crashd reads.
///
/// Fields that exist in both supported versions have the same offsets. Only the current version has the request table,
/// which is the last part of the ring. Only in the current version, each breadcrumb has the number of its request, as
/// the last field.
public enum RingVersion: CaseIterable, Sendable {
  case current
  /// The previous version, without the request table; older libraries use it.
  case earlier

  /// Returns nil if crashd does not read this version.
  public init?(_ number: UInt32) {
    guard let version = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = version
  }

  /// The number in the ring's header.
  public var number: UInt32 { self == .current ? CS_RING_VERSION : CS_RING_EARLIER_VERSION }

  /// The numbers of all versions that crashd reads, for messages.
  public static let supported = "\(CS_RING_EARLIER_VERSION) and \(CS_RING_VERSION)"

  /// The size of the ring.
  public var bytes: Int { self == .current ? MemoryLayout<cs_ring>.size : Int(CS_RING_EARLIER_BYTES) }

  /// The maximum number of bytes of a breadcrumb's message, category and metadata together.
  var breadcrumbLimitBytes: Int {
    Int(self == .current ? CS_RING_BREADCRUMB_LIMIT_BYTES : CS_RING_EARLIER_BREADCRUMB_LIMIT_BYTES)
  }
}
