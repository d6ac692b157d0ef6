public import CrashClient
public import CrashProtocol

/// Implements `import`: sends the record lines in a log (crashes that processes printed as text) to crashd.
public struct RecordImport: Sendable {
  private let path: String
  private let client: CrashClient

  /// Prepares to import a log.
  ///
  /// - Parameters:
  ///   - path: The log; `-` is standard input.
  ///   - client: The client of the crashd that stores the reports.
  public init(path: String, client: CrashClient) { (self.path, self.client) = (path, client) }

  /// Calls `body` with the result for each record, in the order of the log.
  ///
  /// - Throws: `Failure` if the log has no record, or crashd cannot store one.
  public func run(_ body: (ImportedRecord) throws(Failure) -> Void) throws(Failure) {
    var log = try RecordLog(path)
    var count = 0
    while let record = try log.next() {
      let imported: ImportedRecord
      do throws(ClientError) {
        imported = try client.importRecord(record.text)
      } catch {
        guard case .refused(.invalidRecord(let reason)) = error else { throw Failure(error, of: client) }
        log.refuse(line: record.line, because: reason)
        continue
      }
      count += 1
      try body(imported)
    }
    try log.finish(count: count)
  }
}
