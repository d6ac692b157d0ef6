import CrashClient
import CrashProtocol
import CrashReport
import CrashSettings
import Foundation
import Testing

@testable import crash_forward

@Suite("Settings of crash-forward")
struct ForwardSettingsTests {
  private func read(_ yaml: String, _ environment: [String: String] = [:]) throws(SettingsError)
    -> ForwardSettings
  {
    var reader = ForwardSettingsReader()
    try reader.read(yaml: yaml, at: "f.yaml")
    try reader.read(environment: environment)
    return reader.settings
  }

  private func problem(_ yaml: String, _ environment: [String: String] = [:]) -> String {
    do throws(SettingsError) { _ = try read(yaml, environment) } catch { return "\(error)" }
    return "none"
  }

  @Test("the environment takes precedence over crash-forward's settings file")
  func both() throws {
    let settings = try read(
      """
      journal:
        enabled: true
        rate: 30
      sentry: {environment: staging, scrub: false}
      privacy:
        patterns: ['[0-9]{16}']
        annotations: []
      """,
      ["CRASH_FORWARD_SENTRY_ENVIRONMENT": "production", "CRASH_FORWARD_SENTRY_DSN": "https://k@h/1", "HOME": "/x"])
    #expect(settings.isJournalOn && settings.journal.perMinute == 30 && settings.journal.scrubs)
    #expect(settings.sentryEnvironment == "production" && !settings.sentry.scrubs)
    #expect(settings.sentryDSN == Secret("https://k@h/1"))
    #expect(settings.privacy.patterns == ["[0-9]{16}"] && settings.privacy.annotations.isEmpty)
    #expect(try read("# nothing\n") == ForwardSettings())
  }

