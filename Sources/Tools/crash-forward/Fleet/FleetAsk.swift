import CrashProtocol
import CrashReport

/// An ask: a request of the fleet to this host, for a report or for the protection of a class.
///
/// The fleet's response to each batch contains the open asks. Every byte is untrusted. An ask of an unknown kind, or
/// with a value that cannot be valid, is ignored.
struct FleetAsk: Equatable {
  /// The kinds of asks that this version knows.
  enum Subject: Equatable {
    /// The next report of a program whose group has one of these keys.
    case report(program: String, groups: Set<String>)
    /// The protection of a class of a program against use-after-free.
    case protect(program: String, className: String)
  }

  /// The maximum number of asks in one response, and of groups in one ask.
  static let (limit, groupLimit) = (8, 8)
  private static let (nameBytes, keyBytes) = (256, 128)
  /// The longest name of a class that crashd accepts.
  private static let classBytes = 512

  var id: Int
  var subject: Subject

  init?(_ json: JSONValue) {
    guard let id = json["id"]?.int, id > 0 else { return nil }
    self.id = id
    if let report = json["report"], let program = Self.name(report["program"], Self.nameBytes),
      case .array(let keys)? = report["groups"]
    {
      let groups = Set(keys.prefix(Self.groupLimit).compactMap { Self.name($0, Self.keyBytes) })
      if groups.isEmpty { return nil }
      subject = .report(program: program, groups: groups)
    } else if let protect = json["protect"], let program = Self.name(protect["program"], Self.nameBytes),
      let className = Self.name(protect["class"], Self.classBytes), !className.contains(" ")
    {
      subject = .protect(program: program, className: className)
    } else {
      return nil
    }
  }

  /// Returns the first asks of a response, up to the limit, without duplicates of an id.
  static func asks(in reply: JSONValue?) -> [FleetAsk] {
    guard case .array(let entries)? = reply?["asks"] else { return [] }
    var ids: Set<Int> = []
    return entries.prefix(limit).compactMap(FleetAsk.init).filter { ids.insert($0.id).inserted }
  }

  /// Returns the text if it can be a name: it is not empty, not too long, and has no control characters.
  private static func name(_ value: JSONValue?, _ limitBytes: Int) -> String? {
    guard let text = value?.string, (1...limitBytes).contains(text.utf8.count), text == CleanText.line(text) else {
      return nil
    }
    return text
  }
}
