internal import CShimRing
internal import CrashReport

/// Reads the state of containment, and of the drain.
///
/// With containment, a trap ends a request instead of the process. In a drain, the process finishes its other requests
/// after a trap, and then ends.
extension RingReader {
  /// Reads only the settings and the state of containment; nil if containment is off.
  public func containment() -> RingContents.Containment? {
    containment(unsafe PrivateCopy<cs_ring_header>(of: shared, at: 0))
  }

  /// Returns the settings and the state of containment; nil if containment is off or the ring has the earlier version.
  ///
  /// A value that this version of crashd does not define is represented by its number.
  func containment(_ header: PrivateCopy<cs_ring_header>) -> RingContents.Containment? {
    guard version == .current else { return nil }
    let mode = header[\.containment_mode]
    if mode == cs_ring_containment.CS_RING_CONTAINMENT_OFF.rawValue { return nil }
    return RingContents.Containment(
      mode: Self.mode(mode), obstacle: .init(number: Int(header[\.containment_obstacle])),
      budget: header[\.containment_budget], contained: header[\.containment_count], drain: drain(header))
  }

  private static func mode(_ number: UInt32) -> CrashReport.Containment.Mode {
    switch cs_ring_containment(rawValue: number) {
    case .CS_RING_CONTAINMENT_DRAIN: .drain
    case .CS_RING_CONTAINMENT_CONTAIN: .contain
    default: .init("\(number)")
    }
  }

  private func drain(_ header: PrivateCopy<cs_ring_header>) -> RingContents.Drain? {
    let begin_ns = header[\.drain_begin_ns]
    guard begin_ns != 0 else { return nil }
    return RingContents.Drain(
      end: Self.end(header[\.drain_end]), finished: header[\.drain_finished], lost: header[\.drain_lost],
      begin_ns: begin_ns, end_ns: header[\.drain_end_ns])
  }

  private static func end(_ number: UInt32) -> CrashReport.Containment.End? {
    switch cs_ring_drain_end(rawValue: number) {
    case .CS_RING_DRAIN_NONE: nil
    case .CS_RING_DRAIN_DONE: .done
    case .CS_RING_DRAIN_DEADLINE: .deadline
    case .CS_RING_DRAIN_STALL: .stall
    case .CS_RING_DRAIN_CRASH: .secondCrash
    case .CS_RING_DRAIN_EXIT: .exit
    case .CS_RING_DRAIN_WAITS: .waiter
    default: .init("\(number)")
    }
  }
}

extension PrivateCopy<cs_ring_record> {
  /// The decision of the signal handler about containment at the crash; nil if it made none.
  var verdict: CrashReport.Containment.Verdict? {
    let number = self[\.verdict]
    return switch cs_ring_verdict(rawValue: number) {
    case .CS_RING_VERDICT_NONE: nil
    case .CS_RING_VERDICT_CONTAIN: .contain
    case .CS_RING_VERDICT_DRAIN: .drain
    case .CS_RING_VERDICT_DIE: .die
    default: .init("\(number)")
    }
  }
}