  @Test("errors in crash-forward's settings name file, line and key, and suggest the key for a misspelled one")
  func problems() {
    #expect(
      problem("journal:\n  enabeld: true")
        == "f.yaml:2: there is no key 'journal.enabeld'; did you mean 'journal.enabled'?")
    #expect(
      problem("jurnal:\n  enabled: true") == "f.yaml:1: there is no key 'jurnal'; did you mean 'journal'?")
    #expect(problem("sentry:\n  rate: 0") == "f.yaml:2: sentry.rate takes events a minute, from 1 to 60000")
    #expect(problem("give-up-after: 0") == "f.yaml:1: give-up-after takes minutes, from 1 to 100000")
    #expect(problem("privacy:\n  patterns: ['(']").hasPrefix("f.yaml:2: privacy.patterns takes regular expressions"))
    #expect(problem("otlp:\n  endpoint: http://u:p@h/v1/logs").hasPrefix("f.yaml:2: otlp.endpoint takes a URL"))
    #expect(problem("log-level: debug\na b: [}").hasPrefix("f.yaml:2: invalid YAML from column "))
    #expect(problem("log-level: debug\nlog-level: debug").hasSuffix(": a key is set twice"))
    #expect(problem("- a") == "f.yaml:1: the file must contain keys and values, such as log-level: info")
    #expect(
      problem("", ["CRASH_FORWARD_SENTRY_RAT": "1"])
        == "CRASH_FORWARD_SENTRY_RAT: there is no such setting; did you mean 'CRASH_FORWARD_SENTRY_RATE'?")
  }

  @Test("secrets in the settings are refused, and error messages do not repeat them")
  func secrets() throws {
    let text = problem("sentry:\n  dsn: https://hidden@h/1")
    #expect(text.hasPrefix("f.yaml:2: sentry.dsn is a secret: name a file by sentry.dsn-file"))
    #expect(!text.contains("hidden"))
    let settings = try read(
      "", ["CRASH_FORWARD_SENTRY_DSN": "https://hidden@h/1", "CRASH_FORWARD_OTLP_HEADERS": "A: hidden"])
    #expect(!ForwardSettingsReader.text(settings).contains("hidden"))
    #expect(ForwardSettingsReader.text(settings).contains("sentry.dsn: (secret)\n"))
    #expect(!"\(settings)".contains("hidden"))
    #expect(!String(reflecting: settings).contains("hidden"))
  }

  @Test(
    "errors in crash-forward's settings do not repeat a password, DSN or key that is in the wrong place",
    arguments: [
      "otlp:\n  endpoint: http://me:hidden@h/v1/logs", "otlp: {endpoint: 'https://hidden@h'}",
      "otlp:\n  headers: 'Authorization: Bearer hidden'", "otlp:\n  headers-file: hidden",
      "sentry:\n  dsn-file: hidden",
      "sentry:\n  rate: https://hidden@h/1", "sentry: {scrub: hidden}", "sentry: hidden", "log-level: hidden",
      "sentry:\n  https://hidden@h/1: 1", "sentry:\n  dsn https://hidden@h/1:", "https://hidden@h/1: {a: b}",
      "sentry:\n  dsn-file: 'https://hidden@h/1\nx: [", "otlp:\n  headers: \"hidden\\q\"", "sentry: *hidden",
      "sentry:\n  dsn: https://hidden@h/1\n sentry: hidden", "otlp: {x: [hidden}", "k: &hidden\nk: *hidden2",
      "hidden: 1\nhidden: 2", "otlp: @hidden", "journal:\n  socket: hidden", "subscriber: hidden@h",
    ])
  func misplaced(yaml: String) {
    for credentials in [nil, "/nonexistent"] {
      var reader = ForwardSettingsReader(credentials: credentials)
      do throws(SettingsError) {
        try reader.read(yaml: yaml, at: "f.yaml")
        Issue.record("the settings were accepted")
      } catch {
        let isTold = "\(error)".contains("hidden")
        #expect(!isTold, "\(error)")
        #expect("\(error)".hasPrefix("f.yaml:"))
      }
    }
  }

  @Test("a settings error is printed in one line, even if the file contains line breaks")
  func oneLine() {
    let text = "\(SettingsError(place: "f\r\n<0>x", reason: "\u{1b}[2J"))"
    #expect(text == "f␍␊<0>x: ␛[2J")
  }

  @Test("a secret is read from a file or a systemd credential, without trailing whitespace")
  func secretFiles() throws {
    let directory = "/tmp/cs-sink-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer {
      // An error is only printed, because the test can do nothing about it.
      do { try FileManager.default.removeItem(atPath: directory) } catch { print("leaving \(directory): \(error)") }
    }
    try "https://k@h/1\n".write(toFile: directory + "/dsn", atomically: true, encoding: .utf8)
    for (name, credentials) in [(directory + "/dsn", nil), ("dsn", directory)] {
      var reader = ForwardSettingsReader(credentials: credentials)
      try reader.read(yaml: "sentry: {dsn-file: \(name)}", at: "f.yaml")
      #expect(reader.settings.sentryDSN == Secret("https://k@h/1"))
    }
    #expect(problem("sentry: {dsn-file: dsn}").hasPrefix("f.yaml:1: give the absolute path of a file"))
    #expect(
      problem("sentry: {dsn-file: \(directory)/no}")
        == "f.yaml:1: the file of sentry.dsn: cannot read it: No such file or directory")
    try String(repeating: "x", count: 20_000).write(toFile: directory + "/dsn", atomically: true, encoding: .utf8)
    #expect(problem("sentry: {dsn-file: \(directory)/dsn}").hasSuffix("it is longer than 16 KiB"))
  }

  @Test("the files of a client certificate are checked, and belong together")
  func clientCertificate() throws {
    let directory = "/tmp/cs-sink-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    defer {
      // An error is only printed, because the test can do nothing about it.
      do { try FileManager.default.removeItem(atPath: directory) } catch { print("leaving \(directory): \(error)") }
    }
    for (file, kind) in [("pem", "CERTIFICATE"), ("key", "PRIVATE KEY"), ("locked", "ENCRYPTED PRIVATE KEY")] {
      try "-----BEGIN \(kind)-----\n".write(toFile: "\(directory)/\(file)", atomically: true, encoding: .utf8)
    }
    let both = "certificate-file: \(directory)/pem, key-file: \(directory)/key"
    #expect(
      try read("fleet: {\(both)}").fleetIdentity()
        == ClientIdentity(certificate: "\(directory)/pem", key: "\(directory)/key"))
    var reader = ForwardSettingsReader(credentials: directory)
    try reader.read(yaml: "fleet: {certificate-file: pem, key-file: key}", at: "f.yaml")
    #expect(reader.settings.fleetKey == "\(directory)/key")
    #expect(ForwardSettingsReader.text(reader.settings).contains("certificate-file: \(directory)/pem\n"))

    #expect(
      problem("fleet: {certificate-file: \(directory)/no}")
        == "f.yaml:1: '\(directory)/no', the file of fleet.certificate-file: cannot read it: No such file or directory")
    for (key, file, kind) in [("certificate", "key", "CERTIFICATE"), ("key", "locked", "PRIVATE KEY")] {
      #expect(
        problem("fleet: {\(key)-file: \(directory)/\(file)}").hasSuffix("has no \(kind) in PEM without a password"))
    }
    #expect(throws: SettingsError.self) { try read("fleet: {key-file: \(directory)/key}").fleetIdentity() }
    #expect(throws: SettingsError.self) {
      try read("fleet: {url: 'http://127.0.0.1:1', \(both)}").fleetIdentity()
    }
    #expect(try read("fleet: {url: 'https://127.0.0.1:1'}").fleetIdentity() == nil)
  }

  @Test("crash-forward's sample file has every key with its default, and is valid")
  func sample() throws {
    let path = URL(filePath: #filePath).appending(path: "../../../../../systemd/crash-forward.yaml").standardizedFileURL
    let text = try String(contentsOf: path, encoding: .utf8)
    #expect(try read(text) == ForwardSettings())
    // Enables all examples: removes the comment mark from each line "#key: value".
    let all = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let rest = line.drop { $0 == " " }
      return rest.hasPrefix("#") && !rest.hasPrefix("# ")
        ? String(line.replacing("#", with: "", maxReplacements: 1)) : String(line)
    }
    let keys = ForwardSettings.table(credentials: nil).keys.filter { !$0.isSecret }
    for key in keys {
      let name = key.name.split(separator: ".").last.map(String.init) ?? ""
      #expect(all.contains { $0.drop { $0 == " " }.hasPrefix("\(name):") }, "\(key.name) is not in the sample")
    }
    for key in ForwardSettings.table(credentials: nil).keys where key.isSecret {
      #expect(text.contains(key.name.split(separator: ".").last.map { "#\($0)-file:" } ?? "?"))
    }
    let known = all.filter { !$0.contains("-file:") }.joined(separator: "\n")
    let settings = try read(known)
    // The example of a setting with a default value shows this value.
    #expect(settings.journal.perMinute == ForwardSettings().journal.perMinute)
    #expect(settings.sentry.perMinute == ForwardSettings().sentry.perMinute)
    #expect(settings.otlp.perMinute == ForwardSettings().otlp.perMinute)
    #expect(settings.privacy == ForwardSettings().privacy)
    #expect(settings.giveUpMinutes == ForwardSettings().giveUpMinutes)
    #expect(settings.journalSocket == ForwardSettings().journalSocket)
    #expect(settings.subscriber == ForwardSettings().subscriber)
  }

  @Test("crash-forward accepts settings without a sink, and refuses an invalid sink")
  func forwarder() throws {
    let around = { (settings: ForwardSettings) throws(SettingsError) in
      guard let stop = try? StopSignal() else { throw SettingsError(place: "test", reason: "no descriptors") }
      _ = try CrashForwarder(
        settings, client: CrashClient(socketPath: "/nonexistent"), stop: stop, board: SinkBoard(),
        log: SinkLog { _, _ in })
      stop.stop()
    }
    try around(ForwardSettings())
    var settings = ForwardSettings()
    settings.sentryDSN = Secret("https://h/1")
    #expect(throws: SettingsError(place: "sentry.dsn", reason: "it is not a DSN such as https://KEY@HOST/PROJECT")) {
      try around(settings)
    }
    settings.sentryDSN = Secret("https://k@h/1")
    try around(settings)
    settings.otlpEndpoint = "http://h/v1/logs"
    settings.otlpHeaders = Secret("no header")
    #expect(throws: SettingsError.self) { try around(settings) }
  }
}
