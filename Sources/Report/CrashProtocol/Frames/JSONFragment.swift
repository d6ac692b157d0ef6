package import CrashReport
package import FoundationEssentials
internal import Glibc
internal import Synchronization

/// JSON that is already encoded, such as a stored report.
///
/// A reply contains the fragment unchanged. A fragment is one JSON value on one line. The value contains neither a NUL
/// byte nor a line feed, because these bytes end a frame.
package struct JSONFragment: Encodable, Sendable, Equatable {
  /// The JSON as UTF-8.
  package let bytes: Data

  /// Encodes a value as JSON.
  /// - Throws: `EncodingError` for a number that JSON cannot represent.
  package init(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    bytes = try encoder.encode(value)
  }

  /// Creates a fragment from untrusted bytes.
  ///
  /// Returns nil if the bytes are not a JSON object whose key `id` has this value. Also returns nil if the object is
  /// nested too deep or has more than one line.
  ///
  /// The other fields are not checked here, because decoding the report checks them. Complexity: O(bytes), see
  /// `JSONParser`.
  package init?(_ bytes: Data, id: String) {
    // JSON strings contain control characters only as escapes. Outside strings, a control character can therefore only
    // be white space.
    guard bytes.allSatisfy({ $0 >= 0x20 }),
      case .object(.some(id))? = try? JSONParser<Outline>.parse(Array(bytes), depth: JSONDepth.answers)
    else { return nil }
    self.bytes = bytes
  }

  /// Encodes a placeholder, which `FragmentList` later replaces with the bytes.
  /// - Throws: `EncodingError` if the encoder has no `FragmentList`, because the encoder would escape the bytes.
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
  /// - Throws: `JSONProblem`. If `init(_:id:)` has checked the fragment, this error cannot occur.
  package func value() throws -> JSONValue {
    try JSONParser<JSONValue>.parse(Array(bytes), depth: JSONDepth.answers)
  }
}

/// The parts of a JSON value that are needed to check a fragment.
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

/// The fragments of one reply, and their placeholders.
///
/// JSONEncoder cannot write bytes that are already encoded. Therefore JSONEncoder writes a placeholder for each
/// fragment, and `FragmentList` then replaces the placeholder with the fragment.
final class FragmentList: Sendable {
  static let key: CodingUserInfoKey = {
    guard let key = CodingUserInfoKey(rawValue: "fragments") else { preconditionFailure("BUG: no key of this name") }
    return key
  }()

  /// The common part of the placeholders: 128 random bits, new for each reply, so that no other string contains them.
  private let mark = (0..<2).map { _ in UInt64.random(in: .min ... .max).hexadecimal(digits: 16) }.joined()
  private let fragments = Mutex<[JSONFragment]>([])

  fileprivate func place(of fragment: JSONFragment) -> String {
    fragments.withLock { fragments in
      fragments.append(fragment)
      return "\(mark)-\(fragments.count - 1)"
    }
  }

  /// Encodes a value as JSON, and replaces the placeholders with their fragments.
  ///
  /// A floating-point number that is not finite becomes a string, such as "Infinity", because JSON cannot represent it.
  /// An estimate from the untrusted counters of a ring can be infinite.
  static func json(_ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting) throws -> Data {
    let list = FragmentList()
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting.union(.withoutEscapingSlashes)
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
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

  /// The search uses libc's memchr, because the Glibc module does not export memmem.
  ///
  /// The search must be fast, because a reply can contain a raw record of 10 MB before the placeholder.
  private static func position(of mark: [UInt8], in json: Data) -> Range<Data.Index>? {
    unsafe json.withUnsafeBytes { json in
      unsafe mark.withUnsafeBytes { mark in
        // Both pointers are valid during this closure, and the found range lies within the bytes.
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
