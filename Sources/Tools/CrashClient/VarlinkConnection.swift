internal import CrashProtocol
internal import CrashReport
internal import FoundationEssentials

/// Sends calls and receives replies over one connection.
///
/// Each message is a JSON object, followed by a NUL byte.
final class VarlinkConnection {
  private let socket: UnixSocket
  private var buffer: [UInt8] = []
  private var boundary: FrameBoundary

  /// The first bytes of the message that is being received, for messages that exceed the limit.
  var beginning: ArraySlice<UInt8> { buffer.prefix(512) }

  init(socket: UnixSocket, messageLimitBytes: Int) {
    self.socket = socket
    boundary = FrameBoundary(limit: messageLimitBytes)
  }

  func send(method: String, parameters: some Encodable, more: Bool, until deadline: Deadline) throws(ClientError) {
    let frame: [UInt8]
    do {
      frame = try VarlinkCall.frame(method: method, parameters: parameters, more: more)
    } catch {
      throw .malformedReply("BUG: the parameters of \(method) cannot be written as JSON: \(error)")
    }
    do throws(ClientError) {
      try socket.send(frame, until: deadline)
    } catch .closed {
      // Ignore a send error, because crashd can have sent a reason before it closed the connection. `receive` reads
      // this reason, or reports the end of the stream.
    }
  }

  /// Receives the next reply.
  ///
  /// Returns the parameters of the reply, and whether more replies follow.
  func receive<Parameters: Decodable>(
    _ type: Parameters.Type, until deadline: Deadline, watching: Int32? = nil
  ) throws(ClientError) -> (parameters: Parameters, continues: Bool) {
    let message = try nextMessage(until: deadline, watching: watching)
    let reply: VarlinkReply<Parameters>
    do {
      // The socket can belong to another user, so the reply is untrusted. Check the nesting depth first, because the
      // cost of decoding `JSONValue` increases with the depth.
      try JSONDepth.check(message)
      let decoder = JSONDecoder()
      // crashd sends infinite numbers and NaN as strings.
      decoder.nonConformingFloatDecodingStrategy = .convertFromString(
        positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
      reply = try decoder.decode(VarlinkReply<Parameters>.self, from: message)
    } catch {
      throw .malformedReply(String(describing: error))
    }
    switch reply.outcome {
    case .parameters(let parameters): return (parameters, reply.continues)
    case .error(let error): throw .refused(error)
    }
  }

  private func nextMessage(until deadline: Deadline, watching: Int32?) throws(ClientError) -> Data {
    while true {
      let length: Int?
      do { length = try boundary.next(in: buffer) } catch { throw .messageTooLarge(limitBytes: error.limit) }
      if let length {
        let message = Data(buffer[..<length])
        buffer.removeSubrange(...length)
        return message
      }
      if try socket.receive(into: &buffer, until: deadline, watching: watching) == 0 {
        throw .closed(path: socket.path)
      }
    }
  }
}
