import CrashClient
import CrashReport
import LinuxSystem

// Sends batches to the fleet, and acknowledges their events in crashd.
extension FleetRunner {
  /// Sends the batch until the fleet has committed it, and acknowledges it in crashd.
  ///
  /// Returns true if a stop was requested.
  mutating func flush(_ work: inout Work) throws(ClientError) -> Bool {
    guard let host = work.host, let cursor = work.batch.cursor else {
      // The host is unknown only if no event of the batch was readable. In this case, only acknowledge the unreadable
      // events.
      if let cursor = work.batch.cursor { try around.client.acknowledge(cursor, subscriber: subscriber) }
      work.batch.markSent()
      return false
    }
    while true {
      switch send(work.batch, of: host, until: cursor) {
      case .committed(let receipt):
        for (item, reason) in receipt.refusals {
          refuse(work.batch.id(ofLine: item) ?? "item \(item)", reason)
          for ask in work.batch.asks(ofLine: item) { work.asks.reopen(ask) }
        }
        expire(receipt.expired)
        work.asks.replace(receipt.asks)
        // Both numbers are untrusted input from a server, so their sum can overflow.
        let dropped = receipt.refused.addingReportingOverflow(receipt.expired)
        let lost = dropped.overflow ? work.batch.events : min(work.batch.events, dropped.partialValue)
        around.board.change(Self.name) { $0.delivered += work.batch.events - lost }
        if work.batch.counters.unsent > 0, let since = work.batch.since {
          work.pace.sent(since: since, at: around.now())
        }
        work.batch.markSent()
        endWaiting()
        backoff.reset()
        work.unacknowledged = cursor
        try acknowledge(&work)
        protectClasses(&work, host)
        return false
      case .refused(let why):
        // The fleet refuses the body as a whole, possibly because of one report. Therefore send each report alone.
        guard work.batch.firstReport != nil else {
          around.board.change(Self.name) { $0.retries += 1 }
          beginWaiting(why)
          if around.wait(backoff.delay()) { return true }
          continue
        }
        if sendAlone(&work) { return true }
      case .later(let why, let after):
        around.board.change(Self.name) { $0.retries += 1 }
        beginWaiting(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
  }

  /// Sends the batch once, with the cursor after its last event.
  private func send(_ batch: FleetBatch, of host: FleetHost, until cursor: String) -> FleetClient.Outcome {
    do { return client.send(try batch.body(host, stream: Self.stream(subscriber, cursor))) } catch {
      // Keep the batch: the fleet would commit an empty body without the reports.
      return .later("cannot encode the batch: \(error)", after: nil)
    }
  }

  /// Sends each whole report of the batch alone, and drops those that the fleet refuses.
  ///
  /// If this program ends meanwhile, the reports are sent again, and the fleet recognizes them by their ids. Returns
  /// true if a stop was requested.
  private mutating func sendAlone(_ work: inout Work) -> Bool {
    while let (id, line) = work.batch.firstReport {
      switch client.send(line) {
      case .committed(let receipt):
        for (_, reason) in receipt.refusals.prefix(1) { refuse(id, reason) }
        expire(min(1, receipt.expired))
        if receipt.refusals.isEmpty && receipt.expired == 0 {
          work.batch.removeFirst()
        } else {
          for ask in work.batch.dropFirst() { work.asks.reopen(ask) }
        }
      case .refused(let why):
        refuse(id, why)
        for ask in work.batch.dropFirst() { work.asks.reopen(ask) }
      case .later(let why, let after):
        around.board.change(Self.name) { $0.retries += 1 }
        beginWaiting(why)
        if around.wait(backoff.delay(atLeast: after)) { return true }
      }
    }
    return false
  }

  /// Acknowledges in crashd the events that the fleet has committed.
  ///
  /// Without the acknowledgement, crashd would send the same events again, and the counters would count them again.
  func acknowledge(_ work: inout Work) throws(ClientError) {
    guard let cursor = work.unacknowledged else { return }
    do throws(ClientError) { try around.client.acknowledge(cursor, subscriber: subscriber) } catch {
      // crashd refuses a cursor that an earlier store of crashd issued. Ignore this error.
      guard case .refused = error else { throw error }
    }
    work.unacknowledged = nil
  }

  private func expire(_ count: Int) {
    if count == 0 { return }
    around.board.change(Self.name) {
      let sum = $0.expired.addingReportingOverflow(count)
      $0.expired = sum.overflow ? .max : sum.partialValue
    }
    around.log(
      .warning,
      "\(Self.name): dropped \(count) reports and counters that are older than the retention of the fleet")
  }
}
