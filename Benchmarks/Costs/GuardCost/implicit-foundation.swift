// Operations on Foundation's `Data`. scripts/check/implicit compiles this file once with Foundation and once with
// CrashShieldImplicitFoundation, and compares the output.
#if IMPLICIT
  import CrashShield
  import CrashShieldGuards
  import CrashShieldImplicit
  import CrashShieldImplicitFoundation
#else
  import Foundation
#endif

@inline(never) @_optimize(none) func opaque<Value>(_ value: Value) -> Value { value }

// Each function consists only of one operation that can fault, so that the call of the fault's handler is in tail
// position. If the compiler makes it a tail call, the record lacks the call site of the fault, and the check fails.
func byte(_ data: Data, _ place: Int) -> UInt8 { data[place] }
func part(_ data: Data, _ end: Int) -> Data { data[1..<end] }
func write(_ data: inout Data, _ place: Int) { data[place] = 7 }
func writePart(_ data: inout Data, _ end: Int) { data[0..<end] = Data([7]) }

/// Returns the results of operations that do not fault.
func plain() -> String {
  var data = opaque(Data((0..<40).map { UInt8($0) }))
  let copy = data
  data[3] = 200
  data[opaque(4)] += 5
  data[0..<2] = Data([9, 8, 7])
  data[10..<12].append(1)
  var part = data[5..<20]
  part[opaque(6)] ^= 0xF0
  part[part.startIndex] = part[part.endIndex - 1]
  var small = opaque(Data([1, 2]))
  small[1] = 9
  // Checks that these calls are not ambiguous, and call Foundation's own functions.
  let changed = NSMutableArray(array: [1, "two", 3])
  changed[0] = "one"
  let list = NSArray(array: [changed[0], changed[1], changed[2]])
  let set = NSOrderedSet(array: ["a", "b"])
  return """
    \(Array(data)) \(Array(copy)) \(Array(part)) \(part.startIndex) \(Array(data[2...])) \(data[...1].count) \(Array(small))
    \(list[0]) \(list[opaque(1)]) \(list.lastObject ?? 0) \(set[1]) \(set[opaque(0)]) \(data.prefix(2).count)
    \(String(decoding: Data("text".utf8)[1..<3], as: UTF8.self)) \(data.first ?? 0) \(data.firstIndex(of: 200) ?? 0)
    """
}

print(plain())
#if IMPLICIT
  if CommandLine.arguments.count > 1 {
    Shield.setImplicitMode(.absorb)
    var data = opaque(Data([1, 2, 3]))
    write(&data, opaque(-1))
    writePart(&data, opaque(9))
    let part = part(data, opaque(9))
    let isRight =
      byte(data, opaque(3)) == 0 && byte(part, opaque(0)) == 0 && part == Data([2, 3]) && data == Data([1, 2, 3])
    print(isRight ? "right" : "wrong", Shield.guardIncidents.count)
    // The first line of /proc/self/maps begins with the address of the program in memory.
    let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
    let base = UInt(maps.prefix { $0 != "-" }, radix: 16) ?? 0
    for incident in Shield.guardIncidents {
      let addresses = incident.frames.map { "0x" + String($0 &- base &- 1, radix: 16) }
      print(incident.kind, incident.line, addresses.joined(separator: " "))
    }
  }
#endif
