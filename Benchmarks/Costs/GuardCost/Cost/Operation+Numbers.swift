import CrashShieldGuards

extension Operation {
  /// The guards G14, G15 and G16 of docs/guards.md.
  static let numbers: [Operation] = [
    Operation("G14 a + b", .time) { input in
      var sum = 0
      for number in input.places { sum = sum + number }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.places { sum = sum.shieldedAdding(number) }
      return sum
    },
    Operation("G14 a += b", .time) { input in
      var sum = 0
      for number in input.places { sum += number }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.places { sum.shieldedAdd(number) }
      return sum
    },
    Operation("G14 a + b of two lists", .time) { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum ^= place + numbers[place] }
      return sum
    } guarded: { input in
      let numbers = input.numbers
      var sum = 0
      for place in input.places { sum ^= place.shieldedAdding(numbers[place]) }
      return sum
    },
    Operation("G14 a + b of Int32", .time) { input in
      var sum: Int32 = 0
      for number in input.words { sum ^= number + 1 }
      return Int(sum)
    } guarded: { input in
      var sum: Int32 = 0
      for number in input.words { sum ^= number.shieldedAdding(1) }
      return Int(sum)
    },
    Operation("G14 a - b") { input in
      var sum = 0
      for number in input.places { sum = sum - number }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.places { sum = sum.shieldedSubtracting(number) }
      return sum
    },
    Operation("G14 a * b") { input in
      var sum = 0
      for number in input.places { sum ^= number * 3 }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.places { sum ^= number.shieldedMultiplied(by: 3) }
      return sum
    },
    Operation("G14 a / b") { input in
      var sum = 0
      for (number, divisor) in input.pairs { sum &+= number / divisor }
      return sum
    } guarded: { input in
      var sum = 0
      for (number, divisor) in input.pairs { sum &+= number.shieldedDivided(by: divisor) }
      return sum
    },
    Operation("G14 a % b") { input in
      var sum = 0
      for (number, divisor) in input.pairs { sum &+= number % divisor }
      return sum
    } guarded: { input in
      var sum = 0
      for (number, divisor) in input.pairs { sum &+= number.shieldedRemainder(dividingBy: divisor) }
      return sum
    },
    Operation("G14 -a") { input in
      var sum = 0
      for number in input.places { sum ^= -number }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.places { sum ^= number.shieldedNegated() }
      return sum
    },
    Operation("G14 abs(a)") { input in
      var sum = 0
      for number in input.places { sum ^= abs(number) }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.places { sum ^= number.shieldedMagnitude() }
      return sum
    },
    Operation("G14 a.reduce(0, +)") { input in
      input.places.reduce(0, +)
    } guarded: { input in
      input.places.shieldedSum()
    },
    Operation("G15 UInt8(a)") { input in
      var sum: UInt8 = 0
      for number in input.places { sum ^= UInt8(number >> 3) }
      return Int(sum)
    } guarded: { input in
      var sum: UInt8 = 0
      for number in input.places { sum ^= UInt8(shielded: number >> 3) }
      return Int(sum)
    },
    Operation("G15 Int(a) of Double") { input in
      var sum = 0
      for number in input.doubles { sum &+= Int(number) }
      return sum
    } guarded: { input in
      var sum = 0
      for number in input.doubles { sum &+= Int(shielded: number) }
      return sum
    },
    Operation("G16 Int.random(in:)") { input in
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= Int.random(in: lower..<upper) < 0 ? 1 : 0 }
      return sum
    } guarded: { input in
      var sum = 0
      for (lower, upper) in input.pairs { sum &+= Int.shieldedRandom(in: lower..<upper, or: 0) < 0 ? 1 : 0 }
      return sum
    },
    Operation("G16 stride(from:to:by:)") { input in
      var sum = 0
      for place in input.places {
        for number in stride(from: 0, to: place & 7, by: (place & 1) + 1) { sum &+= number }
      }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places {
        for number in shieldedStride(from: 0, to: place & 7, by: (place & 1) + 1) { sum &+= number }
      }
      return sum
    },
  ]
}
