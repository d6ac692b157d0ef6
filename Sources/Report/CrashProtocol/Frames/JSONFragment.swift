package import CrashReport
package import FoundationEssentials
internal import Glibc
internal import Synchronization

/// Encoded JSON, such as a stored report, which a reply contains unchanged.
///
/// A fragment is one JSON value on one line. It contains neither a NUL byte nor a line feed, and therefore cannot end a
/// frame.
package struct JSONFragment: Encodable, Sendable, Equatable {
  /// The JSON text in UTF-8.
  package let bytes: Data

  /// Encodes a value as JSON.
  /// - Throws: `EncodingError` for a number that JSON cannot represent.
  package init(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    bytes = try encoder.encode(value)
  }

  /// Validates untrusted bytes.
  ///
  /// Fails if they are no object with this id, are nested too deep, or have more than one line.
  ///
  /// The check does not cover the other fields of a report, which decoding checks.
  /// Complexity: O(bytes), see `JSONParser`.
  package init?(_ bytes: Data, id: String) {
    // JSON escapes control characters in texts. A control character in the bytes is therefore white space between two
    // values.
    guard bytes.allSatisfy({ $0 >= 0x20 }),
      case .object(.some(id))? = try? JSONParser<Outline>.parse(Array(bytes), depth: JSONDepth.answers)
    else { return nil }
    self.bytes = bytes
  }

  /// Encodes a mark, which `FragmentList` later replaces with the bytes.
  /// - Throws: `EncodingError` from an encoder without a `FragmentList`, because it would escape the bytes.
  package func encode(to encoder: any Encoder) throws {
    guard let list = encoder.userInfo[FragmentList.key] as? FragmentList else {
      throw EncodingError.invalidValue(
        self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "a fragment outside of a reply"))
    }
    var container = encoder.singleValueContainer()
    try container.encode(list.place(of: self))
  }

  /// Decodes the fragment as a report.
  /// - Throws: `DecodingError`.
  package func report() throws -> CrashReport { try JSONDecoder().decode(CrashReport.self, from: bytes) }

  /// Parses the fragment as a JSON value.
  /// - Throws: `JSONProblem`, but never for a fragment that `init(_:id:)` has checked.
  package func value() throws -> JSONValue {
    try JSONParser<JSONValue>.parse(Array(bytes), depth: JSONDepth.answers)
  }
}

/// The parts of a JSON value that the check of a fragment reads.
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
/// JSONEncoder cannot write bytes that are already encoded. It writes a mark for each fragment, and the fragment then
/// replaces its mark.
final class FragmentList: Sendable {
  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "fragments") else { preconditionFailure("BUG: a text that is no key") }
    return key
  }()

  /// 128 random bits, new for each reply, so that no text of the reply contains them.
  private let mark = (0..<2).map { _ in UInt64.random(in: .min ... .max).hexadecimal(digits: 16) }.joined()
  private let fragments = Mutex<[JSONFragment]>([])

  fileprivate func place(of fragment: JSONFragment) -> String {
    fragments.withLock { fragments in
      fragments.append(fragment)
      return "\(mark)-\(fragments.count - 1)"
    }
  }

  /// Encodes a value as JSON, and replaces the marks with their fragments.
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

  /// Searches with libc's memchr, because the Glibc module does not export memmem.
  ///
  /// A reply may have a raw record of 10 MB before the mark.
  private static func position(of mark: [UInt8], in json: Data) -> Range<Data.Index>? {
    unsafe json.withUnsafeBytes { json in
      unsafe mark.withUnsafeBytes { mark in
        // The pointers are valid for the call, and the result lies within the bytes.
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
