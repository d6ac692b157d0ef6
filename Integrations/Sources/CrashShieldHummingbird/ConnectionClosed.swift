/// The reason why a connection is closed after a response.
///
/// Hummingbird closes a connection when the function that writes a response throws an error.
enum ConnectionClosed: Error {
  /// The request trapped, and abandoned work of the request may still read from the connection.
  case afterTrap
  /// The response has the header `Connection: close`.
  case asAnnounced
  /// The body of the request became invalid while the response was written.
  case byInvalidRequest
}
