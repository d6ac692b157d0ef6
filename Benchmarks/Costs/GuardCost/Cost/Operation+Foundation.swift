// This file disables the lint rules below, because it compares the guards with the plain operations that these rules
// forbid.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

private struct Order: Codable {
  var lines: [Int]
}

private struct ShieldedOrder: Decodable {
  @ShieldedElements var lines: [Int]
}

private struct Objects: @unchecked Sendable {
  // Invariant: no operation changes these objects, so threads can share them.
  static let shared = Objects()
  let array = NSArray(array: Array(0..<1024))
  let string = NSString(string: String(repeating: "some text", count: 200))
  let attributed = NSAttributedString(string: String(repeating: "some text", count: 200))
  let json: [String: Any] = ["name": "shop", "count": 3, "lines": [1, 2, 3]]
  let data = Data(#"{"lines":[1,2,3,4,5,6,7,8]}"#.utf8)
}

extension Operation {
  /// The guards G9 and G25 to G27 of docs/guards.md.
  static let foundation: [Operation] = [
    Operation("G9 json[\"a\"]! as! String") { input in
      let json: Any = opaque(Objects.shared.json)
      var sum = 0
      for _ in 0..<input.turns { sum &+= ((json as! [String: Any])["name"]! as! String).utf8.count }
      return sum
    } guarded: { input in
      let json = ShieldedJSON(opaque(Objects.shared.json))
      var sum = 0
      for _ in 0..<input.turns { sum &+= json.name.string(or: "").utf8.count }
      return sum
    },
    Operation("G9 decode([Int].self)") { input in
      var sum = 0
      for _ in 0..<input.turns / 50 {
        sum &+= try! JSONDecoder().decode(Order.self, from: Objects.shared.data).lines.count
      }
      return sum
    } guarded: { input in
      var sum = 0
      for _ in 0..<input.turns / 50 {
        sum &+= try! JSONDecoder().shieldedDecode(ShieldedOrder.self, from: Objects.shared.data).lines.count
      }
      return sum
    },
    Operation("G25 NSArray.object(at:)") { input in
      var sum = 0
      for place in input.places { sum &+= Objects.shared.array.object(at: place) as! Int }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places { sum &+= Objects.shared.array.shieldedObject(at: place) as! Int }
      return sum
    },
    Operation("G25 NSString.substring(with:)") { input in
      var sum = 0
      for place in input.places {
        sum &+= Objects.shared.string.substring(with: NSRange(location: place, length: 5)).utf8.count
      }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places {
        sum &+= Objects.shared.string.shieldedSubstring(with: NSRange(location: place, length: 5)).utf8.count
      }
      return sum
    },
    Operation("G25 NSString.character(at:)") { input in
      var sum = 0
      for place in input.places { sum &+= Int(Objects.shared.string.character(at: place)) }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places { sum &+= Int(Objects.shared.string.shieldedCharacter(at: place) ?? 0) }
      return sum
    },
    Operation("G25 NSAttributedString.attributedSubstring(from:)") { input in
      var sum = 0
      for place in input.places {
        sum &+= Objects.shared.attributed.attributedSubstring(from: NSRange(location: place, length: 5)).length
      }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places {
        sum &+= Objects.shared.attributed.shieldedAttributedSubstring(from: NSRange(location: place, length: 5)).length
      }
      return sum
    },
    Operation("G26 JSONSerialization.data(withJSONObject:)") { input in
      var sum = 0
      for _ in 0..<input.turns / 50 {
        sum &+= try! JSONSerialization.data(withJSONObject: Objects.shared.json).count
      }
      return sum
    } guarded: { input in
      var sum = 0
      for _ in 0..<input.turns / 50 {
        sum &+= try! JSONSerialization.shieldedData(withJSONObject: Objects.shared.json).count
      }
      return sum
    },
    // The limit is an absolute number, because Foundation's throwing function takes longer than its trapping function.
    Operation("G27 FileHandle.write", .atMost(500)) { input in
      let file = FileHandle(forWritingAtPath: "/dev/null")!
      for _ in 0..<input.turns / 10 { file.write(Objects.shared.data) }
      return input.turns
    } guarded: { input in
      let file = FileHandle(forWritingAtPath: "/dev/null")!
      for _ in 0..<input.turns / 10 { try! file.shieldedWrite(Objects.shared.data) }
      return input.turns
    },
    Operation("G27 FileHandle.readDataToEndOfFile") { input in
      let file = FileHandle(forReadingAtPath: "/dev/null")!
      var sum = 0
      for _ in 0..<input.turns / 10 { sum &+= file.readDataToEndOfFile().count }
      return sum
    } guarded: { input in
      let file = FileHandle(forReadingAtPath: "/dev/null")!
      var sum = 0
      for _ in 0..<input.turns / 10 { sum &+= try! file.shieldedReadToEnd().count }
      return sum
    },
  ]
}
