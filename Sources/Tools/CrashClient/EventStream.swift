public import CrashProtocol

/// A stream of reports as crashd stores them; used by one thread.
public final class EventStream {
  /// An event of the stream.
  public enum Event: Sendable, Equatable {
    /// From here on no new report is missed.
    case ready
    /// A report, and the cursor that continues after it. The same report may come again with more in it.
    case report(ReceivedReport, cursor: String)
  }

  private let connection: VarlinkConnection
  private var isOver = false
  /// A received event that `next` has not returned yet.
  private var pending: Result<Event?, ClientError>?
  /// The cursor of the event that `next` has just refused to read, where it is known.
  ///
  /// A subscriber that acknowledges it goes on behind that event. After `ClientError.malformedReply` the stream itself
  /// goes on, too.
  public private(set) var unreadableCursor: String?

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits until crashd has said that the stream begins, or why it does not.
  /// - Throws: Such as `ProtocolError.cursorExpired`, in `ClientError.refused`.
  public func begun(timeout: Duration = .seconds(30)) throws(ClientError) -> EventStream {
    if pending != nil { return self }
    do throws(ClientError) { pending = .success(try next(timeout: timeout)) } catch {
      // The stream has begun, by an event that is not to be read.
      guard unreadableCursor != nil else { throw error }
      pending = .failure(error)
    }
    return self
  }

  /// Waits for the next event, for ever without a `timeout`; nil when crashd ended the stream.
  ///
  /// `hangup` is a descriptor whose hang-up ends the wait with `ClientError.cancelled`, such as the output that the
  /// events are written to.
  public func next(timeout: Duration? = nil, hangup: Int32? = nil) throws(ClientError) -> Event? {
    if let pending {
      self.pending = nil
      return try pending.get()
    }
    unreadableCursor = nil
    let deadline = timeout.map { Deadline.after($0) } ?? .never
    while !isOver {
      let parameters: SubscribeReply<Attempt>
      do throws(ClientError) {
        let reply = try connection.receive(SubscribeReply<Attempt>.self, until: deadline, watching: hangup)
        (parameters, isOver) = (reply.parameters, !reply.continues)
      } catch {
        if case .messageTooLarge = error { unreadableCursor = Self.cursor(atBeginningOf: connection.beginning) }
        throw error
      }
      if let report = parameters.report {
        guard let cursor = parameters.cursor else { throw .malformedReply("an event without a cursor") }
        guard case .report(let report) = report else {
          unreadableCursor = cursor
          throw .malformedReply(report.problem)
        }
        return .report(report, cursor: cursor)
      }
      if parameters.ready == true { return .ready }
    }
    return nil
  }
}

extension EventStream {
  /// A report, or what is wrong with it: the cursor beside it is of use all the same.
  private enum Attempt: Decodable {
    case report(ReceivedReport)
    case problem(String)

    init(from decoder: any Decoder) throws {
      do { self = .report(try ReceivedReport(from: decoder)) } catch { self = .problem(String(describing: error)) }
    }

    var problem: String {
      guard case .problem(let text) = self else { return "" }
      return text
    }
  }

  /// The cursor that stands before the report in an event of which only the beginning was read.
  private static func cursor(atBeginningOf bytes: some Sequence<UInt8>) -> String? {
    let text = String(decoding: Array(bytes), as: UTF8.self)
    let head = text.prefix(upTo: text.firstRange(of: "\"report\":")?.lowerBound ?? text.endIndex)
    guard let key = head.firstRange(of: "\"cursor\":\""), let end = head[key.upperBound...].firstIndex(of: "\"") else {
      return nil
    }
    let cursor = head[key.upperBound..<end]
    return cursor.isEmpty || cursor.contains("\\") ? nil : String(cursor)
  }
}

// The connection's buffer has no lock: one thread reads.
@available(*, unavailable)
extension EventStream: Sendable {}
