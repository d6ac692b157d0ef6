/// The scope at a code address: the variables that hold pointers, and the types of their targets.
///
/// The description comes from a sandboxed process that has read an untrusted file. Invalid lines are skipped, and
/// numbers are used only as numbers. `cs_scope.h` defines the format.
public struct ScopeDescription: Sendable, Equatable {
  /// A variable that holds a pointer.
  public struct Variable: Sendable, Equatable {
    /// The name in the source.
    public var name: String
    /// The DWARF number of the register.
    public var register: Int
    /// The offset that is added to the register.
    ///
    /// A negative offset is a two's complement.
    public var offset: UInt64
    /// Whether the sum is the address of the variable.
    ///
    /// If false, the sum is the value of the variable.
    public var isMemory: Bool
    /// The index of the target's type in ``ScopeDescription/types``; nil if the target has no members.
    public var type: Int?
  }

  /// A type with members.
  public struct Structure: Sendable, Equatable {
    /// The name in the source.
    public var name: String
    /// The members, in the order of the debug information.
    public var fields: [Field]
    /// The size of an instance of a Swift class; nil if unknown.
    public var size: UInt64?
    /// The sizes of instances of derived classes, if the image contains them.
    public var derivedSizes: [UInt64] = []
  }

  /// A member of a type.
  public struct Field: Sendable, Equatable {
    /// The name in the source; empty for a base class and an anonymous union.
    public var name: String
    /// The offset from the start of the type.
    public var offset: UInt64
    /// The size; 0 if unknown.
    public var size: UInt64
    /// The kind of value that the member has.
    public var content: Content
  }

  /// The kind of value of a member.
  public enum Content: Sendable, Equatable {
    /// The kind is not known.
    case plain
    /// A pointer to the type at this index in ``ScopeDescription/types``.
    case pointer(Int)
    /// A value of the type at this index in ``ScopeDescription/types``.
    case value(Int)
  }

  /// A Swift class that is named in the function's own name, or in the name of a function that it calls or refers to.
  public struct NamedClass: Sendable, Equatable {
    /// The name in the source.
    public var name: String
    /// The size of an instance.
    public var size: UInt64
    /// The sizes of instances of derived classes, if the image contains them.
    public var derivedSizes: [UInt64] = []
  }

  /// The variables.
  ///
  /// The variables of the innermost scope are last.
  public var variables: [Variable] = []
  /// The types of the targets of variables and members.
  public var types: [Structure] = []
  /// The classes that the function refers to.
  ///
  /// They are available even without debug information.
  public var namedClasses: [NamedClass] = []
  /// The code bytes before the address.
  ///
  /// They are available even without debug information.
  public var codeBefore: [UInt8] = []

  /// The maximum number of code bytes before the address.
  public static let codeBytes = 24

  /// The maximum size of a description, which is above crash-analyse's own limit.
  public static let limitBytes = 64 << 10

  /// Parses a description, up to the first invalid line.
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
