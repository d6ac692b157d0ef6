package import CrashReport
package import FoundationEssentials
internal import Glibc
internal import Synchronization

/// JSON that is there already, such as a stored report: a reply holds its bytes as they are.
///
/// It is one value on one line. So it holds neither a NUL nor a line feed, and ends no frame that holds it.
package struct JSONFragment: Encodable, Sendable, Equatable {
  /// UTF-8.
  package let bytes: Data

  /// Makes the JSON of a value.
  /// - Throws: `EncodingError` for a number that JSON does not have.
  package init(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    bytes = try encoder.encode(value)
  }

  /// Takes untrusted bytes; nil: they are no object with this id, are nested too deep, or have more than one line.
  ///
  /// What else an object needs to be a report shows when one decodes it.
  /// Complexity: O(bytes), see `JSONParser`.
  package init?(_ bytes: Data, id: String) {
    // In a text of JSON a control character is escaped: one in the bytes is space between two values.
    guard bytes.allSatisfy({ $0 >= 0x20 }),
      case .object(.some(id))? = try? JSONParser<Outline>.parse(Array(bytes), depth: JSONDepth.answers)
    else { return nil }
    self.bytes = bytes
  }

  /// Takes the place of its bytes in a reply that `FragmentList` encodes.
  /// - Throws: `EncodingError` from any other encoder, which would escape them.
  package func encode(to encoder: any Encoder) throws {
    guard let list = encoder.userInfo[FragmentList.key] as? FragmentList else {
      throw EncodingError.invalidValue(
        self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "a fragment outside of a reply"))
    }
    var container = encoder.singleValueContainer()
    try container.encode(list.place(of: self))
  }

  /// Reads it as a report.
  /// - Throws: `DecodingError`.
  package func report() throws -> CrashReport { try JSONDecoder().decode(CrashReport.self, from: bytes) }

  /// Reads it as what it is.
  /// - Throws: `JSONProblem`, never for one that was checked.
  package func value() throws -> JSONValue {
    try JSONParser<JSONValue>.parse(Array(bytes), depth: JSONDepth.answers)
  }
}

/// As much of a JSON value as the check of a fragment needs.
private enum Outline: JSONBuildable {
  case text(String)
  case object(id: String?)
  case other

  static func json(null _: Void) -> Outline { .other }
  static func json(bool _: Bool) -> Outline { .other }
  static func json(integer _: Int64) -> Outline { .other }
  static func json(double _: Double) -> Outline { .other }
  static func json(string: String) -> Outline { .text(string) }
  static func json(array _: [Outline]) -> Outline { .other }
  static func json(object: [String: Outline]) -> Outline {
    guard case .text(let id)? = object["id"] else { return .object(id: nil) }
    return .object(id: id)
  }
}

/// The fragments of one reply.
///
/// JSONEncoder writes no bytes of others. It writes a mark for each fragment, whose place the fragment then takes.
final class FragmentList: Sendable {
  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "fragments") else { preconditionFailure("BUG: a text that is no key") }
    return key
  }()

  /// 128 random bits, new for each reply: no text that was there before has them.
  private let mark = (0..<2).map { _ in UInt64.random(in: .min ... .max).hexadecimal(digits: 16) }.joined()
  private let fragments = Mutex<[JSONFragment]>([])

  fileprivate func place(of fragment: JSONFragment) -> String {
    fragments.withLock { fragments in
      fragments.append(fragment)
      return "\(mark)-\(fragments.count - 1)"
    }
  }

  /// The JSON of a value, with its fragments in their places.
  static func json(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> Data {
    let list = FragmentList()
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting.union(.withoutEscapingSlashes)
    encoder.userInfo[key] = list
    var json = try encoder.encode(value)
    for (index, fragment) in list.fragments.withLock({ $0 }).enumerated() {
      guard let place = position(of: Array("\"\(list.mark)-\(index)\"".utf8), in: json) else {
        preconditionFailure("BUG: a fragment without a place")
      }
      json.replaceSubrange(place, with: fragment.bytes)
    }
    return json
  }

  /// By libc's memchr, since the Glibc module has no memmem: a reply may have 10 MB of a raw record before the mark.
  private static func position(of mark: [UInt8], in json: Data) -> Range<Data.Index>? {
    unsafe json.withUnsafeBytes { json in
      unsafe mark.withUnsafeBytes { mark in
        // The pointers live for the call, and the result lies within the bytes.
        guard let start = json.baseAddress, let sought = mark.baseAddress, let first = unsafe mark.first else {
          return nil
        }
        var offset = 0
        while json.count - offset >= mark.count,
          let found = unsafe memchr(start + offset, Int32(first), json.count - offset - mark.count + 1)
        {
          offset = unsafe UnsafeRawPointer(found) - start
          if unsafe memcmp(start + offset, sought, mark.count) == 0 { return offset..<offset + mark.count }
          offset += 1
        }
        return nil
      }
    }
  }
}
