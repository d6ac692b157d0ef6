// Runs the faults of twelve.swift on a thread other than the main one, then prints the shield's incidents.
// Usage: twelve NUMBER…
import Foundation

/// Writes a line without a buffer, because the next fault can end the process.
func tell(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

let done = DispatchSemaphore(value: 0)
Thread.detachNewThread {
  for argument in CommandLine.arguments.dropFirst() {
    tell("before \(argument)")
    tell("\(argument): \(result(of: Int(argument) ?? 0))")
  }
  done.signal()
}
done.wait()

#if SHIELD
  // The first mapping in /proc/self/maps is that of the program's file, so its first address is the load address.
  let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
  let base = UInt(maps.prefix { $0 != "-" }, radix: 16) ?? 0
  for incident in Shield.guardIncidents {
    let addresses = incident.frames.map { "0x" + String($0 &- base &- 1, radix: 16) }
    tell("record \(incident.kind) \(incident.count) \(addresses.joined(separator: " "))")
  }
#endif
