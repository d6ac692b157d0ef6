import CLinux
import Glibc
import LinuxSystem

/// A group whose members have the same access to all crashes as root and crashd's own user.
///
/// The operator sets the group with the setting `access.group`.
public enum AccessGroup: Sendable, Equatable {
  /// The group with which crashd runs, if it is the system group `crashd`: its name is crashd, and its ID is below
  /// 1000.
  case own
  /// No group has access to all crashes.
  case noGroup
  /// The group with this name.
  case named(String)
  /// The group with this group ID.
  case numbered(UInt32)

  /// The reason why a group cannot be granted access, as a sentence for the operator.
  public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    /// The sentence about the reason, for example `there is no group 'crsahd'`.
    public var description: String
  }

  /// The name of the group that the package and the systemd units create for crashd.
  static let ownName = "crashd"
  /// The range of the group IDs that system groups have.
  ///
  /// Higher IDs belong to the groups of login users. If a login user starts crashd, crashd runs with such a group.
  private static let systemNumbers: Range<UInt32> = 1..<1_000
  /// The group IDs that mean "no group".
  ///
  /// The kernel reports 65,534 ("nogroup") for a group that has no ID in this user namespace. The highest 32-bit number
  /// is (gid_t)-1, which means that there is no group.
  private static let noNumbers: Set<UInt32> = [65_534, .max]
  private static let longestName = 256

  /// Parses the value of the setting `access.group`.
  ///
  /// Returns nil if the string does not name a group, or if that group must not be granted access.
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

  /// The string that selects this group in the setting `access.group`.
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
  /// For `own`, the check succeeds even if the group crashd does not exist. In this case, `own` grants access to no
  /// group.
  /// - Throws: `Problem`.
  public func check() throws(Problem) { _ = try resolve() }

  /// Resolves the setting to a group ID.
  ///
  /// crashd resolves the group only once, at its start, because the look-up can block while it waits for a name
  /// service.
  /// - Parameters:
  ///   - group: The group that crashd runs as.
  ///   - names: The database in which the group names are looked up.
  /// - Returns: The group ID; nil if no group is granted access.
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
      // The group that was created for crashd has a system group ID. If the group has another ID, skip the look-up in
      // the group database.
      guard Self.systemNumbers.contains(group) else { return nil }
      do throws(SystemError) {
        guard try names.has(group, Self.ownName) else { return nil }
      } catch { throw Problem(description: "\(error)") }
      return AccessRule.Group(number: group, name: Self.ownName)
    }
  }

  /// Whether the group is neither root's group nor the group that stands for unknown groups.
  ///
  /// Root's group is excluded, because a service or a container that dropped only the user ID of root still has this
  /// group.
  private static func isGroupOfFew(_ number: UInt32) -> Bool {
    if number == 0 || noNumbers.contains(number) { return false }
    // Read the ID for unknown groups from the kernel, because an administrator could have configured another ID than
    // 65,534.
    let unknown = SmallFile.text(at: "/proc/sys/kernel/overflowgid").flatMap { UInt32($0.filter { $0 != "\n" }) }
    return number != unknown
  }
}

/// The group database of the system.
struct GroupNames: Sendable {
  /// Returns the ID of the group with the given name; nil if no group has this name.
  var find: @Sendable (String) throws(SystemError) -> UInt32?
  /// Returns whether the group with the given ID has the given name.
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
