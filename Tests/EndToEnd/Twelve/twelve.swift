// Twelve faults in ordinary code that does not use the shield. scripts/check/twelve compiles this file twice without
// changing it: with and without the shield's modules.
// swift-format-ignore-file: NeverForceUnwrap
import Foundation

// Each incident must name the line of the function that faulted. The functions differ in their code, because the
// compiler merges functions with equal code.
@inline(never) func element(_ list: [Int], _ place: Int) -> Int { list[place] }
@inline(never) func writeElement(_ list: inout [String], _ place: Int) { list[place] = "z" }
@inline(never) func append(_ lists: inout [[Int]], _ place: Int) { lists[place].append(7) }
@inline(never) func part(_ list: [Int], _ end: Int) -> ArraySlice<Int> { list[1..<end] }
@inline(never) func character(_ text: String, _ place: String.Index) -> Character { text[place] }
@inline(never) func sum(_ a: Int, _ b: Int) -> Int { a + b }
@inline(never) func difference(_ a: UInt8, _ b: UInt8) -> UInt8 { a - b }
@inline(never) func quotient(_ a: Int, _ b: Int) -> Int { a / b }
@inline(never) func null(_ reply: [String: Any]) -> [Int] { reply["null"] as! [Int] }
@inline(never) func number(_ reply: [String: Any]) -> String { reply["number"] as! String }
@inline(never) func text(_ reply: [String: Any]) -> Int { reply["text"] as! Int }
@inline(never) func screen() { MainActor.preconditionIsolated() }

/// Runs the fault with a number and returns its result as a string.
func result(of fault: Int) -> String {
  let data = Data(#"{"null": null, "number": 42, "text": "42"}"#.utf8)
  guard let reply = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else { return "no reply" }
  var texts = opaque(["a", "b"])
  var lists = opaque([[1], [2]])
  switch fault {
  case 1: return "\(element([1, 2, 3], opaque(3)))"
  case 2:
    writeElement(&texts, opaque(2))
    return "\(texts)"
  case 3:
    append(&lists, opaque(-1))
    return "\(lists)"
  case 4: return "\(part([1, 2, 3], opaque(9)))"
  case 5: return "\(character(opaque("abc"), opaque("abc").endIndex))"
  case 6: return "\(sum(opaque(.max), 1))"
  case 7: return "\(difference(opaque(1), 2))"
  case 8: return "\(quotient(1, opaque(0)))"
  case 9: return "\(null(reply))"
  case 10: return number(reply)
  case 11: return "\(text(reply))"
  case 12:
    screen()
    return "drawn"
  default: return "no fault"
  }
}

/// Returns the value unchanged.
///
/// The optimizer cannot predict the result.
@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }
