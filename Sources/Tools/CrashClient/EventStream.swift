public import CrashProtocol

/// A stream of reports in the order in which crashd stores them.
///
/// Only one thread may use it.
public final class EventStream {
  /// An event of the stream.
  public enum Event: Sendable, Equatable {
    /// The stream has begun. Every report that is stored from now on is delivered.
    case ready
    /// A report, and the cursor that continues after it. The same report may be delivered again when it has more
    /// details.
    case report(ReceivedReport, cursor: String)
  }

  private let connection: VarlinkConnection
  private var isOver = false
  /// An event that was received before `next` was called.
  private var pending: Result<Event?, ClientError>?
  /// The cursor of the event that `next` has just failed to decode, if the cursor is known.
  ///
  /// A subscriber that acknowledges this cursor continues after that event. After `ClientError.malformedReply` the
  /// stream itself also continues.
  public private(set) var unreadableCursor: String?

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits until crashd reports that the stream begins, or the reason why it cannot begin.
  /// - Throws: `ClientError.refused`, with an error such as `ProtocolError.cursorExpired`.
  public func begun(timeout: Duration = .seconds(30)) throws(ClientError) -> EventStream {
    if pending != nil { return self }
    do throws(ClientError) { pending = .success(try next(timeout: timeout)) } catch {
      // An undecodable event with a cursor also shows that the stream has begun.
      guard unreadableCursor != nil else { throw error }
      pending = .failure(error)
    }
    return self
  }

  /// Waits for the next event.
  ///
  /// Without a `timeout` the wait has no limit. Returns nil if crashd ended the stream.
  ///
  /// `hangup` is a descriptor, such as the output of the events. If it reports a hang-up, the wait ends with
  /// `ClientError.cancelled`.
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
  /// A report, or the reason why it cannot be decoded.
  ///
  /// In both cases the event's cursor is usable.
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

  /// Returns the cursor of an oversized event, of which only the beginning was read.
  ///
  /// The cursor precedes the report.
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

// The connection's buffer has no lock, so only one thread may read.
@available(*, unavailable)
extension EventStream: Sendable {}
