// casts-host: a program with the hook of `CrashShieldCasts` for failed casts. Tests/Unit/GuardTests runs it, because
// the test process does not have this hook.
// Usage: casts-host given NUMBER | refused NUMBER | fraction | threads NUMBER | works | objects | within | status
import CrashShield
import CrashShieldGuards
import CrashShieldCasts
import Foundation
import TestKit

/// Writes without a buffer, because the process can end at any time.
func tell(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

/// Writes the records of the shield: kind, mode, count, and the frames as addresses in this program's file.
func tellRecords() {
  for incident in Shield.guardIncidents {
    let frames = incident.frames.map { "0x" + String($0 &- base &- 1, radix: 16) }
    tell("record \(incident.kind) \(incident.mode) \(incident.count) \(frames.joined(separator: " "))")
  }
}

// The program's load address is the start of the first mapping of its file.
let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n")
let base = UInt(maps.first { $0.hasSuffix("/casts-host") }?.prefix { $0 != "-" } ?? "", radix: 16) ?? 0
let arguments = CommandLine.arguments.dropFirst()
let number = arguments.dropFirst().first.flatMap { Int($0) } ?? 0

switch arguments.first {
case "given":
  Shield.onIncident { _ in tellRecords() }
  tell("value \(CastsFault.given[number].fault.body())")
  tellRecords()
case "refused":
  Shield.onIncident { _ in tellRecords() }
  tell("value \(CastsFault.refused[number].body())")
case "fraction":
  Shield.onIncident { _ in tellRecords() }
  tell("value \(CastsFault.fraction.body())")
case "threads":
  let (fault, value) = CastsFault.given[number]
  DispatchQueue.concurrentPerform(iterations: 4) { _ in
    for _ in 0..<100 where fault.body() != value { tell("the cast gave another value") }
  }
  tellRecords()
case "works":
  for text in castsThatWork() { tell(text) }
  tellRecords()
case "objects":
  tell(Objects.complaint() ?? "right")
case "within":
  // The callback for the incident of a failed cast performs another cast, which also fails. The hook does not handle
  // the inner cast, so the runtime ends the process.
  Shield.onIncident { _ in tell("within \(CastsFault.given[1].fault.body())") }
  tell("value \(CastsFault.given[0].fault.body())")
default:
  tell(Shield.castsUnavailableReason ?? "live")
  for result in await Shield.selfTest(including: ShieldCheck.casts) where result.check.contains("forced cast") {
    tell("\(result.check): \(result.verdict)")
  }
  tellRecords()
}
