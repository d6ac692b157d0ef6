public import CrashProtocol

/// A stream of reports in the order in which crashd stores them.
///
/// Only one thread may use the stream.
public final class EventStream {
  /// An event of the stream.
  public enum Event: Sendable, Equatable {
    /// The stream has begun. Every report that is stored after this event is delivered.
    case ready
    /// A report, and the cursor of the position after it. The stream can deliver a report again when the report has
    /// more details.
    case report(ReceivedReport, cursor: String)
  }

  private let connection: VarlinkConnection
  private var isOver = false
  /// An event that was received before `next` was called.
  private var pending: Result<Event?, ClientError>?
  /// The cursor of the event that the last call of `next` could not decode; nil if `next` succeeded, or the cursor is
  /// unknown.
  ///
  /// A subscriber that acknowledges this cursor skips the event. After the error `ClientError.malformedReply`, the
  /// stream itself can still be used.
  public private(set) var unreadableCursor: String?

  init(connection: VarlinkConnection) { self.connection = connection }

  /// Waits until crashd reports that the stream begins, or the reason why it cannot begin.
  /// - Throws: `ClientError.refused`, with an error such as `ProtocolError.cursorExpired`.
  public func begun(timeout: Duration = .seconds(30)) throws(ClientError) -> EventStream {
    if pending != nil { return self }
    do throws(ClientError) { pending = .success(try next(timeout: timeout)) } catch {
      // If the first event has a cursor but cannot be decoded, the stream has begun, too.
      guard unreadableCursor != nil else { throw error }
      pending = .failure(error)
    }
    return self
  }

  /// Waits for the next event.
  ///
  /// Without a `timeout`, the wait is unlimited. Returns nil if crashd ended the stream.
  ///
  /// `hangup` is a descriptor, such as the descriptor of the pipe to which the caller writes the events. If poll
  /// reports a hang-up of this descriptor, the wait ends with `ClientError.cancelled`.
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
  /// The report of an event, or the reason why the report cannot be decoded.
  ///
  /// The cursor of the event is usable even if the report cannot be decoded.
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

  /// Returns the cursor of an oversized event from its beginning, because the client does not read the rest.
  ///
  /// The beginning contains the cursor, because the cursor precedes the report in an event.
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

// The connection's buffer has no lock, so only one thread is allowed to read.
@available(*, unavailable)
extension EventStream: Sendable {}
