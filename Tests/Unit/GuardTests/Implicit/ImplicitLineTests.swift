import CrashShield
import CrashShieldGuards
import CrashShieldImplicit
import Foundation
import Testing

/// Tests that the stack in the record of a fault leads to the source line of the fault.
///
/// The tests do not run under sanitizers, because the instructions of a sanitizer have other lines.
@Suite
struct ImplicitLineTests {
  @Test("an implicit guard's record has frames that lead to the line of its fault")
  func lines() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setImplicitMode(.absorb)
      let faults = ImplicitFault.all
      for fault in faults where !fault.body() { complain("another value of \(fault.name)") }
      let incidents = Shield.guardIncidents
      guard let lines = try? linesOfFaults(in: incidents) else { complain("nothing known of \(incidents)") }
      guard lines.sorted() == faults.map(\.line).sorted() else { complain("\(lines.sorted())") }
      exit(right)
    }
  }
}

/// For each incident, the line of the first frame in the file with the faults.
///
/// It is -1 if there is no such frame.
private func linesOfFaults(in incidents: [ShieldIncident]) throws -> [Int] {
  let limit = 16
  guard let frame = incidents.first?.frames.first, let image = try image(with: frame) else { return [] }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/addr2line")
  process.arguments = ["-e", image.path]
  // The return address minus 1 is in the call instruction. Frames in other images are ignored.
  for incident in incidents {
    let frames = incident.frames + Array(repeating: 1, count: limit - incident.frames.count)
    process.arguments? += frames.map { "0x" + String(($0 &- image.start) &- 1, radix: 16) }
  }
  let output = Pipe()
  process.standardOutput = output
  try process.run()
  let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  process.waitUntilExit()
  // An instruction that the compiler generated has the line `?`.
  let lines = text.split(separator: "\n").map { place -> Int? in
    guard let name = place.range(of: "ImplicitFault.swift:") else { return nil }
    return Int(place[name.upperBound...].prefix { $0.isNumber }) ?? 0
  }
  return incidents.indices.map { index in
    if incidents[index].line > 0 { return incidents[index].line }
    return lines.dropFirst(index * limit).prefix(limit).compactMap(\.self).first ?? -1
  }
}

/// The file that contains an address, and the address at which the file starts in memory.
private func image(with address: UInt) throws -> (path: String, start: UInt)? {
  var starts: [String: UInt] = [:]
  for line in try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n") {
    let bounds = line.prefix { $0 != " " }.split(separator: "-").map { UInt($0, radix: 16) ?? 0 }
    guard let slash = line.firstIndex(of: "/"), bounds.count == 2 else { continue }
    let path = String(line[slash...])
    starts[path] = starts[path] ?? bounds[0]
    if address >= bounds[0], address < bounds[1] { return starts[path].map { (path, $0) } }
  }
  return nil
}
