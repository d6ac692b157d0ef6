import CrashClient
import CrashProtocol

// The steps that all runners have in common.
extension SinkRunner.Surroundings {
  /// Begins the stream of a sink.
  ///
  /// Counts the reports that crashd removed before they were sent as lost.
  func subscribe(_ sink: String, _ subscriber: String, _ filter: String?) throws(ClientError) -> EventStream {
    do throws(ClientError) {
      return try client.subscribe(subscriber: subscriber, name: filter).begun()
    } catch {
      guard case .refused(.cursorExpired(let lost, let isExact)) = error else { throw error }
      board.change(sink) { $0.lost += lost }
      log(
        .error,
        "\(sink): \(isExact ? "" : "about ")\(lost) reports were removed before they were sent; the remaining ones follow"
      )
      return try client.subscribe(subscriber: subscriber, name: filter, expired: true).begun()
    }
  }

  func endWaiting(_ sink: String) {
    let wasWaiting = board.counts(of: sink).failure != nil
    board.change(sink) { $0.failure = nil }
    if wasWaiting { log(.notice, "\(sink): recovered") }
  }

  func refuse(_ sink: String, _ id: String, _ why: String) {
    board.change(sink) {
      $0.refused += 1
      $0.failure = nil
    }
    log(.error, "\(sink): dropped report \(id): \(why)")
  }

  /// Records why the sink waits, and logs each reason once.
  func beginWaiting(_ sink: String, _ why: String) {
    if board.counts(of: sink).failure == why { return }
    board.change(sink) { $0.failure = why }
    log(.warning, "\(sink): waiting: \(why)")
  }
}
