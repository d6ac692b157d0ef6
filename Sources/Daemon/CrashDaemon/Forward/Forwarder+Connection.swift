import CrashProtocol
import CrashReport
import CrashStore
import NIOCore
import NIOPosix

// One connection to the collector.
extension Forwarder {
  private static let answerLimitBytes = 4_096
  /// Answers that wait to be read: one for each event of a page, and the collector has no reason for more.
  private static let answerLimit = 64

  /// Sends the events after `start` until the connection ends, which is always an error, or the task is cancelled.
  func send(from start: StoreCursor) async throws {
    let (answers, continuation) = AsyncStream.makeStream(
      of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.answerLimit))
    let channel = try await connect(continuation)
    configuration.counts.change(forward.path) { $0.isConnected = true }
    let window = ForwardWindow(from: start)
    var outcome: Result<Void, any Error> = .success(())
    // A write waits for the collector, not for the task: only closing the connection ends it.
    await withTaskCancellationHandler {
      do {
        try await withThrowingTaskGroup(of: Void.self) { group in
          defer {
            channel.close(promise: nil)
            group.cancelAll()
          }
          group.addTask { try await hear(answers, window) }
          group.addTask { try await send(from: start, over: channel, window) }
          try await group.next()
        }
      } catch { outcome = .failure(error) }
    } onCancel: {
      channel.close(promise: nil)
    }
    // The collector acknowledged these before the connection broke, so the next connection continues after them. Where
    // the store cannot store the cursor now, events arrive twice.
    if let reached = window.reached { try keep(reached) }
    if window.isLate { throw Failure.tooSlow(configuration.limits.collector_ms) }
    try outcome.get()
  }

  private func connect(_ answers: AsyncStream<[UInt8]>.Continuation) async throws -> any Channel {
    let listens = forward.waitsForAcknowledgement
    let separator = ForwardFormat(format: forward.format).separator
    return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connectTimeout(.milliseconds(Int64(configuration.limits.collector_ms)))
      // A collector without acknowledgements may close its half.
      .channelOption(.allowRemoteHalfClosure, value: !listens)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if listens {
            try pipeline.addHandler(
              ByteToMessageHandler(
                VarlinkFrameDecoder(limit: Self.answerLimitBytes, separator: separator), maximumBufferSize: nil))
          }
          try pipeline.addHandler(ForwardAnswers(listens ? answers : nil, end: answers))
        }
      }
      .connect(unixDomainSocketPath: forward.path).get()
  }

  /// Handles the collector's answers as they arrive.
  private func hear(_ answers: AsyncStream<[UInt8]>, _ window: ForwardWindow) async throws {
    let format = ForwardFormat(format: forward.format)
    for await frame in answers {
      let count =
        switch format.answer(frame, in: window.epoch) {
        case .has(let cursor): window.acknowledge(through: cursor)
        case .hasNext: window.acknowledgeNext()
        case .refused(let reason): throw Failure.refused(reason)
        case .unintelligible: nil as Int?
        }
      guard let count else { throw Failure.unintelligible }
      noteDelivered(count)
    }
    throw Failure.closed
  }

  private func noteDelivered(_ count: Int) {
    configuration.counts.change(forward.path) { $0.delivered &+= count }
  }

  private func send(from start: StoreCursor, over channel: any Channel, _ window: ForwardWindow) async throws {
    let (store, hub, batch) = (configuration.store, configuration.hub, configuration.limits.eventBatch)
    // Subscribe before the first read, as in `firstEvent`.
    var news = hub.news().makeAsyncIterator()
    var progress = window.progress.makeAsyncIterator()
    let reader = hub.beginReading(at: start)
    defer { hub.endReading(reader) }
    var cursor = start
    var lost = 0
    repeat {
      while true {
        let page = try store.eventPage(after: cursor, filter, limit: batch)
        lost += try store.removed(after: cursor, through: page.end).count + page.unreadable
        // Rules may have changed since the last page.
        let scrubber = forward.scrubs ? try TextScrubber(configuration.settings.current.privacy) : nil
        for event in page.events {
          let report = try event.json.value()
          let json = scrubber?.scrub(report: report) ?? report
          let message = try ForwardFormat(format: forward.format).message(event, json, lost: lost)
          lost = 0
          try await send(message, event.cursor, over: channel, window)
        }
        while !window.isEmpty {
          let alarm = alarm(channel, window)
          defer { alarm.cancel() }
          // Ends without an element when the task is cancelled.
          guard await progress.next() != nil else { throw CancellationError() }
        }
        // The cursor stays before removed events that are not reported yet.
        if page.end != cursor, lost == 0 { try keep(page.end) }
        cursor = page.end
        hub.read(reader, to: cursor)
        if page.isLast { break }
      }
    } while await news.next() != nil
  }

  /// Returns when the kernel has accepted the event.
  private func send(
    _ message: ByteBuffer, _ cursor: StoreCursor, over channel: any Channel, _ window: ForwardWindow
  ) async throws {
    // The collector's time-out begins here, so that crashd's own work does not count.
    let alarm = alarm(channel, window)
    defer { alarm.cancel() }
    window.send(cursor)
    try await channel.writeAndFlush(message)
    if !forward.waitsForAcknowledgement, let count = window.acknowledge(through: cursor) { noteDelivered(count) }
  }

  /// Closes the connection unless the alarm is cancelled in time.
  private func alarm(_ channel: any Channel, _ window: ForwardWindow) -> Scheduled<Void> {
    channel.eventLoop.scheduleTask(in: .milliseconds(Int64(configuration.limits.collector_ms))) {
      window.noteLate()
      channel.close(promise: nil)
    }
  }
}

/// Passes on the collector's answers.
///
/// A collector that sends more answers than it got events is disconnected.
private final class ForwardAnswers: ChannelInboundHandler {
  typealias InboundIn = [UInt8]

  private let answers: AsyncStream<[UInt8]>.Continuation?
  private let end: AsyncStream<[UInt8]>.Continuation

  /// - Parameters:
  ///   - answers: Nil: no task reads answers, and the channel carries raw bytes.
  ///   - end: Finished when the connection ends.
  init(_ answers: AsyncStream<[UInt8]>.Continuation?, end: AsyncStream<[UInt8]>.Continuation) {
    (self.answers, self.end) = (answers, end)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let answers else { return }
    if case .dropped = answers.yield(unwrapInboundIn(data)) { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  /// Every channel gets here in the end, also one that was never connected.
  func handlerRemoved(context: ChannelHandlerContext) { end.finish() }
}
