// Crashes in a request while other requests are in flight.
internal import CrashShield
internal import Dispatch

extension CrashRun {
  /// The identifier of the request that crashes.
  public static let requestID = "7F3A"
  /// The trace of the request that crashes.
  public static let traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
  /// The span of the request that crashes.
  public static let spanID = "00f067aa0ba902b7"

  /// The fault of the scenario, which runs in a request if `request` is set.
  var fault: Scenario.Fault {
    guard let request else { return scenario.fault }
    return switch scenario.fault {
    case .synchronous(let fault):
      .synchronous {
        Shield.withRequest(
          request, id: Self.requestID, traceID: Self.traceID, spanID: Self.spanID, tags: ["customer": "17"]
        ) { fault() }
      }
    case .asynchronous(let fault):
      .asynchronous {
        await Shield.withRequest(
          request, id: Self.requestID, traceID: Self.traceID, spanID: Self.spanID, tags: ["customer": "17"]
        ) { await fault() }
      }
    case .status: scenario.fault
    }
  }

  /// Serves the requests that end before the crash, and begins the other requests, which never end.
  func beginOtherRequests() {
    for number in 0..<servedRequestCount { Shield.withRequest("GET /served/:id", id: "\(number)") {} }
    let begun = DispatchSemaphore(value: 0)
    for number in 0..<otherRequestCount {
      Task.detached {
        await Shield.withRequest("GET /other/:id", id: "\(number)") {
          begun.signal()
          while true { try? await Task.sleep(for: .seconds(3_600)) }
        }
      }
    }
    for _ in 0..<otherRequestCount { begun.wait() }
  }
}
