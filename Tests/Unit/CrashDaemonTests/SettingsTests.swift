import CrashProtocol
import CrashReport
import CrashSettings
import CrashStore
import FoundationEssentials
import Testing

@testable import CrashDaemon

@Suite("Settings")
struct SettingsTests {
  private func read(_ yaml: String) throws(SettingsError) -> Settings {
    var reader = SettingsReader()
    try reader.read(yaml: yaml, at: "crashd.yaml")
    return reader.settings
  }

  @Test("a settings file sets only the keys that it contains")
  func file() throws {
    let settings = try read(
      """
      log-level: debug
      retention:
        age: 2w
        bytes: 512MiB
        reports-per-group: 7
      limits:
        symbol-wait: 30s
      privacy:
        annotations: [one, two]
        home-directories: no
        command-line: no
        no-memory:
          - exe: /usr/bin/pay*
          - {unit: shop, user: root}
          - {user: 4294967294, name: 'vault-?'}
      forward:
        - path: /run/a.sock
        - {path: /run/b.sock, format: varlink, name: shop, scrub: false}
        - {path: /run/c.sock, unit: shop.service, signal: SIGSEGV, executable: /srv/, group: 3f2a}
      """)
    var wanted = Settings()
    wanted.logLevel = "debug"
    wanted.retention.age_s = 14 * 86_400
    wanted.retention.bytes = 512 << 20
    wanted.retention.reportsPerGroup = 7
    wanted.limits.symbolWait_ms = 30_000
    wanted.privacy.annotations = ["one", "two"]
    (wanted.privacy.homeDirectories, wanted.privacy.commandLine) = (false, false)
    var rules = [MemoryRule(), MemoryRule(), MemoryRule()]
    rules[0].executable = "/usr/bin/pay*"
    (rules[1].unit, rules[1].user) = ("shop.service", 0)
    (rules[2].user, rules[2].name) = (4_294_967_294, "vault-?")
    wanted.noMemory = rules
    var other = ForwardSettings(path: "/run/b.sock")
    (other.format, other.filter.name, other.scrubs) = (.varlink, "shop", false)
    var filtered = ForwardSettings(path: "/run/c.sock")
    (filtered.filter.unit, filtered.filter.signal) = ("shop.service", "SIGSEGV")
    (filtered.filter.executable, filtered.filter.group) = ("/srv/", "3f2a")
    wanted.forward = [ForwardSettings(path: "/run/a.sock"), other, filtered]
    #expect(settings == wanted)
  }

  @Test(
    "a settings file may be JSON, and may be empty",
    arguments: ["{\"retention\": {\"age\": \"14d\"}}", "# nothing", ""])
  func json(text: String) throws {
    let settings = try read(text)
    #expect(settings.retention.age_s == (text.hasPrefix("{") ? 14 : 30) * 86_400)
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    var yaml: String
    var error: String
    var testDescription: String { error }
  }

