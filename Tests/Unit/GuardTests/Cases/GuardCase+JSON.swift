// These cases contain faults on purpose, which guards must detect.
// swift-format-ignore-file: NeverForceUnwrap
import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation

extension GuardCase {
  static let json: [GuardCase] = [
    GuardCase("JSON's null as a text", .null, SIGABRT, plain: { use(member("null")! as! String) }) {
      document.null.string() == nil
    },
    GuardCase("JSON's null as an integer", .null, SIGABRT, plain: { use(member("null")! as! Int) }) {
      document.null.int(or: 7) == 7
    },
    GuardCase("JSON's null as an array", .null, SIGABRT, plain: { use(member("null")! as! [Any]) }) {
      document.null.array() == nil
    },
    GuardCase("JSON's null as an object", .null, SIGABRT, plain: { use(member("null")! as! [String: Any]) }) {
      document.null.object() == nil
    },
    GuardCase("JSON's null as a number", .null, SIGABRT, plain: { use(member("null")! as! Double) }) {
      document.null.double(or: 1) == 1
    },
    GuardCase("JSON's null as a Bool", .null, SIGABRT, plain: { use(member("null")! as! Bool) }) {
      document.null.bool(or: true)
    },
    GuardCase("a missing member", .missingValue, plain: { use(member("nothing")! as! String) }) {
      document.nothing.string(or: "-") == "-"
    },
    GuardCase("a missing element", .missingValue, plain: { use((member("list")! as! [Any])[opaque(3)]) }) {
      document.list[opaque(3)].int() == nil
    },
    GuardCase(
      "a member of null", .null, SIGABRT, plain: { use((member("null")! as! [String: Any])["deep"]! as! Int) }
    ) {
      document.null.deep.deeper[2].deepest.int() == nil
    },
    GuardCase(
      "an element of an object", .cast, SIGABRT, plain: { use((member("members")! as! [Any])[0] as! Int) }
    ) {
      document.members[0].int() == nil
    },
    GuardCase("a member of an array", .cast, SIGABRT, plain: { use((member("list")! as! [String: Any])["a"]!) }) {
      document.list.a.int() == nil
    },
    GuardCase("a JSON text as an array", .cast, SIGABRT, plain: { use(member("text")! as! [Any]) }) {
      document.text.array() == nil
    },
    GuardCase("a JSON text with a number as an integer", .cast, SIGABRT, plain: { use(member("digits")! as! Int) }) {
      document.digits.int() == 42
    },
    GuardCase("a JSON number as a text", .cast, SIGABRT, plain: { use(member("integer")! as! String) }) {
      document.integer.string() == "42"
    },
    GuardCase("a JSON Bool as a text", .cast, SIGABRT, plain: { use(member("truth")! as! String) }) {
      document.truth.string() == "true"
    },
    GuardCase("a JSON fraction as an integer", .cast, plain: { use(member("fraction")! as! Int) }) {
      document.fraction.int() == nil
    },
    GuardCase("an invalid archive", .json, plain: { use(NSKeyedUnarchiver.unarchiveObject(with: noise)) }) {
      isRefused { try NSKeyedUnarchiver.shieldedUnarchivedObject(ofClass: NSString.self, from: noise) }
    },
    GuardCase(
      "an archive of an object of another class", .json, SIGABRT,
      plain: { use(NSKeyedUnarchiver.unarchiveObject(with: archive) as! NSString) }
    ) {
      isRefused { try NSKeyedUnarchiver.shieldedUnarchivedObject(ofClass: NSString.self, from: archive) }
    },
    GuardCase("a JSON integer that is too large", .cast, plain: { use(member("large")! as! Int) }) {
      document.large.int() == nil
    },
  ]

  private static let noise = opaque(Data([1]))
  private static let archive =
    (try? NSKeyedArchiver.archivedData(withRootObject: NSNumber(value: 4), requiringSecureCoding: false)) ?? Data()

  private static func isRefused(_ body: () throws -> NSString) -> Bool {
    do { _ = try body() } catch { return error as? ShieldFault == .refused("an archive without a NSString") }
    return false
  }

  /// Reads a member of the JSON text as a program without guards does.
  private static func member(_ key: String) -> Any? {
    (try? JSONSerialization.jsonObject(with: Data(source.utf8)) as? [String: Any])?[opaque(key)]
  }

  private static var document: ShieldedJSON { (try? ShieldedJSON(data: Data(source.utf8))) ?? ShieldedJSON(nil) }

  private static let source = """
    {"null": null, "text": "x", "digits": "42", "integer": 42, "fraction": 3.5, "truth": true, "list": [1, "b", null],
     "members": {"a": 1}, "large": 18446744073709551615}
    """
}
