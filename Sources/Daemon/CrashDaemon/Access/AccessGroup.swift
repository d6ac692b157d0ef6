import CLinux
import Glibc
import LinuxSystem

/// Whose members see and change everything, besides root and crashd's own user, as an operator says it.
public enum AccessGroup: Sendable, Equatable {
  /// The group that crashd runs as, if it is one that was made for crashd: called crashd, with a number below 1000.
  case own
  /// Nobody's.
  case nobody
  /// The group of this name.
  case named(String)
  /// The group of this number.
  case numbered(UInt32)

  /// Why a group is not let in: one sentence.
  public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    /// Such as `there is no group 'crsahd'`.
    public var description: String
  }

  /// The group that package and units make.
  static let ownName = "crashd"
  /// Those of the system's services; above are people's, which a user's own crashd runs as.
  private static let systemNumbers: Range<UInt32> = 1..<1_000
  /// What the kernel tells of a group that has no number here ("nogroup"), and what it tells in place of none.
  private static let noNumbers: Set<UInt32> = [65_534, .max]
  private static let longestName = 256

  /// As it stands in the settings; nil: it is no group, or one that must not be let in.
  init?(_ text: String) {
    switch text {
    case "own": self = .own
    case "none": self = .nobody
    default:
      if text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
        guard let number = UInt32(text), Self.isGroupOfFew(number) else { return nil }
        self = .numbered(number)
      } else {
        guard (1...Self.longestName).contains(text.utf8.count),
          text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ",") })
        else { return nil }
        self = .named(text)
      }
    }
  }

  /// As a file would have it.
  var text: String {
    switch self {
    case .own: "own"
    case .nobody: "none"
    case .named(let name): name
    case .numbered(let number): "\(number)"
    }
  }

  /// Whether it can be let in on this machine; `own` can always, whatever it comes to.
  /// - Throws: `Problem`.
  public func check() throws(Problem) { _ = try resolve() }

  /// Looks for its number: once, when crashd starts, because a name may have to be asked of a server.
  /// - Parameters:
  ///   - group: What crashd runs as.
  ///   - names: Where names are looked for.
  /// - Returns: The group; nil: nobody's.
  /// - Throws: `Problem`.
  func resolve(
    runningAs group: UInt32 = getegid(), names: GroupNames = .system
  ) throws(Problem) -> AccessRule.Group? {
    switch self {
    case .nobody: return nil
    case .numbered(let number): return AccessRule.Group(number: number, name: text)
    case .named(let name):
      let number: UInt32?
      do throws(SystemError) { number = try names.find(name) } catch { throw Problem(description: "\(error)") }
      guard let number else { throw Problem(description: "there is no group '\(name)'") }
      guard Self.isGroupOfFew(number) else {
        throw Problem(description: "'\(name)' has the number \(number), which is that of processes of any kind")
      }
      return AccessRule.Group(number: number, name: name)
    case .own:
      // Nobody is asked for a user's own crashd, nor for one of root's.
      guard Self.systemNumbers.contains(group) else { return nil }
      do throws(SystemError) {
        guard try names.has(group, Self.ownName) else { return nil }
      } catch { throw Problem(description: "\(error)") }
      return AccessRule.Group(number: group, name: Self.ownName)
    }
  }

  /// Not root's, which services and containers have that gave up root's user alone, nor what stands for any unknown group.
  private static func isGroupOfFew(_ number: UInt32) -> Bool {
    if number == 0 || noNumbers.contains(number) { return false }
    // An administrator may have changed what the kernel says in place of a number.
    let unknown = SmallFile.text(at: "/proc/sys/kernel/overflowgid").flatMap { UInt32($0.filter { $0 != "\n" }) }
    return number != unknown
  }
}

/// Names of groups, as the system knows them.
struct GroupNames: Sendable {
  /// The number of a group; nil: there is none of this name.
  var find: @Sendable (String) throws(SystemError) -> UInt32?
  /// Whether a group has a name.
  var has: @Sendable (UInt32, String) throws(SystemError) -> Bool

  static let system = GroupNames(
    find: { name throws(SystemError) in
      var number: UInt32 = 0
      let code = unsafe cd_group_find(name, &number)
      if code == ENOENT { return nil }
      try SystemError.check(code, "look for the group '\(name)'")
      return number
    },
    has: { number, name throws(SystemError) in
      var isSo = false
      try SystemError.check(unsafe cd_group_has_name(number, name, &isSo), "look for the name of group \(number)")
      return isSo
    })
}
