import CrashProtocol
import CrashReport
import CrashStore
import NIOCore
import NIOPosix

// Handles one connection to a collector.
extension Forwarder {
  private static let answerLimitBytes = 4_096
  /// The maximum number of received answers that are waiting to be handled.
  ///
  /// The limit is sufficient, because at most `eventBatch` events wait for an answer, and each gets at most one answer.
  private static let answerLimit = 64

  /// Sends the events after `start` until the task is canceled or the connection ends.
  ///
  /// If the connection ends, this function throws an error.
  func send(from start: StoreCursor) async throws {
    let (answers, continuation) = AsyncStream.makeStream(
      of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.answerLimit))
    let channel = try await connect(continuation)
    configuration.counts.change(forward.path) { $0.isConnected = true }
    let window = ForwardWindow(from: start)
    var outcome: Result<Void, any Error> = .success(())
    // Cancellation alone does not end a pending write. Therefore, the cancellation handler closes the connection, which
    // ends the write.
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
    // Store the cursor of the last acknowledged event, because the next connection continues after this cursor. If
    // storing fails, the collector receives the acknowledged events again.
    if let reached = window.reached { try keep(reached) }
    if window.isLate { throw Failure.tooSlow(configuration.limits.collector_ms) }
    try outcome.get()
  }

  private func connect(_ answers: AsyncStream<[UInt8]>.Continuation) async throws -> any Channel {
    let listens = forward.waitsForAcknowledgement
    let separator = ForwardFormat(format: forward.format).separator
    return try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connectTimeout(.milliseconds(Int64(configuration.limits.collector_ms)))
      // If the collector sends no acknowledgements, it can close its sending direction without ending the connection.
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

  /// Handles each answer of the collector as soon as it arrives.
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
    // Subscribe to the notifications of new events before the first read of the store. Otherwise, an event that is
    // stored between the read and the subscription would be missed.
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
        // Read the privacy rules for each page, because the operator can change them at any time.
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
          // If `progress` ends without an element, the task was canceled.
          guard await progress.next() != nil else { throw CancellationError() }
        }
        // crashd reports the number of lost events to the collector together with the next event. Until then, do not
        // move the stored cursor past the lost events.
        if page.end != cursor, lost == 0 { try keep(page.end) }
        cursor = page.end
        hub.read(reader, to: cursor)
        if page.isLast { break }
      }
    } while await news.next() != nil
  }

  /// Sends an event, and returns after the kernel has accepted all its bytes.
  private func send(
    _ message: ByteBuffer, _ cursor: StoreCursor, over channel: any Channel, _ window: ForwardWindow
  ) async throws {
    // Start the collector's time-out only here. The time that crashd needs to build the message must not reduce the
    // time that the collector has.
    let alarm = alarm(channel, window)
    defer { alarm.cancel() }
    window.send(cursor)
    try await channel.writeAndFlush(message)
    if !forward.waitsForAcknowledgement, let count = window.acknowledge(through: cursor) { noteDelivered(count) }
  }

  /// Schedules an alarm that closes the connection, unless the alarm is canceled before the time-out.
  private func alarm(_ channel: any Channel, _ window: ForwardWindow) -> Scheduled<Void> {
    channel.eventLoop.scheduleTask(in: .milliseconds(Int64(configuration.limits.collector_ms))) {
      window.noteLate()
      channel.close(promise: nil)
    }
  }
}

/// Passes the answers of the collector to the task that handles them (`hear`).
///
/// If the collector sends more answers than the stream can hold, the handler disconnects the collector.
private final class ForwardAnswers: ChannelInboundHandler {
  typealias InboundIn = [UInt8]

  private let answers: AsyncStream<[UInt8]>.Continuation?
  private let end: AsyncStream<[UInt8]>.Continuation

  /// - Parameters:
  ///   - answers: The stream of the answers; nil if the collector sends no acknowledgements. In this case, the channel
  ///     delivers raw bytes, which this handler ignores.
  ///   - end: The stream that the handler finishes when the connection ends.
  init(_ answers: AsyncStream<[UInt8]>.Continuation?, end: AsyncStream<[UInt8]>.Continuation) {
    (self.answers, self.end) = (answers, end)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let answers else { return }
    if case .dropped = answers.yield(unwrapInboundIn(data)) { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  /// Ends the stream.
  ///
  /// SwiftNIO also calls this function for a channel that was never connected.
  func handlerRemoved(context: ChannelHandlerContext) { end.finish() }
}
