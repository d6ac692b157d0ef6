import CrashReport

extension HTTPClient.Answer {
  /// What a status means for an event.
  func delivery(from server: String) -> Delivery {
    switch status {
    case 200..<300: return .delivered
    // This event, and no other: the server does not understand it, or it is too large.
    case 400, 413, 415, 422: return .refused("\(server) answers \(status)\(words)")
    case 0: return .later("\(server): \(problem)")
    // All events alike: a server in trouble, or settings that somebody has to mend. Its words are not told: one that
    // refuses a key may repeat it.
    default: return .later("\(server) answers \(status)", after: retryAfter)
    }
  }

  /// For people.
  private var words: String {
    let text = CleanText.line(String(decoding: body.prefix(200), as: UTF8.self))
    return text.isEmpty ? "" : ": \(text)"
  }
}
