// Ordinary forced casts of a program. This file does not import CrashShieldCasts.
// swift-format-ignore-file: NeverForceUnwrap
public import CrashShieldGuards
import Foundation

/// A forced cast that fails.
public struct CastsFault: Sendable {
  /// A description of the cast: its value and its target type.
  public var name: String
  /// The kind of the incident that the shield records for this cast.
  public var kind: ShieldKind
  /// The line of the cast.
  public var line: Int
  /// Performs the cast, and returns its result as a string.
  public var body: @Sendable () -> String

  init(_ name: String, _ kind: ShieldKind = .cast, line: Int = #line, _ body: @escaping @Sendable () -> String) {
    self.name = name
    self.kind = kind
    self.line = line + 1
    self.body = body
  }

  /// Failing casts for which the shield has a fallback value, each with the value as text.
  public static let given: [(fault: CastsFault, value: String)] = [
    (
      CastsFault("null for a number", .null) {
        "\(reply("null") as! Int)"
      }, "0"
    ),
    (
      CastsFault("null for a text", .null) {
        "\(reply("null") as! String)"
      }, ""
    ),
    (
      CastsFault("null for a Bool", .null) {
        "\(reply("null") as! Bool)"
      }, "false"
    ),
    (
      CastsFault("null for a fraction", .null) {
        "\(reply("null") as! Double)"
      }, "0.0"
    ),
    (
      CastsFault("null for a small number", .null) {
        "\(reply("null") as! UInt8)"
      }, "0"
    ),
    (
      CastsFault("null for a list", .null) {
        "\(reply("null") as! [Any])"
      }, "[]"
    ),
    (
      CastsFault("null for an object", .null) {
        "\(reply("null") as! [String: Any])"
      }, "[:]"
    ),
    (
      CastsFault("null for a set", .null) {
        "\(reply("null") as! Set<String>)"
      }, "[]"
    ),
    (
      CastsFault("null for an optional number", .null) {
        "\(String(describing: reply("null") as! Int?))"
      }, "nil"
    ),
    (
      CastsFault("null for a type with a default", .null) {
        "\((reply("null") as! Plan).name)"
      }, "none"
    ),
    (
      CastsFault("nil for a number", .null) {
        "\(opaque(Int?.none as Any) as! Int)"
      }, "0"
    ),
    (
      CastsFault("a number for a text") {
        "\(reply("number") as! String)"
      }, "42"
    ),
    (
      CastsFault("a fraction for a text") {
        "\(reply("fraction") as! String)"
      }, "3.5"
    ),
    (
      CastsFault("a Bool for a text") {
        "\(reply("truth") as! String)"
      }, "true"
    ),
    (
      CastsFault("Swift's number for a text") {
        "\(opaque(UInt16(42) as Any) as! String)"
      }, "42"
    ),
    (
      CastsFault("a text for a number") {
        "\(reply("text") as! Int)"
      }, "42"
    ),
    (
      CastsFault("a text for a fraction") {
        "\(reply("fractionText") as! Double)"
      }, "3.5"
    ),
    (
      CastsFault("a text for a small number") {
        "\(reply("text") as! Int8)"
      }, "42"
    ),
    (
      CastsFault("a text for a Bool") {
        "\(opaque("true" as Any) as! Bool)"
      }, "true"
    ),
    (
      CastsFault("a text for an optional number") {
        "\(String(describing: reply("text") as! Int?))"
      }, "Optional(42)"
    ),
    (
      CastsFault("Foundation's text for a number") {
        "\(opaque(NSString(string: "42") as Any) as! Int)"
      }, "42"
    ),
    (
      CastsFault("a number for a text, of another static type") {
        "\(opaque(7 as any Sendable) as! String)"
      }, "7"
    ),
  ]

  /// A cast for which Foundation itself ends the process by SIGILL.
  public static let fraction = CastsFault("Foundation's fraction for a number") {
    "\(reply("fraction") as! Int)"
  }

  /// Failing casts without a fallback value, which end the process in every mode.
  public static let refused: [CastsFault] = [
    CastsFault("a text that only begins with a number") {
      "\(opaque("12abc" as Any) as! Int)"
    },
    CastsFault("a number with a blank") {
      "\(opaque(" 42" as Any) as! Int)"
    },
    CastsFault("a fraction in a text for a number") {
      "\(reply("fractionText") as! Int)"
    },
    CastsFault("a text of a number that is too large") {
      "\(opaque("256" as Any) as! UInt8)"
    },
    CastsFault("a text without a number for an optional number") {
      "\(String(describing: opaque("" as Any) as! Int?))"
    },
    CastsFault("a number for a Bool") {
      "\(opaque(1 as Any) as! Bool)"
    },
    CastsFault("Swift's fraction for a number") {
      "\(opaque(3.0 as Any) as! Int)"
    },
    CastsFault("null for a date", .null) {
      "\(reply("null") as! Date)"
    },
    CastsFault("null for an optional date", .null) {
      "\(String(describing: reply("null") as! Date?))"
    },
    CastsFault("null for an object of a class", .null) {
      "\(reply("null") as! Counted)"
    },
    CastsFault("null for a protocol type", .null) {
      "\(reply("null") as! any Named)"
    },
    CastsFault("null for a tuple", .null) {
      "\(reply("null") as! (Int, Int))"
    },
    CastsFault("a list with a null for a list of numbers") {
      "\(reply("list") as! [Int])"
    },
    CastsFault("a list for a text") {
      "\(reply("list") as! String)"
    },
    CastsFault("an object for a number") {
      "\(opaque(["a": 1] as Any) as! Int)"
    },
    CastsFault("a text for a list") {
      "\(reply("text") as! [Any])"
    },
    CastsFault("a date for a number") {
      "\(opaque(Date(timeIntervalSince1970: 0) as Any) as! Int)"
    },
    CastsFault("an object for an object of another class") {
      "\(opaque(Counted() as Any) as! Other)"
    },
    CastsFault("an error for an error of another type") {
      "\(opaque(ShopError.here as any Error) as! OtherError)"
    },
  ]
}

/// A type for which the program provides the fallback value of a null.
private struct Plan: ShieldDefault {
  var name = "none"

  static var shieldDefault: Plan { Plan() }
}
