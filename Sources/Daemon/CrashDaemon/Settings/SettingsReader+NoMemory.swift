import CrashReport
import Glibc
import Yams

// privacy.no-memory: a list of rules, each with keys of its own.
extension SettingsReader {
  private static let ruleKeys = ["exe", "name", "unit", "user"]

  static func memoryRules(_ value: Node, _ path: String) throws(SettingsError) -> [MemoryRule] {
    guard case .sequence(let sequence) = value else {
      throw SettingsError(
        place: place(path, value), reason: "\(SettingKey.noMemory) takes a list of rules, such as - exe: /usr/bin/shop")
    }
    var rules: [MemoryRule] = []
    for node in sequence { rules.append(try memoryRule(node, path)) }
    return rules
  }

  private static func memoryRule(_ node: Node, _ path: String) throws(SettingsError) -> MemoryRule {
    let what = SettingKey.noMemory
    guard case .mapping(let mapping) = node, !mapping.isEmpty else {
      throw SettingsError(
        place: place(path, node), reason: "each of \(what)'s has keys, such as exe: /usr/bin/shop")
    }
    var rule = MemoryRule()
    for (keyNode, value) in mapping {
      let (key, here) = (keyNode.scalar?.string ?? "", place(path, keyNode))
      guard let text = value.scalar?.string else {
        throw SettingsError(place: here, reason: "\(what)'s \(key) takes one word")
      }
      let takes: String?
      switch key {
      case "exe":
        rule.executable = text
        // One that could never hold would leave somebody in the belief that it does.
        takes = text.hasPrefix("/") || text.hasPrefix("*") ? nil : "a path, in which * stands for any characters"
      case "name":
        rule.name = text
        takes = text.isEmpty ? "a program's name, in which * stands for any characters" : nil
      case "unit":
        rule.unit = text.hasSuffix(".service") || text.hasSuffix("*") ? text : text + ".service"
        takes = text.isEmpty ? "a unit such as shop.service, in which * stands for any characters" : nil
      case "user":
        rule.user = user(text)
        takes = rule.user == nil ? "the name or the number of a user of this machine" : nil
      default:
        throw SettingsError(
          place: here, reason: "\(what) has no key '\(key)'" + Spelling.meant(key, among: ruleKeys))
      }
      if let takes {
        throw SettingsError(place: here, reason: "\(what)'s \(key) takes \(takes), not '\(text.prefix(64))'")
      }
    }
    return rule
  }

  /// A number need not be a user's: containers have others.
  private static func user(_ text: String) -> UInt32? {
    if let number = UInt32(text) { return number == .max ? nil : number }
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var bytes = [CChar](repeating: 0, count: 16_384)
    // getpwnam_r writes into the entry and the bytes, and sets the pointer to the entry or to nil.
    let code = unsafe getpwnam_r(text, &entry, &bytes, bytes.count, &found)
    return unsafe code == 0 && found != nil ? entry.pw_uid : nil
  }
}