  static let wrong: [Wrong] = [
    Wrong(
      yaml: "log-level: info\nretention:\n  agee: 3d",
      error: "crashd.yaml:3: there is no key 'retention.agee'; did you mean 'retention.age'?"),
    Wrong(
      yaml: "retension:\n  age: 3d", error: "crashd.yaml:1: there is no key 'retension'; did you mean 'retention'?"),
    Wrong(yaml: "maxBytes: 3", error: "crashd.yaml:1: there is no key 'maxBytes'"),
    Wrong(
      yaml: "retention:\n  age: soon",
      error: "crashd.yaml:2: retention.age takes an age such as 90s, 12h, 30d or 4w, not 'soon'"),
    Wrong(
      yaml: "retention:\n  age: [1d]",
      error: "crashd.yaml:2: retention.age takes an age such as 90s, 12h, 30d or 4w, not this list"),
    Wrong(
      yaml: "retention:\n  bytes: 99999999999TiB",
      error: "crashd.yaml:2: retention.bytes takes a size such as 64MiB or 2GiB, not '99999999999TiB'"),
    Wrong(
      yaml: "retention:\n  age:\n    days: 3",
      error: "crashd.yaml:2: retention.age takes an age such as 90s, 12h, 30d or 4w, not keys of its own"),
    Wrong(
      yaml: "retention:\n  bytes: 2048TiB",
      error: "crashd.yaml:2: retention.bytes takes a size such as 64MiB or 2GiB, not '2048TiB'"),
    Wrong(
      yaml: "limits:\n  processes: 0",
      error: "crashd.yaml:2: limits.processes takes a number from 1 to 1000000, not '0'"),
    Wrong(
      yaml: "limits:\n  rings: 9223372036854775807",
      error: "crashd.yaml:2: limits.rings takes a number from 1 to 1000000, not '9223372036854775807'"),
    Wrong(
      yaml: "forward:\n  - path: /run/a\n    fromat: jsonl",
      error: "crashd.yaml:3: forward has no key 'fromat'; did you mean 'format'?"),
    Wrong(
      yaml: "forward:\n  - path: /run/a\n    signal: segv",
      error: "crashd.yaml:3: forward's signal takes the name of a signal, such as SIGSEGV, not 'segv'"),
    Wrong(
      yaml: "forward:\n  - path: /run/a\n    unit: shop",
      error: "crashd.yaml:3: forward's unit takes the name of a unit, such as shop.service, not 'shop'"),
    Wrong(yaml: "forward:\n  - format: jsonl", error: "crashd.yaml:2: each collector of forward needs a path"),
    Wrong(
      yaml: "forward:\n  - path: /run/a\n  - path: /run/a",
      error: "crashd.yaml:3: '/run/a' is in the list twice"),
    Wrong(
      yaml: "forward:\n  - path: run/a",
      error: "crashd.yaml:2: forward's path takes the path of a socket, at most 107 bytes, not 'run/a'"),
    Wrong(
      yaml: "privacy:\n  patterns: ['(']",
      error: "crashd.yaml:2: privacy.patterns takes a list of regular expressions, not this list"),
    Wrong(
      yaml: "privacy:\n  no-memroy: []",
      error: "crashd.yaml:2: there is no key 'privacy.no-memroy'; did you mean 'privacy.no-memory'?"),
    Wrong(
      yaml: "privacy:\n  no-memory:\n    - uint: shop",
      error: "crashd.yaml:3: privacy.no-memory has no key 'uint'; did you mean 'unit'?"),
    Wrong(
      yaml: "privacy:\n  no-memory:\n    - exe: shop",
      error:
        "crashd.yaml:3: privacy.no-memory's exe takes a path, in which * stands for any characters, not 'shop'"),
    Wrong(
      yaml: "privacy:\n  no-memory:\n    - {name: a, user: no body}",
      error:
        "crashd.yaml:3: privacy.no-memory's user takes the name or the number of a user of this machine, not 'no body'"
    ),
    Wrong(
      yaml: "privacy:\n  no-memory: all",
      error: "crashd.yaml:2: privacy.no-memory takes a list of rules, such as - exe: /usr/bin/shop"),
    Wrong(
      yaml: "privacy:\n  no-memory:\n    - {}",
      error: "crashd.yaml:3: each rule of privacy.no-memory needs a key, such as exe: /usr/bin/shop"),
    Wrong(
      yaml: "privacy:\n  no-memory:\n    - name: ''",
      error:
        "crashd.yaml:3: privacy.no-memory's name takes a program's name, in which * stands for any characters, not ''"),
    Wrong(
      yaml: "access:\n  gruop: crashd",
      error: "crashd.yaml:2: there is no key 'access.gruop'; did you mean 'access.group'?"),
    Wrong(
      yaml: "access:\n  group: 0",
      error: "crashd.yaml:2: access.group takes own, none, or a group's name or number, except 0 and nogroup, not '0'"),
    Wrong(yaml: "access:\n  root: none", error: "crashd.yaml:2: access.root takes host or all, not 'none'"),
    Wrong(
      yaml: "limits:\n  message-bytes: 1023",
      error: "crashd.yaml:2: limits.message-bytes takes a size such as 64MiB or 2GiB, at least 1KiB, not '1023'"),
    Wrong(yaml: "- 1", error: "crashd.yaml:1: the file must contain keys and values, such as log-level: info"),
  ]

  @Test("an error in the settings has the line, and suggests the intended key", arguments: wrong)
  func errors(wrong: Wrong) {
    let error = #expect(throws: SettingsError.self) { try read(wrong.yaml) }
    #expect(error?.description == wrong.error)
  }

  @Test("a key that occurs twice in a settings file is an error")
  func twice() {
    let error = #expect(throws: SettingsError.self) { try read("retention:\n  age: 1d\n  age: 2d") }
    #expect(error?.reason.contains("'age' is set twice") == true)
  }

  @Test(
    "malformed YAML in a settings file is an error with its position",
    arguments: [
      "retention:\n  age: 'x", "a: b: c", "\t- x", "a: *b", "a: \u{0}", "? [a]\n: b",
    ])
  func noYAML(text: String) {
    let error = #expect(throws: SettingsError.self) { try read(text) }
    #expect(error?.place.hasPrefix("crashd.yaml") == true)
    #expect(error?.reason.contains("\n") == false)
  }

  @Test("YAML that is nested too deeply is an error, not a stack overflow", arguments: ["[", "- ", "{a: "])
  func deep(text: String) {
    #expect(throws: SettingsError.self) { try read(String(repeating: text, count: 100_000)) }
  }

