internal import CrashReport
internal import FoundationEssentials

/// Calls and replies over one connection: JSON, each message ended by a NUL byte.
final class VarlinkConnection {
  private let socket: UnixSocket
  private let messageLimitBytes: Int
  private var buffer: [UInt8] = []
  /// Bytes of `buffer` that are known to hold no NUL, so that a long message is looked through once.
  private var searched = 0

  /// How a message begins that was too large.
  var beginning: ArraySlice<UInt8> { buffer.prefix(512) }

  init(socket: UnixSocket, messageLimitBytes: Int) {
    self.socket = socket
    self.messageLimitBytes = messageLimitBytes
  }

  func send(method: String, parameters: some Encodable, more: Bool, until deadline: Deadline) throws(ClientError) {
    var bytes: [UInt8]
    do {
      bytes = Array(try JSONEncoder().encode(Call(method: method, parameters: parameters, more: more ? true : nil)))
    } catch {
      throw .malformedReply("BUG: the parameters of \(method) cannot be written as JSON: \(error)")
    }
    bytes.append(0)
    do throws(ClientError) {
      try socket.send(bytes, until: deadline)
    } catch .closed {
      // What crashd said before it closed tells why: `receive` finds it, or finds the end.
    }
  }

  /// The next reply's parameters, and whether more replies follow.
  func receive<Parameters: Decodable>(
    _ type: Parameters.Type, until deadline: Deadline, watching: Int32? = nil
  ) throws(ClientError) -> (parameters: Parameters, continues: Bool) {
    let message = try nextMessage(until: deadline, watching: watching)
    let reply: Reply<Parameters>
    do {
      // Another user's socket may answer: `JSONValue` below costs more the deeper a text is nested.
      try JSONDepth.check(message)
      reply = try JSONDecoder().decode(Reply<Parameters>.self, from: message)
    } catch {
      throw .malformedReply(String(describing: error))
    }
    switch reply.outcome {
    case .parameters(let parameters): return (parameters, reply.continues)
    case .error(let name, let parameters): throw ClientError(name: name, parameters: parameters)
    }
  }

  private func nextMessage(until deadline: Deadline, watching: Int32?) throws(ClientError) -> Data {
    while true {
      if let end = buffer[searched...].firstIndex(of: 0) {
        let message = Data(buffer[..<end])
        buffer.removeSubrange(...end)
        searched = 0
        return message
      }
      searched = buffer.count
      guard searched <= messageLimitBytes else { throw .messageTooLarge(limitBytes: messageLimitBytes) }
      if try socket.receive(into: &buffer, until: deadline, watching: watching) == 0 {
        throw .closed(path: socket.path)
      }
    }
  }
}

private struct Call<Parameters: Encodable>: Encodable {
  var method: String
  var parameters: Parameters
  var more: Bool?
}

private struct Reply<Parameters: Decodable>: Decodable {
  enum Outcome {
    case parameters(Parameters)
    case error(name: String, parameters: JSONValue)
  }

  var outcome: Outcome
  var continues: Bool

  enum CodingKeys: CodingKey { case parameters, continues, error }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    continues = try container.decodeIfPresent(Bool.self, forKey: .continues) ?? false
    if let name = try container.decodeIfPresent(String.self, forKey: .error) {
      let parameters = try container.decodeIfPresent(JSONValue.self, forKey: .parameters)
      outcome = .error(name: name, parameters: parameters ?? .object([:]))
    } else {
      outcome = .parameters(try container.decode(Parameters.self, forKey: .parameters))
    }
  }
}
