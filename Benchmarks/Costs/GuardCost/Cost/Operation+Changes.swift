import CrashShieldGuards

extension Operation {
  /// The guards G3 to G6 of docs/guards.md: changes of lists, counts, and creation of collections.
  static let changes: [Operation] = [
    Operation("G3 a[i] = x") { input in
      var numbers = input.numbers
      for place in input.places { numbers[place] = place &+ 1 }
      return numbers[7]
    } guarded: { input in
      var numbers = input.numbers
      for place in input.places { numbers.shieldedReplace(at: place, with: place &+ 1) }
      return numbers[7]
    },
    Operation("G3 a[i] += 1") { input in
      var numbers = input.numbers
      for place in input.places { numbers[place] &+= 1 }
      return numbers[7]
    } guarded: { input in
      var numbers = input.numbers
      for place in input.places { numbers.shieldedUpdate(at: place) { $0 &+= 1 } }
      return numbers[7]
    },
    Operation("G3 a.swapAt(i, j)") { input in
      var numbers = input.numbers
      for place in input.places { numbers.swapAt(place, 1) }
      return numbers[7]
    } guarded: { input in
      var numbers = input.numbers
      for place in input.places { numbers.shieldedSwapAt(place, 1) }
      return numbers[7]
    },
    Operation("G3 a.insert(x, at: i)") { input in
      var rest: [Int] = []
      for place in input.places { rest.insert(place, at: rest.count) }
      return rest.count
    } guarded: { input in
      var rest: [Int] = []
      for place in input.places { rest.shieldedInsert(place, at: rest.count) }
      return rest.count
    },
    Operation("G3 a.remove(at: i)") { input in
      var rest = input.places
      var sum = 0
      for _ in 0..<rest.count { sum &+= rest.remove(at: rest.count - 1) }
      return sum
    } guarded: { input in
      var rest = input.places
      var sum = 0
      for _ in 0..<rest.count { sum &+= rest.shieldedRemove(at: rest.count - 1) ?? 0 }
      return sum
    },
    Operation("G3 a.removeFirst()") { input in
      var sum = 0
      for place in input.places {
        var rest = [place, 2, 3, 4]
        sum &+= opaque(rest.removeFirst()) &+ rest.count
      }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places {
        var rest = [place, 2, 3, 4]
        sum &+= opaque(rest.shieldedRemoveFirst() ?? 0) &+ rest.count
      }
      return sum
    },
    // The limit is an absolute number, because the compiler reduces the plain operation to very few instructions, so
    // that a ratio would be meaningless.
    Operation("G3 slice.removeFirst()", .atMost(30)) { input in
      var rest = input.places[...]
      var sum = 0
      for _ in 0..<input.turns { sum &+= rest.removeFirst() }
      return sum
    } guarded: { input in
      var rest = input.places[...]
      var sum = 0
      for _ in 0..<input.turns { sum &+= rest.shieldedRemoveFirst() ?? 0 }
      return sum
    },
    Operation("G3 a.removeFirst(n)") { input in
      var rest = input.places[...]
      var sum = 0
      for _ in 0..<input.turns / 4 {
        sum &+= Array(rest.prefix(4)).count
        rest.removeFirst(4)
      }
      return sum
    } guarded: { input in
      var rest = input.places[...]
      var sum = 0
      for _ in 0..<input.turns / 4 { sum &+= rest.shieldedRemoveFirst(4).count }
      return sum
    },
    Operation("G3 a.removeLast()") { input in
      var rest = input.places
      var sum = 0
      for _ in 0..<input.turns { sum &+= rest.removeLast() }
      return sum
    } guarded: { input in
      var rest = input.places
      var sum = 0
      for _ in 0..<input.turns { sum &+= rest.shieldedRemoveLast() ?? 0 }
      return sum
    },
    Operation("G3 a.replaceSubrange(i..<j, with: b)") { input in
      var numbers = input.numbers
      for place in input.places { numbers.replaceSubrange(place..<place + 1, with: CollectionOfOne(place)) }
      return numbers[7]
    } guarded: { input in
      var numbers = input.numbers
      for place in input.places { numbers.shieldedReplaceSubrange(place..<place + 1, with: CollectionOfOne(place)) }
      return numbers[7]
    },
    Operation("G4 Array(repeating: x, count: n)") { input in
      var sum = 0
      for place in input.places { sum &+= Array(repeating: place, count: place & 7).count }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places { sum &+= Array(shieldedRepeating: place, count: place & 7).count }
      return sum
    },
    Operation("G4 a.reserveCapacity(n)") { input in
      var rest: [Int] = []
      for place in input.places { rest.reserveCapacity(place) }
      return rest.count
    } guarded: { input in
      var rest: [Int] = []
      for place in input.places { rest.shieldedReserveCapacity(place, limit: 10_000) }
      return rest.count
    },
    Operation("G4 a.prefix(n)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.prefix(place).count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.shieldedPrefix(place).count }
      return sum
    },
    Operation("G4 a.dropFirst(n)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.dropFirst(place).count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.shieldedDropFirst(place).count }
      return sum
    },
    Operation("G4 a.suffix(n)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.suffix(place).count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.shieldedSuffix(place).count }
      return sum
    },
    Operation("G4 a.dropLast(n)") { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.dropLast(place).count }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum &+= numbers.shieldedDropLast(place).count }
      return sum
    },
    Operation("G5 Dictionary(uniqueKeysWithValues:)") { input in
      Dictionary(uniqueKeysWithValues: (0..<input.turns).lazy.map { ($0, $0) }).count
    } guarded: { input in
      Dictionary(shieldedUniqueKeysWithValues: (0..<input.turns).lazy.map { ($0, $0) }).count
    },
    Operation("G6 Array(a.compactMap { $0 })") { input in
      let optionals = input.optionals
      return Array(optionals.compactMap { $0 }).count
    } guarded: { input in
      let optionals = input.optionals
      return Array(shielded: optionals).count
    },
    Operation("G6 dictionary of what is there") { input in
      let pairs = input.optionalPairs
      var found: [Int: Int] = [:]
      found.reserveCapacity(pairs.count)
      for case (let key?, let value?) in pairs { found[key] = value }
      return found.count
    } guarded: { input in
      Dictionary(shielded: input.optionalPairs).count
    },
  ]
}
