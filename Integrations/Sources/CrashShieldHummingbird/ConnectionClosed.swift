/// The reason why the server closes a connection after a response.
///
/// Hummingbird closes a connection when the function that writes a response throws an error.
enum ConnectionClosed: Error {
  /// The request trapped, and abandoned work of the request can still read from the connection.
  case afterTrap
  /// The response has the header `Connection: close`.
  case asAnnounced
  /// The client sent an invalid request body while the server wrote the response.
  case byInvalidRequest
}
