// memory WAY BUDGET: releases objects until the quarantine has reached its budget. Prints the private memory of the
// process, and the number of bytes that the quarantine reports. WAY is `none` or the number of a policy.
// scripts/measure/dangling compares the output of several runs.
import Glibc

final class Wide {
  var fields = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28)
}

final class Probe {
  var one = 1
  var two = 2
}

nonisolated(unsafe) var kept: AnyObject?

func metadata(_ type: AnyClass) -> UnsafeRawPointer { unsafe unsafeBitCast(type, to: UnsafeRawPointer.self) }

func require(_ condition: Bool) { if !condition { fatalError("memory: the quarantine does not work here") } }

/// Returns the private memory of the process in bytes.
func ownMemory() -> Int {
  guard let file = unsafe fopen("/proc/self/status", "r") else { fatalError("memory: no /proc/self/status") }
  defer { unsafe fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while unsafe fgets(&line, 256, file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard text.hasPrefix("RssAnon:") else { continue }
    return (Int(text.dropFirst(8).filter(\.isNumber)) ?? 0) * 1024
  }
  fatalError("memory: no RssAnon")
}

let way = CommandLine.arguments[1]
let budget = UInt64(CommandLine.arguments[2]) ?? 0
let instance = unsafe Unmanaged.passRetained(Probe()).toOpaque()
require(unsafe cs_quarantine_check(metadata(Probe.self), instance, 32))
cs_quarantine_set_budget(budget)
if let number = UInt32(way), let policy = cs_mode(rawValue: number) {
  require(unsafe cs_quarantine_list(metadata(Wide.self), policy, 4096).rawValue == 0)
}
for _ in 0..<200_000 {
  unsafe kept = Wide()
  unsafe kept = nil
}
// Check that the quarantine is full: the remaining budget is less than the size of one object.
require(way == "none" || cs_quarantine_bytes() + 512 > budget)
print(ownMemory(), cs_quarantine_bytes())
