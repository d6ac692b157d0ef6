import CrashReport
import Synchronization

/// Reports of crashes that wait for their symbols.
///
/// crashd lists them until the store has the complete report.
///
/// They exist only in memory. Crash groups do not count them, and subscribers do not receive them. If crashd ends, the
/// preliminary reports are lost. No crash is lost, because each ring stays until its report is stored.
final class PreliminaryReports: Sendable {
  private let reports = Mutex<[RingKey: CrashReport]>([:])

  /// The reports that are listed now.
  var all: [CrashReport] { reports.withLock { Array($0.values) } }

  /// Whether one more report of this user may be listed.
  ///
  /// The number is limited, because a few preliminary reports are enough during a storm of crashes of a new build.
  func hasRoom(for user: UInt32, _ limits: Limits) -> Bool {
    reports.withLock { Self.hasRoom(in: $0, for: user, limits) }
  }

  /// Lists a report if there is room.
  func show(_ report: CrashReport, of ring: RingKey, _ limits: Limits) {
    reports.withLock { reports in
      guard reports[ring] != nil || Self.hasRoom(in: reports, for: ring.user, limits) else { return }
      reports[ring] = report
    }
  }

  /// Removes the preliminary report after its ring was read.
  ///
  /// This happens even if no final report could be stored.
  func remove(_ ring: RingKey) { reports.withLock { _ = $0.removeValue(forKey: ring) } }

  private static func hasRoom(in reports: [RingKey: CrashReport], for user: UInt32, _ limits: Limits) -> Bool {
    limits.hasPlace(
      user, beside: reports.keys.map { limits.account(of: $0.user) }, of: limits.preliminaryReports,
      most: limits.preliminaryReportsPerUser)
  }
}
