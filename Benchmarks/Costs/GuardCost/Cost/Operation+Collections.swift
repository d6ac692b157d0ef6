import CrashShieldGuards

extension Operation {
  /// The guard G1 of docs/guards.md, for elements.
  static let index: [Operation] = [
    Operation("G1 a[i], default", .time) { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[place] }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[shielded: place, default: 0] }
      return sum
    },
    Operation("G1 a[i], default, in order", .time) { input in
      let numbers = input.places
      var sum = 0
      for place in 0..<numbers.count { sum &+= numbers[place] }
      return sum
    } guarded: { input in
      let numbers = input.places
      var sum = 0
      for place in 0..<numbers.count { sum &+= numbers[shielded: place, default: 0] }
      return sum
    },
    Operation("G1 a[i], optional", .time) { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[place] }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places {
        guard let number = numbers[shielded: place] else { break }
        sum &+= number
      }
      return sum
    },
    Operation("G1 a[i] of texts that are kept, default", .time) { input in
      let texts = input.texts
      var found: [String] = []
      for place in input.places { found.append(texts[place]) }
      return found.count
    } guarded: { input in
      let texts = input.texts
      var found: [String] = []
      for place in input.places { found.append(texts[shielded: place, default: ""]) }
      return found.count
    },
    Operation("G1 a[i] of texts that are kept, optional", .time) { input in
      let texts = input.texts
      var found: [String] = []
      for place in input.places { found.append(texts[place]) }
      return found.count
    } guarded: { input in
      let texts = input.texts
      var found: [String] = []
      for place in input.places {
        guard let text = texts[shielded: place] else { break }
        found.append(text)
      }
      return found.count
    },
    // The limit is higher than three times the plain operation's cost, because the guard retains a string or a row that
    // the plain operation only reads.
    Operation("G1 a[i] of texts, default", .looked) { input in
      let texts = input.texts
      var sum = 0
      for place in input.places { sum &+= texts[place].utf8.count }
      return sum
    } guarded: { input in
      let texts = input.texts
      var sum = 0
      for place in input.places { sum &+= texts[shielded: place, default: ""].utf8.count }
      return sum
    },
    Operation("G1 a[i] of texts, default, in order", .looked) { input in
      let texts = input.texts
      var sum = 0
      for place in 0..<texts.count { sum &+= texts[place].utf8.count }
      return sum
    } guarded: { input in
      let texts = input.texts
      var sum = 0
      for place in 0..<texts.count { sum &+= texts[shielded: place, default: ""].utf8.count }
      return sum
    },
    Operation("G1 a[i] of a slice, default", .timed) { input in
      let numbers = input.numbers.dropFirst(0)
      var sum = 0
      for place in input.places { sum &+= numbers[place] }
      return sum
    } guarded: { input in
      let numbers = input.numbers.dropFirst(0)
      var sum = 0
      for place in input.places { sum &+= numbers[shielded: place, default: 0] }
      return sum
    },
    Operation("G1 a[i][j], default", .looked) { input in
      let rows = opaque([input.numbers, input.numbers])
      var sum = 0
      for place in input.places { sum &+= rows[place & 1][place] }
      return sum
    } guarded: { input in
      let rows = opaque([input.numbers, input.numbers])
      var sum = 0
      for place in input.places { sum &+= rows[shielded: place & 1, default: []][shielded: place, default: 0] }
      return sum
    },
    Operation("G1 text[i]") { input in
      let text = input.texts.joined()
      var sum = 0
      for place in text.indices { sum &+= text[place].utf8.count }
      return sum
    } guarded: { input in
      let text = input.texts.joined()
      var sum = 0
      for place in text.indices { sum &+= text[shielded: place]?.utf8.count ?? 0 }
      return sum
    },
    Operation("G1 text.utf8[i]") { input in
      let bytes = input.texts.joined().utf8
      var sum = 0
      for place in bytes.indices { sum &+= Int(bytes[place]) }
      return sum
    } guarded: { input in
      let bytes = input.texts.joined().utf8
      var sum = 0
      for place in bytes.indices { sum &+= Int(bytes[shielded: place, default: 0]) }
      return sum
    },
  ]

  /// The guard G1 of docs/guards.md, for positions in collections.
  static let positions: [Operation] = [
    Operation("G1 a.index(after:)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[numbers.index(after: place)] }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[numbers.shieldedIndex(after: place)] }
      return sum
    },
    Operation("G1 a.index(before:)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[numbers.index(before: place + 1)] }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[numbers.shieldedIndex(before: place + 1)] }
      return sum
    },
    Operation("G1 a.index(_:offsetBy:)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[numbers.index(place, offsetBy: 3)] }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[numbers.shieldedIndex(place, offsetBy: 3)] }
      return sum
    },
    Operation("G1 a.formIndex(after:)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places {
        var place = place
        numbers.formIndex(after: &place)
        sum &+= numbers[place]
      }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places {
        var place = place
        numbers.shieldedFormIndex(after: &place)
        sum &+= numbers[place]
      }
      return sum
    },
    Operation("G1 text.index(after:)") { input in
      let text = input.texts.joined()
      var place = text.startIndex
      for _ in 0..<input.turns { place = text.index(after: place) }
      return place.utf16Offset(in: text)
    } guarded: { input in
      let text = input.texts.joined()
      var place = text.startIndex
      for _ in 0..<input.turns { place = text.shieldedIndex(after: place) }
      return place.utf16Offset(in: text)
    },
    Operation("G1 text.index(_:offsetBy:)") { input in
      let text = input.texts.joined()
      var sum = 0
      for _ in 0..<input.turns { sum &+= text.index(text.startIndex, offsetBy: 3).utf16Offset(in: text) }
      return sum
    } guarded: { input in
      let text = input.texts.joined()
      var sum = 0
      for _ in 0..<input.turns { sum &+= text.shieldedIndex(text.startIndex, offsetBy: 3).utf16Offset(in: text) }
      return sum
    },
  ]

  /// The guard G2 of docs/guards.md.
  static let ranges: [Operation] = [
    // The limit is higher than three times the plain operation's cost, because the guard retains a slice that the plain
    // operation only reads.
    Operation("G2 a[i..<j]", .looked) { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[lower..<upper].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[shielded: lower..<upper].count }
      return sum
    },
    Operation("G2 a[i...j]", .looked) { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[lower...upper].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[shielded: lower...upper].count }
      return sum
    },
    Operation("G2 a[i...]") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[place...].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[shielded: place...].count }
      return sum
    },
    Operation("G2 a[..<j]") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[..<place].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[shielded: ..<place].count }
      return sum
    },
    Operation("G2 a[...j]") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[...place].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers[shielded: ...place].count }
      return sum
    },
    Operation("G2 a[i..<j], bounds") { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[lower..<upper].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[shieldedBounds: lower, upper].count }
      return sum
    },
    Operation("G2 a[i..<j] that is kept, exactly") { input in
      let numbers = input.numbers
      var found: [ArraySlice<Int>] = []
      for (lower, upper) in input.pairs { found.append(numbers[lower..<upper]) }
      return found.count
    } guarded: { input in
      let numbers = input.numbers
      var found: [ArraySlice<Int>] = []
      for (lower, upper) in input.pairs {
        guard let part = numbers.shieldedExactly(lower..<upper) else { break }
        found.append(part)
      }
      return found.count
    },
    Operation("G2 a[i..<j], exactly", .looked) { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers[lower..<upper].count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= numbers.shieldedExactly(lower..<upper)?.count ?? 0 }
      return sum
    },
    Operation("G2 text[i..<j]") { input in
      let text = opaque("the text of a line")
      let end = text.index(text.startIndex, offsetBy: 8)
      var sum = 0
      for _ in 0..<input.turns { sum &+= text[text.startIndex..<end].utf8.count }
      return sum
    } guarded: { input in
      let text = opaque("the text of a line")
      let end = text.index(text.startIndex, offsetBy: 8)
      var sum = 0
      for _ in 0..<input.turns { sum &+= text[shielded: text.startIndex..<end].utf8.count }
      return sum
    },
    Operation("G2 i..<j") { input in
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= (lower..<upper).count }
      return sum
    } guarded: { input in
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= Range(shieldedBounds: lower, upper).count }
      return sum
    },
    Operation("G2 i...j") { input in
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= (lower...upper).count }
      return sum
    } guarded: { input in
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= ClosedRange(shieldedBounds: lower, upper)?.count ?? 0 }
      return sum
    },
  ]
}
