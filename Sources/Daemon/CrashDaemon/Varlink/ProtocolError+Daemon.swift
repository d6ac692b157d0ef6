import CrashProtocol
import CrashRing
import CrashStore

// Converts crashd's internal errors to errors of the Varlink interface.
extension ProtocolError {
  /// Converts an error of the store.
  init(_ error: StoreError) {
    self =
      switch error {
      case .noSuchReport(let id): .noSuchReport(id: id)
      case .ambiguous(let id, let count): .ambiguousID(id: id, count: count)
      case .noSuchGroup(let key): .noSuchGroup(key: key)
      case .noSuchSubscriber(let name): .noSuchSubscriber(name)
      case .tooManySubscribers(let limit): .tooManySubscribers(limit: limit)
      case .invalidCursor(let text): .invalidCursor(text)
      case .notADatabase, .corrupt, .tooNew, .unavailable, .unreadable, .identifierTaken, .changedMeanwhile:
        .storeUnavailable(reason: error.description)
      }
  }

  /// Converts the reason why crashd did not analyze a report again.
  init(_ failure: Reanalysis.Failure) {
    self =
      switch failure {
      case .store(let error): ProtocolError(error)
      case .unreadable(let why): .notReanalysable(reason: why)
      case .symbolsGone([]): .notReanalysable(reason: "some of its names would be lost")
      case .symbolsGone(let builds):
        .notReanalysable(reason: "the symbols of \(builds.joined(separator: ", ")) are missing")
      case .changed: .notReanalysable(reason: "it has changed in the meantime; try again")
      case .busy: .notReanalysable(reason: "another report is being analyzed again; try later")
      }
  }

  /// Converts the reason why crashd did not store the crash of an imported record line (a crash record as text).
  init(_ failure: RecordImports.Failure) {
    self =
      switch failure {
      case .line(let error): .invalidRecord(reason: error.description)
      case .store(let error): ProtocolError(error)
      case .system(let why): .storeUnavailable(reason: why)
      }
  }

  /// Creates the error for events that were removed before the subscriber read them.
  init(_ missed: ReportStore.Missed) { self = .cursorExpired(lost: missed.count, exact: missed.isExact) }
}
