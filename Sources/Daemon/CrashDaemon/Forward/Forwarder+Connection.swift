import CrashProtocol
import CrashReport
import CrashStore
import NIOCore
import NIOPosix

// The life of one connection to the collector.
extension Forwarder {
  private static let answerLimitBytes = 4_096
  /// The answers that wait to be read.
  ///
  /// A collector sends at most one answer for each event of a page.
  private static let answerLimit = 64

  /// Sends the events after `start` until the task is cancelled or the connection ends.
  ///
  /// The end of the connection is always an error.
  func send(from start: StoreCursor) async throws {
    let (answers, continuation) = AsyncStream.makeStream(
      of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.answerLimit))
    let channel = try await connect(continuation)
    configuration.counts.change(forward.path) { $0.isConnected = true }
    let window = ForwardWindow(from: start)
    var outcome: Result<Void, any Error> = .success(())
    // A pending write does not react to the cancellation of the task. Only closing the connection ends it.
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
    // Store the last acknowledged cursor, so that the next connection continues after it. If the store cannot do that
    // now, the collector receives the acknowledged events twice.
    if let reached = window.reached { try keep(reached) }
    if window.isLate { throw Failure.tooSlow(configuration.limits.collector_ms) }
    try outcome.get()
  }

  private func connect(_ answers: AsyncStream<[UInt8]>.Continuation) async throws -> any Channel {
    let listens = forward.waitsForAcknowledgement
    let separator = ForwardFormat(format: forward.format).separator
    return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connectTimeout(.milliseconds(Int64(configuration.limits.collector_ms)))
      // A collector that sends no acknowledgements may close its sending half.
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
    // Subscribe before the first read, so that no event is missed between the two.
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
        // Read the privacy rules again, because they may have changed since the last page.
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
          // The sequence ends without an element when the task is cancelled.
          guard await progress.next() != nil else { throw CancellationError() }
        }
        // If removed events are not reported yet, the stored cursor stays before them.
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
    // The time-out begins here, because the time that crashd needs to build the message must not count.
    let alarm = alarm(channel, window)
    defer { alarm.cancel() }
    window.send(cursor)
    try await channel.writeAndFlush(message)
    if !forward.waitsForAcknowledgement, let count = window.acknowledge(through: cursor) { noteDelivered(count) }
  }

  /// Schedules an alarm that closes the connection if it is not cancelled in time.
  private func alarm(_ channel: any Channel, _ window: ForwardWindow) -> Scheduled<Void> {
    channel.eventLoop.scheduleTask(in: .milliseconds(Int64(configuration.limits.collector_ms))) {
      window.noteLate()
      channel.close(promise: nil)
    }
  }
}

/// Passes the collector's answers to the task that reads them.
///
/// The handler disconnects a collector that sends more answers than fit into the stream.
private final class ForwardAnswers: ChannelInboundHandler {
  typealias InboundIn = [UInt8]

  private let answers: AsyncStream<[UInt8]>.Continuation?
  private let end: AsyncStream<[UInt8]>.Continuation

  /// - Parameters:
  ///   - answers: The stream of the answers; nil if no task reads answers and the channel carries raw bytes.
  ///   - end: The stream that is finished when the connection ends.
  init(_ answers: AsyncStream<[UInt8]>.Continuation?, end: AsyncStream<[UInt8]>.Continuation) {
    (self.answers, self.end) = (answers, end)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let answers else { return }
    if case .dropped = answers.yield(unwrapInboundIn(data)) { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  /// NIO removes the handler from every channel, even if the channel was never connected.
  func handlerRemoved(context: ChannelHandlerContext) { end.finish() }
}
