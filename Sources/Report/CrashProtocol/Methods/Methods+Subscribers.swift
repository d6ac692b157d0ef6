// Defines the methods for events and their named subscribers.
extension Methods {
  static let ofSubscribers: [any Method.Type] = [
    Subscribe.self, Ack.self, Cursor.self, Subscribers.self, Unsubscribe.self,
  ]

  package enum Subscribe: Method {
    package struct Own: Codable, Sendable {
      package var cursor: String?
      package var subscriber: String?
      package var expired: Bool?

      package init(cursor: String? = nil, subscriber: String? = nil, expired: Bool? = nil) {
        (self.cursor, self.subscriber, self.expired) = (cursor, subscriber, expired)
      }
    }

    package typealias Parameters = Joined<Own, ReportFilter>
    package typealias Reply = SubscribeReply<ReceivedReport>
    package typealias Sent = SubscribeReply<JSONFragment>
  }

  package enum Ack: Method {
    package struct Parameters: Codable, Sendable {
      package var subscriber: String
      package var cursor: String
      package var uid: Int?

      package init(subscriber: String, cursor: String, uid: Int? = nil) {
        (self.subscriber, self.cursor, self.uid) = (subscriber, cursor, uid)
      }
    }

    package struct Reply: Codable, Sendable {
      package var cursor: String

      package init(cursor: String) { self.cursor = cursor }
    }
  }

  package enum Cursor: Method {
    package typealias Parameters = SubscriberName
    package struct Reply: Codable, Sendable {
      package var cursor: String

      package init(cursor: String) { self.cursor = cursor }
    }
  }

  package enum Subscribers: Method {
    package typealias Parameters = NoParameters
    package struct Reply: Codable, Sendable {
      package var subscribers: [Subscriber]

      package init(subscribers: [Subscriber]) { self.subscribers = subscribers }
    }
  }

  package enum Unsubscribe: Method {
    package typealias Parameters = SubscriberName
    package typealias Reply = NoParameters
  }
}
