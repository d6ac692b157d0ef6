import CrashReport
internal import FoundationEssentials
import Glibc
import LinuxSystem

/// The file with the counts that Sentry has accepted.
public struct SessionBook: Sendable {
  /// The accepted counts of one build.
  struct Sent: Codable, Equatable {
    /// The time at which crashd first saw the build.
    ///
    /// If this time changes, crashd has restarted the counts at 0.
    var firstSeen: String
    var finished = 0
    var failed = 0
    var lost = 0
  }

  /// The contents of the file.
  struct Counts: Codable, Equatable {
    /// The time of the first delivery.
    ///
    /// Requests that crashd counted before this time are not sent.
    var since: String
    var builds: [String: Sent] = [:]
  }

  private static let limitBytes = 4 << 20

  /// The path of the file.
  public let path: String

  /// Creates a book in a directory.
  public init(directory: String) { path = "\(directory)/sentry-sessions.json" }

  /// Reads the counts; if the file is missing or unreadable, returns empty counts, as at the first start.
  func read(at time_ns: UInt64) throws -> Counts {
    let new = Counts(since: Timestamp.string(since1970_ns: time_ns))
    guard FileManager.default.fileExists(atPath: path) else { return new }
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    guard data.count <= Self.limitBytes else { return new }
    do { return try JSONDecoder().decode(Counts.self, from: data) } catch { return new }
  }

  /// Writes counts to a temporary file beside the file, before the sink sends them to Sentry.
  ///
  /// If the disk is full, the call throws, and the counts must not be sent. Otherwise they would be sent again each
  /// time.
  func prepare(_ counts: Counts) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try encoder.encode(counts).write(to: URL(fileURLWithPath: path + ".next"), options: .atomic)
  }

  /// Replaces the file with the prepared counts, which needs no space on the disk.
  func commit() throws(SystemError) {
    if unsafe rename(path + ".next", path) != 0 { throw SystemError("replace '\(path)'") }
  }
}
