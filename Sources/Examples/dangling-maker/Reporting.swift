// Prints the record of an access, for scripts/check/dangling.
import CrashShield
import CrashShieldGuards
import CrashShieldGuardPages

/// Prints the incidents of the quarantine, and the number that the access returned.
func reportQuarantine(_ number: Int?) {
  // Drain the quarantine, because it detects writes and excess retains only when the object leaves it.
  let before = Shield.danglingIncidents()
  Shield.drainQuarantine()
  let incidents = Shield.danglingIncidents()
  let names = Set(
    incidents.map { incident in
      switch incident.kind {
      case .call: "call"
      case .asyncCall: "async-call"
      case .overRelease: "over-release"
      case .retains: "retains"
      case .write: "write"
      case .handle: "handle"
      }
    })
  let poison = (incidents + before).compactMap(\.record).map { 0xEFED << 32 | UInt64($0) }
  let value =
    switch number {
    case nil: "none"
    case .some(let number) where poison.contains(UInt64(bitPattern: Int64(number)) >> 16): "poison"
    case .some(let number) where UInt64(bitPattern: Int64(number)) >> 48 == 0xEFED: "poison"
    case .some(let number): "\(number)"
    }
  let stacks = incidents.allSatisfy { $0.record == nil || !$0.release.frames.isEmpty }
  report(names, value: value, stacks: stacks)
}

/// Prints the incidents of guard slots, and the number that the access returned.
func reportPages(_ number: Int?) {
  let incidents = GuardPages.incidents()
  let names = Set(
    incidents.map { incident in
      switch incident.kind {
      case .read: "read"
      case .write: "write"
      case .doubleFree: "double-free"
      case .invalidFree: "invalid-free"
      case .overflow: "overflow"
      case .underflow: "underflow"
      case .trampled: "trampled"
      }
    })
  let stacks = incidents.allSatisfy { incident in
    ![incident.use, incident.release, incident.allocation].contains { $0.frames.isEmpty }
  }
  report(names, value: number.map { "\($0)" } ?? "none", stacks: stacks)
}

private func report(_ names: Set<String>, value: String, stacks: Bool) {
  print("recorded=\(names.isEmpty ? "no" : names.sorted().joined(separator: ",")) value=\(value) stacks=\(stacks)")
}
