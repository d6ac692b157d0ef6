import CrashReport
import Synchronization

/// The preliminary reports of crashes that wait for their symbols.
///
/// crashd lists a preliminary report until the store has the complete report.
///
/// Preliminary reports exist only in memory. Crash groups do not count preliminary reports, and subscribers do not
/// receive them. If crashd ends, the preliminary reports are lost. No crash is lost, because the records of a crash
/// stay until its report is stored.
final class PreliminaryReports: Sendable {
  private let reports = Mutex<[RingKey: CrashReport]>([:])

  /// The reports that are listed now.
  var all: [CrashReport] { reports.withLock { Array($0.values) } }

  /// Whether the limits allow one more preliminary report of the given user.
  ///
  /// The number is limited, because a few preliminary reports are enough if many processes of a new build crash at
  /// once.
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

  /// Removes the preliminary report of a ring after the ring was read.
  ///
  /// The preliminary report is removed even if no final report could be stored.
  func remove(_ ring: RingKey) { reports.withLock { _ = $0.removeValue(forKey: ring) } }

  private static func hasRoom(in reports: [RingKey: CrashReport], for user: UInt32, _ limits: Limits) -> Bool {
    limits.hasPlace(
      user, beside: reports.keys.map { limits.account(of: $0.user) }, of: limits.preliminaryReports,
      most: limits.preliminaryReportsPerUser)
  }
}
