// Faults in an optimized program. scripts/check/implicit compiles this file with and without the import of
// CrashShieldImplicit, and compares the output.
import Glibc

#if IMPLICIT
  import CrashShield
  import CrashShieldGuards
  import CrashShieldImplicit
#endif

@inline(never) @_optimize(none) func opaque<Value>(_ value: Value) -> Value { value }

final class Thing {
  nonisolated(unsafe) static var alive = 0
  var name = "thing"
  init() { Thing.alive += 1 }
  deinit { Thing.alive -= 1 }
}

struct Point {
  var x = 1
  var y = 2
}

// Each function consists only of one operation that can fault, so that the call of the fault's handler is in tail
// position. If the compiler makes it a tail call, the record lacks the call site of the fault, and the check fails.
func sum(_ a: Int, _ b: Int) -> Int { a + b }
func difference(_ a: UInt, _ b: UInt) -> UInt { a - b }
func product(_ a: Int32, _ b: Int32) -> Int32 { a * b }
func quotient(_ a: Int, _ b: Int) -> Int { a / b }
func rest(_ a: Int16, _ b: Int16) -> Int16 { a % b }
func negation(_ a: Int8) -> Int8 { -a }
func part(_ list: [Int], _ end: Int) -> ArraySlice<Int> { list[1..<end] }
func labelled(_ list: [(x: Int, y: Int)], _ end: Int) -> Int { list[0..<end].count }
func write(_ list: inout [String], _ end: Int) { list[0..<end] = ["a"] }
func character(_ text: String) -> Character { text[text.endIndex] }
func text(_ text: String, _ end: String.Index) -> Substring { text[text.startIndex..<end] }
func condition(_ holds: Bool) { precondition(holds, "it is \(opaque(3))") }
func element(_ list: [Int], _ place: Int) -> Int { list[place] }
func word(_ list: ArraySlice<String>, _ place: Int) -> String { list[place] }
func byte(_ list: ContiguousArray<UInt8>, _ place: Int) -> UInt8 { list[place] }
func maybe(_ list: [Int?], _ place: Int) -> Int? { list[place] }
func writeElement(_ list: inout [Int], _ place: Int) { list[place] = 7 }
func writeWord(_ list: inout ArraySlice<String>, _ place: Int) { list[place] = "z" }
func append(_ list: inout [[Int]], _ place: Int) { list[place].append(7) }
func lengthen(_ list: inout ArraySlice<String>, _ place: Int) { list[place] += "z" }
func drop(_ list: inout ContiguousArray<Thing?>, _ place: Int) { list[place]?.name = "z" }
func assign(_ list: inout [Thing?], _ place: Int) { list[place] = Thing() }

/// Returns the results of operations that do not fault.
func plain() -> String {
  var texts = opaque(["a", "b", "c"])
  let copy = texts
  texts[1..<3] = ["d"]
  var numbers = opaque([5, 3, 9, 1])
  numbers[1..<4].sort()
  numbers[0] += numbers[1] * 7 / 2 % 4
  var bytes = opaque([UInt8](repeating: 7, count: 32))
  let isInPlace = bytes.withUnsafeMutableBufferPointer { whole in
    withUnsafeMutablePointer(to: &whole[3]) { element in element == whole.baseAddress.map { $0 + 3 } }
  }
  let points = opaque([Point(), Point(x: 3, y: 4)])
  condition(true)
  let word = opaque("aé😀b")
  return """
    \(texts) \(copy) \(numbers) \(isInPlace) \(points[0..<1].map(\.x)) \(sum(1, 2)) \(difference(3, 1)) \(product(-3, 4))
    \(quotient(-7, 2)) \(rest(-7, 2)) \(negation(5)) \(part(numbers, 3)) \(word[word.index(word.startIndex, offsetBy: 2)])
    \(text(word, word.index(word.startIndex, offsetBy: 2))) \(Int64.max - 1 - (Int64.max - 3)) \(-5 + 2)
    """
}

print(plain())
#if IMPLICIT
  if CommandLine.arguments.count > 1 {
    Shield.setImplicitMode(.absorb)
    var texts = opaque(["a"])
    write(&texts, opaque(9))
    condition(opaque(false))
    let long = opaque("abcdef")
    let isRight =
      sum(opaque(.max), 1) == .max && difference(opaque(0), 1) == 0 && product(opaque(.max), -2) == .min
      && quotient(1, opaque(0)) == 0 && rest(1, opaque(0)) == 0 && negation(opaque(.min)) == .max
      && part([1, 2, 3], opaque(9)) == [2, 3] && labelled([(1, 2)], opaque(9)) == 1 && texts == ["a"]
      && character(opaque("abc")) == "\u{FFFD}" && text("ab", opaque(long.endIndex)) == "ab"
    var numbers = opaque([1, 2])
    var words = opaque(["a", "b", "c"])[1...]
    var nested = opaque([[1], [2]])
    var things = opaque(ContiguousArray<Thing?>([Thing()]))
    var others = Array(things)
    // Causes each fault with several values, and checks that it leaves the lists unchanged.
    for place in [-1, 3, .max, .min] {
      writeElement(&numbers, opaque(place))
      writeWord(&words, opaque(place))
      append(&nested, opaque(place))
      lengthen(&words, opaque(place))
      drop(&things, opaque(place))
      assign(&others, opaque(place))
    }
    // Checks that the program can still change the lists.
    numbers[0] += 1
    words[1] += "b"
    nested[1].append(3)
    let areElementsRight =
      element([1], opaque(1)) == 0 && word(["a", "b"][1...], opaque(0)) == "" && byte([1], opaque(-1)) == 0
      && maybe([1], opaque(1)) == nil && numbers == [2, 2] && words == ["bb", "c"] && words.startIndex == 1
      && nested == [[1], [2, 3]] && things.count == 1 && others.count == 1 && Thing.alive == 1
    print(isRight && areElementsRight ? "right" : "wrong", Shield.guardIncidents.count)
    // The first line of /proc/self/maps begins with the address of the program in memory.
    var start = [UInt8](repeating: 0, count: 32)
    let maps = open("/proc/self/maps", O_RDONLY)
    _ = read(maps, &start, start.count)
    let base = UInt(String(decoding: start.prefix { $0 != UInt8(ascii: "-") }, as: UTF8.self), radix: 16) ?? 0
    for incident in Shield.guardIncidents {
      let addresses = incident.frames.map { "0x" + String($0 &- base &- 1, radix: 16) }
      print(incident.kind, incident.line, addresses.joined(separator: " "))
    }
  }
#endif
