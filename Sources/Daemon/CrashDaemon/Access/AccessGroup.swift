import CLinux
import Glibc
import LinuxSystem

/// The group whose members see and change everything, besides root and crashd's own user.
///
/// An operator sets it.
public enum AccessGroup: Sendable, Equatable {
  /// The group that crashd runs as, if it was made for crashd: named crashd, with a number below 1000.
  case own
  /// No group.
  case noGroup
  /// The group of this name.
  case named(String)
  /// The group of this number.
  case numbered(UInt32)

  /// Why a group cannot be granted access: one sentence.
  public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    /// Such as `there is no group 'crsahd'`.
    public var description: String
  }

  /// The group that the package and the units create.
  static let ownName = "crashd"
  /// Numbers of system groups.
  ///
  /// Higher ones belong to people, and a user's own crashd runs as one of them.
  private static let systemNumbers: Range<UInt32> = 1..<1_000
  /// What the kernel reports for a group without a number here ("nogroup"), and instead of no group.
  private static let noNumbers: Set<UInt32> = [65_534, .max]
  private static let longestName = 256

  /// Parses a setting.
  ///
  /// Nil: it names no group, or one that must not be granted access.
  init?(_ text: String) {
    switch text {
    case "own": self = .own
    case "none": self = .noGroup
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

  /// The text of the setting.
  var text: String {
    switch self {
    case .own: "own"
    case .noGroup: "none"
    case .named(let name): name
    case .numbered(let number): "\(number)"
    }
  }

  /// Checks that the group can be granted access on this machine.
  ///
  /// `own` always can, whatever it resolves to.
  /// - Throws: `Problem`.
  public func check() throws(Problem) { _ = try resolve() }

  /// Resolves the group to its number.
  ///
  /// crashd does it once, at its start, because a name service may have to answer.
  /// - Parameters:
  ///   - group: The group that crashd runs as.
  ///   - names: The source of group names.
  /// - Returns: The group; nil for none.
  /// - Throws: `Problem`.
  func resolve(
    runningAs group: UInt32 = getegid(), names: GroupNames = .system
  ) throws(Problem) -> AccessRule.Group? {
    switch self {
    case .noGroup: return nil
    case .numbered(let number): return AccessRule.Group(number: number, name: text)
    case .named(let name):
      let number: UInt32?
      do throws(SystemError) { number = try names.find(name) } catch { throw Problem(description: "\(error)") }
      guard let number else { throw Problem(description: "there is no group '\(name)'") }
      guard Self.isGroupOfFew(number) else {
        throw Problem(description: "group '\(name)' has the number \(number), which unrelated processes share")
      }
      return AccessRule.Group(number: number, name: name)
    case .own:
      // A user's own crashd, or root's, needs no look-up.
      guard Self.systemNumbers.contains(group) else { return nil }
      do throws(SystemError) {
        guard try names.has(group, Self.ownName) else { return nil }
      } catch { throw Problem(description: "\(error)") }
      return AccessRule.Group(number: group, name: Self.ownName)
    }
  }

  /// Whether the group is neither root's nor the one for unknown groups.
  ///
  /// Services and containers that only dropped root's user still have root's group.
  private static func isGroupOfFew(_ number: UInt32) -> Bool {
    if number == 0 || noNumbers.contains(number) { return false }
    // An administrator may have changed the overflow group.
    let unknown = SmallFile.text(at: "/proc/sys/kernel/overflowgid").flatMap { UInt32($0.filter { $0 != "\n" }) }
    return number != unknown
  }
}

/// The group database of the system.
struct GroupNames: Sendable {
  /// The number of a group; nil: no group has this name.
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