  @Test("YAML aliases in a settings file are refused before they are expanded")
  func aliases() {
    let bomb = (1..<100).map { "a\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]" }
    let error = #expect(throws: SettingsError.self) {
      try read((["a0: &a0 x"] + bomb + ["? *a99", ": x"]).joined(separator: "\n"))
    }
    #expect(error?.description == "crashd.yaml:2: anchors and aliases such as '*a0' are not supported")
    // In a comment or a quoted string, the characters `*` and `&` do not start an alias or an anchor.
    #expect(throws: Never.self) { try read("# a & b\nstate-directory: '/x&y*z/&*'") }
  }

  @Test("environment variables take precedence over the file, and options over both; unknown keys are errors")
  func order() throws {
    var reader = SettingsReader()
    try reader.read(yaml: "retention:\n  age: 1d\n  bytes: 1MiB\n  reports-per-group: 1", at: "x")
    try reader.read(environment: [
      "CRASHD_RETENTION_AGE": "2d", "CRASHD_RETENTION_BYTES": "2MiB", "CRASHD_SOCKET": "/x",
    ])
    try reader.read(argument: "retention.age=3d")
    let retention = reader.settings.retention
    #expect(retention.age_s == 3 * 86_400 && retention.bytes == 2 << 20 && retention.reportsPerGroup == 1)
    var error = #expect(throws: SettingsError.self) { try reader.read(environment: ["CRASHD_RETENTION_AEG": "1d"]) }
    #expect(
      error?.description
        == "CRASHD_RETENTION_AEG: there is no such setting; did you mean 'CRASHD_RETENTION_AGE'?")
    error = #expect(throws: SettingsError.self) { try reader.read(argument: "retention.age") }
    #expect(error?.description == "--set retention.age: it takes KEY=VALUE")
  }

  @Test(
    "the error for an unreadable settings file has its path",
    arguments: ["/nowhere/crashd.yaml", "/dev/zero", "/tmp"])
  func unreadable(path: String) {
    var reader = SettingsReader()
    let error = #expect(throws: SettingsError.self) { try reader.read(file: path) }
    #expect(error?.place == path)
  }

  @Test("printed settings are read back as the same settings")
  func printed() throws {
    var settings = Settings()
    settings.retention.age_s = 3_601
    settings.retention.bytes = (3 << 30) + 1
    settings.limits.symbolWait_ms = 5_000
    settings.metricsFile = "/run/x.prom"
    var rule = MemoryRule()
    (rule.executable, rule.unit, rule.user) = ("/usr/bin/it's", "shop.service", 7)
    settings.noMemory = [rule]
    let text = SettingsReader.text(settings)
    #expect(text.hasSuffix("\nprivacy.no-memory:\n  - {exe: '/usr/bin/it''s', unit: 'shop.service', user: 7}\n"))
    var again = SettingsReader()
    try again.read(yaml: text, at: "x")
    #expect(again.settings.noMemory == settings.noMemory)
    for line in text.split(separator: "\n") where line.contains(": ") && !line.hasPrefix(" ") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard !parts[1].contains("[") else { continue }
      var reader = SettingsReader()
      try reader.read(argument: "\(parts[0])=\(parts[1].dropFirst())")
      let key = try #require(Settings.table.keys.first { $0.name == String(parts[0]) })
      #expect(key.show?(reader.settings) == key.show?(settings))
    }
  }

  @Test("printed settings include all collectors, and are read back as the same file")
  func printedForwards() throws {
    var settings = Settings()
    settings.debuginfodURLs = ["https://one.example.org", "http://two.example.org/it's"]
    settings.protectsAutomatically = true
    var (open, lines) = (ForwardSettings(path: "/run/a: #b.sock"), ForwardSettings(path: "/run/c.sock"))
    (open.format, open.scrubs) = (.varlink, false)
    (lines.acknowledges, lines.filter.name, lines.filter.unit) = (true, "it's", "shop.service")
    (lines.filter.signal, lines.filter.group, lines.filter.executable) = ("SIGSEGV", "0012", "/srv/")
    settings.forward = [open, lines]
    let text = SettingsReader.text(settings)
    #expect(text.contains("\nlog-level: info\n") || text.hasPrefix("log-level: info\n"))
    #expect(text.contains("    scrub: false\n") && text.contains("    acknowledge: true\n"))
    let again = try read(text)
    #expect(again.forward == settings.forward && again.debuginfodURLs == settings.debuginfodURLs)
    #expect(SettingsReader.text(again) == text)
  }

  @Test("the list of servers can come from file, environment or options; the last of these takes precedence")
  func servers() throws {
    var reader = SettingsReader()
    try reader.read(yaml: "debuginfod-urls: [https://file.example.org]\nautomatic-protection: true", at: "x")
    #expect(reader.settings.debuginfodURLs == ["https://file.example.org"] && reader.settings.protectsAutomatically)
    try reader.read(environment: [
      "CRASHD_DEBUGINFOD_URLS": "https://a.example.org http://b.example.org", "CRASHD_AUTOMATIC_PROTECTION": "no",
      "CRASHD_FETCH_PATH": "/usr/bin/crash-fetch",
    ])
    #expect(reader.settings.debuginfodURLs == ["https://a.example.org", "http://b.example.org"])
    #expect(!reader.settings.protectsAutomatically && reader.settings.fetchPath == "/usr/bin/crash-fetch")
    try reader.read(option: "debuginfod-urls", "https://option.example.org")
    #expect(reader.settings.debuginfodURLs == ["https://option.example.org"])
    // An empty variable sets an empty list of servers, even if the file lists servers.
    try reader.read(environment: ["CRASHD_DEBUGINFOD_URLS": ""])
    #expect(reader.settings.debuginfodURLs.isEmpty)
    let takes = "debuginfod-urls takes at most 8 URLs that begin with http:// or https://, not "
    var error = #expect(throws: SettingsError.self) { try reader.read(option: "debuginfod-urls", "ftp://x") }
    #expect(error?.description == "--debuginfod-urls: \(takes)'ftp://x'")
    let many = (0..<9).map { "http://\($0).example.org" }.joined(separator: " ")
    error = #expect(throws: SettingsError.self) { try reader.read(environment: ["CRASHD_DEBUGINFOD_URLS": many]) }
    #expect(error?.reason.hasPrefix(takes) == true)
  }

  @Test("collectors can be set in a file only; an option or variable for them is an error that states this")
  func onlyInFiles() {
    var reader = SettingsReader()
    var error = #expect(throws: SettingsError.self) { try reader.read(argument: "forward=/run/a.sock") }
    #expect(
      error?.description == "--set forward: forward is a list of collectors, which only a settings file can contain")
    error = #expect(throws: SettingsError.self) { try reader.read(environment: ["CRASHD_FORWARD": "/run/a.sock"]) }
    #expect(error?.place == "CRASHD_FORWARD" && error?.reason.contains("only a settings file") == true)
  }

  @Test("the sample settings file has every key with its default value")
  func sample() throws {
    let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let path = here.appendingPathComponent("../../../systemd/crashd.yaml").path
    let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    var reader = SettingsReader()
    try reader.read(yaml: text, at: path)
    #expect(reader.settings == Settings())
    // Reads the file again with its examples enabled. An example is a line whose `#` has no space after it.
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
      let indent = line.prefix { $0 == " " }
      let rest = line.dropFirst(indent.count)
      guard rest.hasPrefix("#"), !rest.hasPrefix("# "), rest != "#" else { return String(line) }
      return String(indent + rest.dropFirst())
    }
    var full = SettingsReader()
    try full.read(yaml: lines.joined(separator: "\n"), at: path)
    for key in Settings.table.keys {
      let name = String(key.name.split(separator: ".").last ?? "")
      #expect(lines.contains { $0.drop { $0 == " " }.hasPrefix(name + ":") }, "\(key.name) is not in the sample")
      let isPlace = ["runtime-directory", "state-directory", "analyse-path", "fetch-path"].contains(key.name)
      if !isPlace { #expect(key.show?(full.settings) == key.show?(Settings()), "\(key.name)") }
    }
    #expect(full.settings.forward.map(\.path) == ["/run/collector.sock"])
    #expect(full.settings.noMemory.map(\.executable) == ["/usr/bin/pay*", nil, nil])
  }

  @Test("a reload applies the reloadable settings, and names the settings that need a restart")
  func reload() throws {
    let log = TestLog()
    let live = LiveSettings()
    let service = SettingsReload(settings: Settings(), live: live, logger: log.logger)
    let running = service.reload(Settings()) { () throws(SettingsError) in
      var new = Settings()
      new.retention.age_s = 5
      new.limits.processes = 7
      new.noMemory = [MemoryRule()]
      return new
    }
    #expect(live.current.retention.age_s == 5)
    #expect(live.current.noMemory.count == 1 && running.noMemory.count == 1)
    #expect(running.retention.age_s == 5 && running.limits.processes == Limits().processes)
    #expect(log.contains("changed: privacy.no-memory, retention.age"))
    #expect(log.contains("restart of crashd: limits.processes"))
    let same = service.reload(running) { () throws(SettingsError) in
      throw SettingsError(place: "crashd.yaml:3", reason: "it is wrong")
    }
    #expect(same == running && live.current.retention.age_s == 5)
    #expect(log.contains("cannot reload the settings: crashd.yaml:3: it is wrong"))
  }
}
