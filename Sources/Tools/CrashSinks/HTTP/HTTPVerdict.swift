import CrashReport

extension HTTPClient.Answer {
  /// What a status means for an event.
  func delivery(from server: String) -> Delivery {
    switch status {
    case 200..<300: return .delivered
    // Nothing says yet that this is such a server: one that speaks TLS answers 400 to whoever does not.
    case 400 where !hasTaken:
      return .later("\(server) answers 400 and has not taken anything yet: is it the right address?", maybeNever: true)
    // This event, and no other: the server does not understand it, or it is too large.
    case 400, 413, 415, 422: return .refused("\(server) answers \(status)\(words)")
    // libcurl repeats a proxy's address, with its password, where it does not understand it.
    case 0: return .later("\(server): \(problem.contains("@") ? "libcurl cannot use the proxy's address" : problem)")
    // It asks for patience.
    case 408, 425, 429, 502, 503, 504: return .later("\(server) answers \(status)", after: retryAfter)
    // All events alike: a server in trouble, or settings that somebody has to mend. Its words are not told: one that
    // refuses a key may repeat it.
    default: return .later("\(server) answers \(status)", after: retryAfter, maybeNever: true)
    }
  }

  /// For people.
  private var words: String {
    let text = CleanText.line(String(decoding: body.prefix(200), as: UTF8.self))
    return text.isEmpty ? "" : ": \(text)"
  }
}
