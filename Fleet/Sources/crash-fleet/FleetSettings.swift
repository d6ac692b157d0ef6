import Glibc
import SettingsFiles
import FleetServer
import FleetStore

/// The settings of `crash-fleet`.
struct FleetSettings: Sendable, Equatable {
  /// The connection string, which can contain a password.
  var database: String?
  var store = FleetStore.Configuration(connection: "")
  var listener = FleetServer.Listener(host: "127.0.0.1", port: 8_320)
  var tls = TLSFiles()
  var limits = FleetLimits()
  var logLevel: String?

  /// The configuration of the store.
  ///
  /// If it has no connection string, libpq uses its own environment variables, such as PGHOST.
  var storeConfiguration: FleetStore.Configuration {
    var store = store
    store.connection = database ?? ""
    return store
  }

  /// Where the service listens, with the texts of the TLS files.
  func tlsListener() throws(SettingsError) -> FleetServer.Listener {
    var listener = listener
    listener.tls = try tls.read()
    return listener
  }
}

// The table of all keys, which systemd/crash-fleet.yaml explains.
extension FleetSettings {
  typealias Key = SettingKey<FleetSettings>

  private static let secretBytes = 16 << 10
  /// The default file with the connection string, which docs/fleet.md and the systemd units use.
  private static let usualDatabase = "/etc/crash-fleet/database"

  /// Returns all keys.
  ///
  /// `credentials` is the directory in which systemd stores the files of `LoadCredential=`.
  static func table(credentials: String?) -> SettingsTable<FleetSettings> {
    SettingsTable(
      keys + [databaseFile(credentials)] + limitKeys, variablesBegin: "CRASH_FLEET_", but: ["CRASH_FLEET_CONFIG"],
      tellsValues: false)
  }

  private static let keys: [Key] = [
    .text("log-level", \.logLevel, "error, warning, notice or debug") {
      ["error", "warning", "notice", "debug"].contains($0)
    },
    .requiredText("listen.host", \.listener.host, "an address such as 127.0.0.1 or ::", where: { !$0.isEmpty }),
    .number("listen.port", \.listener.port, "a port", 0...65_535),
    .path("tls.certificate", \.tls.certificate),
    .path("tls.key", \.tls.key),
    .path("tls.client-ca", \.tls.clientCA),
    .flag("tls.require-client-certificate", \.tls.requiresClientCertificate, isLive: false),
    database,
    .number("database.connections", \.connections, "connections", 1...200),
    .number("retention.reports", \.reportDays, "days", 1...400),
    .number("retention.counters", \.counterMonths, "months", 1...60),
  ]

  private static let limitKeys: [Key] = [
    .bytes("limits.body", \.limits.bodyBytes, atLeast: 64 << 10, isLive: false),
    .bytes("limits.decompressed", \.limits.decompressedBytes, atLeast: 64 << 10, isLive: false),
    .number("limits.items", \.limits.items.items, "items", 1...100_000),
    .number("limits.request-time", \.limits.request_s, "seconds", 1...600),
    .number("limits.connections", \.limits.connections, "connections", 1...100_000),
    .number("limits.requests", \.limits.requests, "requests", 1...10_000),
    .number("limits.requests-of-tenant", \.limits.requestsOfTenant, "requests", 1...10_000),
  ]

  private static var database: Key {
    var key = Key.value(
      "database.connection", \.database, "a connection string of libpq", { $0.isEmpty ? .none : .some(.some($0)) },
      { $0 == nil ? "" : "(secret)" })
    key.isSecret = true
    return key
  }

  /// The key that names the file with the connection string.
  private static func databaseFile(_ credentials: String?) -> Key {
    Key(
      name: "database.connection-file", takes: "the path of a file",
      apply: { settings, value throws(SettingProblem) in
        guard case .text(let file) = value else { return false }
        let path: String
        if file.hasPrefix("/") {
          path = file
        } else if let credentials, !file.contains("/"), !file.isEmpty {
          path = "\(credentials)/\(file)"
        } else {
          throw SettingProblem("give the absolute path of a file, or the name of a credential of the unit")
        }
        try settings.readDatabase(file: path)
        return true
      })
  }

  /// Reads the connection string from a file.
  private mutating func readDatabase(file: String) throws(SettingProblem) {
    let text = try SettingText.contents(of: file, limitBytes: Self.secretBytes)
    let lines = text.split(whereSeparator: \.isNewline)
    guard lines.count == 1 else { throw SettingProblem("the file must have one line, the connection string") }
    database = String(lines[0])
  }

  /// Reads the connection string from its usual file, if nothing else names a database and the file exists.
  mutating func readUsualDatabase(_ environment: [String: String]) throws(SettingsError) {
    let variables = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGSERVICE", "PGDATABASE", "PGUSER"]
    guard database == nil, !variables.contains(where: { environment[$0] != nil }),
      unsafe access(Self.usualDatabase, F_OK) == 0
    else { return }
    do throws(SettingProblem) { try readDatabase(file: Self.usualDatabase) } catch {
      throw SettingsError(
        place: Self.usualDatabase, reason: "\(error.reason); run the command as root, or name the database by PGHOST")
    }
  }

  // The table of keys requires Int. Some fields of the store's configuration have 32 bits, like the database columns.
  private var connections: Int {
    get { store.connections }
    set { store.connections = newValue }
  }
  private var reportDays: Int {
    get { Int(store.reportDays) }
    set { store.reportDays = Int32(clamping: newValue) }
  }
  private var counterMonths: Int {
    get { Int(store.counterMonths) }
    set { store.counterMonths = Int32(clamping: newValue) }
  }
}
