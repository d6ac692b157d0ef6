/// The variables in scope at a code address that hold pointers, and the types to which they point.
///
/// The description comes from a sandboxed child process that has parsed an untrusted file. Therefore, the parser stops
/// at the first invalid line, and crashd never uses the numbers in the description as addresses in its own memory. The
/// header `cs_scope.h` defines the format of the description.
public struct ScopeDescription: Sendable, Equatable {
  /// A variable or parameter that holds a pointer.
  public struct Variable: Sendable, Equatable {
    /// The name of the variable in the source code.
    public var name: String
    /// The DWARF number of the register on which the location of the variable is based.
    public var register: Int
    /// The offset that is added to the value of the register.
    ///
    /// A negative offset is stored in two's complement.
    public var offset: UInt64
    /// Whether the variable is in memory, at the address that is the sum of the register's value and the offset.
    ///
    /// If false, the sum itself is the value of the variable.
    public var isMemory: Bool
    /// The index in ``ScopeDescription/types`` of the type to which the variable points.
    ///
    /// The index is nil if the type has no members.
    public var type: Int?
  }

  /// A type with members.
  public struct Structure: Sendable, Equatable {
    /// The name of the type in the source code.
    public var name: String
    /// The members of the type, in the order of the debug information.
    public var fields: [Field]
    /// The size of an instance, for a Swift class; nil if it is unknown.
    public var size: UInt64?
    /// The sizes of instances of derived classes; empty if the image does not contain them.
    public var derivedSizes: [UInt64] = []
  }

  /// A member of a type.
  public struct Field: Sendable, Equatable {
    /// The name of the member in the source code; empty for a base class and for an anonymous union.
    public var name: String
    /// The offset of the member from the start of the type.
    public var offset: UInt64
    /// The size of the member in bytes; 0 if it is unknown.
    public var size: UInt64
    /// The kind of value that the member contains.
    public var content: Content
  }

  /// The kind of value that a member contains.
  public enum Content: Sendable, Equatable {
    /// A value that is neither a pointer to a type with members nor such a type itself, or a value of an unknown kind.
    case plain
    /// A pointer to the type at the given index in ``ScopeDescription/types``.
    case pointer(Int)
    /// A value of the type at the given index in ``ScopeDescription/types``.
    case value(Int)
  }

  /// A Swift class to which the function at the address refers: its name is a part of the function's own name, or of
  /// the name of a function that this function calls or refers to.
  public struct NamedClass: Sendable, Equatable {
    /// The name of the class in the source code.
    public var name: String
    /// The size of an instance in bytes.
    public var size: UInt64
    /// The sizes of instances of derived classes; empty if the image does not contain them.
    public var derivedSizes: [UInt64] = []
  }

  /// The variables in scope that hold pointers.
  ///
  /// The variables of the innermost scope come last.
  public var variables: [Variable] = []
  /// The types that variables and members refer to.
  public var types: [Structure] = []
  /// The classes that the function refers to.
  ///
  /// Finding these classes does not require debug information.
  public var namedClasses: [NamedClass] = []
  /// The bytes of code directly before the address.
  ///
  /// Reading these bytes does not require debug information.
  public var codeBefore: [UInt8] = []

  /// The maximum number of bytes of code before the address that are read.
  public static let codeBytes = 24

  /// The maximum size of a description in bytes.
  ///
  /// This size is larger than the limit that crash-analyse itself applies.
  public static let limitBytes = 64 << 10

  /// Parses a description in text form.
  ///
  /// Parsing ends at the first invalid line.
  public init(_ bytes: [UInt8]) {
    for line in bytes.prefix(Self.limitBytes).split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 5, omittingEmptySubsequences: false)
        .map { String(decoding: $0, as: UTF8.self) }
      guard add(words) else { break }
    }
  }

  private mutating func add(_ words: [String]) -> Bool {
    let rest = { (count: Int) in words.dropFirst(count).joined(separator: " ") }
    switch (words.first, words.count) {
    case ("V", 6):
      guard let register = Int(words[2]), let offset = Int64(words[3]) else { return false }
      variables.append(
        Variable(
          name: words[5], register: register, offset: UInt64(bitPattern: offset), isMemory: words[1] == "m",
          type: Int(words[4])))
    case ("B", 2):
      guard words[1].utf8.count <= 2 * Self.codeBytes, let bytes = Self.bytes(words[1]) else { return false }
      codeBefore = bytes
    case ("T", 3...):
      guard Int(words[1]) == types.count else { return false }
      types.append(Structure(name: rest(2), fields: []))
    case ("F", 6):
      guard !types.isEmpty, let offset = UInt64(words[1]), let size = UInt64(words[2]) else { return false }
      types[types.count - 1].fields.append(
        Field(name: words[5], offset: offset, size: size, content: Self.content(words[3], Int(words[4]))))
    case ("S", 2):
      guard !types.isEmpty, let size = UInt64(words[1]) else { return false }
      types[types.count - 1].size = size
    case ("C", 3...):
      guard let size = UInt64(words[1]) else { return false }
      namedClasses.append(NamedClass(name: rest(2), size: size))
    case ("U", 2):
      guard !types.isEmpty, let size = UInt64(words[1]) else { return false }
      types[types.count - 1].derivedSizes.append(size)
    case ("D", 2):
      guard !namedClasses.isEmpty, let size = UInt64(words[1]) else { return false }
      namedClasses[namedClasses.count - 1].derivedSizes.append(size)
    default: return false
    }
    return true
  }

  private static func bytes(_ digits: String) -> [UInt8]? {
    let digits = Array(digits.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }

  private static func content(_ kind: String, _ type: Int?) -> Content {
    guard let type else { return .plain }
    return switch kind {
    case "p": .pointer(type)
    case "v": .value(type)
    default: .plain
    }
  }

  /// The description in the format that `init` parses.
  public var text: String {
    var lines =
      codeBefore.isEmpty ? [] : ["B " + codeBefore.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()]
    lines += variables.map { variable in
      "V \(variable.isMemory ? "m" : "r") \(variable.register) \(Int64(bitPattern: variable.offset)) "
        + "\(variable.type.map(String.init) ?? "-") \(variable.name)"
    }
    for (number, type) in types.enumerated() {
      lines.append("T \(number) \(type.name)")
      if let size = type.size { lines.append("S \(size)") }
      for field in type.fields {
        let content =
          switch field.content {
          case .plain: "- -"
          case .pointer(let type): "p \(type)"
          case .value(let type): "v \(type)"
          }
        lines.append("F \(field.offset) \(field.size) \(content) \(field.name)")
      }
      lines += type.derivedSizes.map { "U \($0)" }
    }
    for named in namedClasses {
      lines.append("C \(named.size) \(named.name)")
      lines += named.derivedSizes.map { "D \($0)" }
    }
    return lines.map { $0 + "\n" }.joined()
  }
}
