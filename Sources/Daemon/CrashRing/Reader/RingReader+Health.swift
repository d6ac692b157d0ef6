internal import CShimRing

extension RingContents {
  /// The figures in a ring from which crashd computes the health of a build.
  public struct HealthFigures: Sendable, Equatable {
    /// The number of requests that began.
    public var begun: UInt64 = 0
    /// The number of requests that ended without an error.
    public var finished: UInt64 = 0
    /// The number of requests that ended by an error or by a contained trap.
    ///
    /// A request whose trap began a drain (an orderly shutdown) is not included: that trap is a crash of the process.
    public var failed: UInt64 = 0
    /// The program's annotation `release`; nil if there is none.
    public var release: String?
    /// The program's annotation `environment`; nil if there is none.
    public var environment: String?

    /// Creates the figures of a process without requests.
    public init() {}

    /// The number of requests that have begun and not ended.
    public var unended: UInt64 { begun.subtractingOrZero(finished).subtractingOrZero(failed) }
  }
}

extension RingReader {
  /// Reads the figures for the health of the process's build.
  ///
  /// The annotations `release` and `environment` are read only if `withNames` is true, because they rarely change.
  public func healthFigures(withNames: Bool = true) -> RingContents.HealthFigures {
    var figures = RingContents.HealthFigures()
    let counts = requestCounts()
    (figures.begun, figures.finished, figures.failed) = (counts.begun, counts.finished, counts.failed)
    // A drain also marks requests as trapped, which counts them as failed: the request that began it, and requests that
    // trap or wait for a stopped thread during it, or have not ended at its end. Subtract these requests: the trapped
    // ones minus the contained ones.
    if let containment = containment(), containment.drain != nil {
      let trapped = trappedRequestCount()
      figures.failed = counts.failed.subtractingOrZero(UInt64(max(0, trapped - Int(containment.contained))))
    }
    guard withNames else { return figures }
    for index in 0..<RingLayout.annotationLimit {
      guard case .whole(let key, let value) = annotation(index), !value.isEmpty else { continue }
      switch key {
      case "release": figures.release = value
      case "environment": figures.environment = value
      default: break
      }
    }
    return figures
  }
}
