import CrashProtocol
import CrashSettings
import Glibc

extension Settings {
  /// The collectors that events are forwarded to.
  static let collectors = SettingList<Settings>(
    "forward", of: "collectors", \.forward, takes: "a list, each with a path", example: "path: /run/collector.sock",
    empty: ForwardSettings(path: ""),
    keys: [
      .requiredText(
        "path", \.path, "the path of a socket, at most 107 bytes",
        where: { SettingText.isPath($0) && $0.utf8.count < 108 },
        write: SettingText.quoted),
      .value(
        "format", \.format, "jsonl or varlink", { ForwardSettings.Format(rawValue: $0) }, { $0.rawValue }),
      acknowledge,
      .flag("scrub", \.scrubs),
      filter("group", \.filter.group, "the beginning of a group's key") {
        !$0.isEmpty && $0.utf8.allSatisfy("0123456789abcdef".utf8.contains)
      },
      .value(
        "tag", \.filter.tags, "an annotation, such as region=eu", { ReportFilter.tag($0) == nil ? nil : .some([$0]) },
        { $0?.first.map(SettingText.quoted) ?? "" }),
    ]
      + ReportFilter.texts.map { text in
        filter(text.option ?? text.name, \.filter[text: text.name], text.takes, where: text.isGood)
      }
  ) { forward, others in
    if forward.path.isEmpty { return "each collector of forward needs a path" }
    return others.contains { $0.path == forward.path } ? "'\(forward.path)' is in the list twice" : nil
  }

  /// The key `acknowledge` has no effect on Varlink collectors, because each Varlink reply already acknowledges an
  /// event.
  private static let acknowledge: SettingKey<ForwardSettings> = {
    var key = SettingKey<ForwardSettings>.flag("acknowledge", \.acknowledges)
    key.show = { $0.format == .jsonl ? "\($0.acknowledges)" : "" }
    return key
  }()

  private static func filter(
    _ name: String, _ path: SettingKey<ForwardSettings>.Path<String?>, _ takes: String,
    where isGood: @escaping @Sendable (String) -> Bool
  ) -> SettingKey<ForwardSettings> {
    .text(name, path, takes, where: isGood, write: SettingText.quoted)
  }

  /// The rules about processes whose memory crashd must not store.
  static let noMemoryRules = SettingList<Settings>(
    "privacy.no-memory", of: "rules", \.noMemory, takes: "a list of rules, such as - exe: /usr/bin/shop",
    example: "exe: /usr/bin/shop", empty: MemoryRule(),
    keys: [
      // A path pattern that can never match is rejected, because the operator would assume that the rule protects the
      // program.
      .text(
        "exe", \.executable, "a path, in which * stands for any characters",
        where: { $0.hasPrefix("/") || $0.hasPrefix("*") }, write: SettingText.quoted),
      .text("name", \.name, "a program's name, in which * stands for any characters", write: SettingText.quoted),
      .value(
        "unit", \.unit, "a unit such as shop.service, in which * stands for any characters",
        { $0.isEmpty ? nil : $0.hasSuffix(".service") || $0.hasSuffix("*") ? $0 : $0 + ".service" },
        { $0.map(SettingText.quoted) ?? "" }),
      .value(
        "user", \.user, "the name or the number of a user of this machine", { user($0).map { $0 } },
        { $0.map { "\($0)" } ?? "" }),
    ], isInline: true
  ) { rule, _ in rule.isEmpty ? "each rule of privacy.no-memory needs a key, such as exe: /usr/bin/shop" : nil }

  /// Returns the uid of the user with this name or number; nil if there is no such user.
  ///
  /// A numeric uid is accepted even if this machine has no such user, because containers have users of their own.
  private static func user(_ text: String) -> UInt32? {
    if let number = UInt32(text) { return number == .max ? nil : number }
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var bytes = [CChar](repeating: 0, count: 16_384)
    // getpwnam_r writes into `entry` and `bytes`, which are valid during the call, and sets `found` to the address of
    // `entry` or to nil.
    let code = unsafe getpwnam_r(text, &entry, &bytes, bytes.count, &found)
    return unsafe code == 0 && found != nil ? entry.pw_uid : nil
  }
}
