import CrashProtocol
import CrashReport

/// The identity of this machine in the fleet.
struct FleetHost: Equatable {
  /// 32 hexadecimal digits.
  var machine: String
  var name: String

  /// Takes the identity from a report.
  ///
  /// crashd derives the id from the machine id by HMAC-SHA256, as systemd does for an application-specific id. In a
  /// container without a machine id, the id is derived from the host name.
  init(_ report: CrashReport) {
    name = report.machine?.host ?? ""
    machine = report.machine?.id ?? Self.hash("host", name) + Self.hash("name", name)
  }

  /// The 64-bit FNV-1a hash in hexadecimal digits.
  private static func hash(_ salt: String, _ text: String) -> String {
    let hash = "\(salt):\(text)".utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  var json: JSONValue { .object(["machine": .string(machine), "name": .string(name)]) }
}
