/// The trace of the tests' requests.
enum Trace {
  static let id = "4bf92f3577b34da6a3ce929d0e0e4736"
  static let span = "00f067aa0ba902b7"
  static let headers = ["traceparent": "00-\(id)-\(span)-01"]
}
