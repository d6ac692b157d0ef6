// This file disables the lint rules below, because it compares the guards with the plain operations that these rules
// forbid.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry
import CrashShield
import CrashShieldGuards

protocol Sized {
  var size: Int { get }
}

extension Int: Sized {
  var size: Int { self }
}

struct Failed: Error {}

extension Operation {
  /// The guard G7 of docs/guards.md.
  static let values: [Operation] = [
    Operation("G7 x!, default", .time) { input in
      let optionals = input.optionals
      var sum = 0
      for place in input.places { sum &+= optionals[place]! }
      return sum
    } guarded: { input in
      let optionals = input.optionals
      var sum = 0
      for place in input.places { sum &+= optionals[place].shielded(or: 0) }
      return sum
    },
    Operation("G7 x!, default, in order", .time) { input in
      var sum = 0
      for value in input.optionals { sum &+= value! }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.optionals { sum &+= value.shielded(or: 0) }
      return sum
    },
    Operation("G7 x! of texts that are kept, default, in order", .time) { input in
      var texts: [String] = []
      for value in input.optionalTexts { texts.append(value!) }
      return texts.count
    } guarded: { input in
      var texts: [String] = []
      for value in input.optionalTexts { texts.append(value.shielded(or: "")) }
      return texts.count
    },
    // The limit is higher than three times the plain operation's cost, because the guard retains a string that the
    // plain operation only reads.
    Operation("G7 x! of texts, default, in order", .looked) { input in
      var sum = 0
      for value in input.optionalTexts { sum &+= value!.utf8.count }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.optionalTexts { sum &+= value.shielded(or: "").utf8.count }
      return sum
    },
    Operation("G7 x! of objects, default, in order", .timed) { input in
      let other = Dog(1)
      var sum = 0
      for dog in input.dogs { sum &+= dog!.age }
      return sum &+ other.age
    } guarded: { input in
      let other = Dog(1)
      var sum = 0
      for dog in input.dogs { sum &+= dog.shielded(or: other).age }
      return sum &+ other.age
    },
    Operation("G7 x!, guard let", .time) { input in
      var sum = 0
      for value in input.optionals { sum &+= value! }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.optionals {
        guard let value = value.shielded() else { break }
        sum &+= value
      }
      return sum
    },
    Operation("G7 x!, throwing", .time) { input in
      var sum = 0
      for value in input.optionals { sum &+= value! }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.optionals { sum &+= try value.shieldedUnwrap() }
      return sum
    },
  ]

  /// The guard G8 of docs/guards.md.
  static let casts: [Operation] = [
    Operation("G8 x as! Int, default", .time) { input in
      var sum = 0
      for value in input.anyNumbers { sum &+= value as! Int }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.anyNumbers { sum &+= Shield.cast(value, orDefault: Int.self) }
      return sum
    },
    Operation("G8 x as! Int, optional", .time) { input in
      var sum = 0
      for value in input.anyNumbers { sum &+= value as! Int }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.anyNumbers { sum &+= Shield.cast(value, to: Int.self) ?? 0 }
      return sum
    },
    Operation("G8 x as! String, default", .time) { input in
      var sum = 0
      for value in input.anyTexts { sum &+= (value as! String).utf8.count }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.anyTexts { sum &+= Shield.cast(value, orDefault: String.self).utf8.count }
      return sum
    },
    Operation("G8 x as! structure", .time) { input in
      var sum = 0
      for value in input.anyPoints { sum &+= (value as! Point).x }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.anyPoints { sum &+= Shield.cast(value, to: Point.self)?.x ?? 0 }
      return sum
    },
    Operation("G8 Any as! class", .time) { input in
      var sum = 0
      for value in input.anyDogs { sum &+= (value as! Dog).age }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.anyDogs { sum &+= Shield.cast(value, to: Dog.self)?.age ?? 0 }
      return sum
    },
    // The limit is higher than three times the plain operation's cost, because the plain operation only compares two
    // pointers. The guard also retains and releases the object.
    Operation("G8 class as! its subclass", .looked) { input in
      var sum = 0
      for value in input.animals { sum &+= (value as! Dog).age }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.animals { sum &+= Shield.cast(value, to: Dog.self)?.age ?? 0 }
      return sum
    },
    Operation("G8 x as! any protocol", .timed) { input in
      var sum = 0
      for value in input.anyNumbers { sum &+= (value as! any Sized).size }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.anyNumbers { sum &+= Shield.cast(value, to: (any Sized).self)?.size ?? 0 }
      return sum
    },
    Operation("G8 optional x as! Int, default", .time) { input in
      var sum = 0
      for value in input.optionalAnyNumbers { sum &+= value as! Int }
      return sum
    } guarded: { input in
      var sum = 0
      for value in input.optionalAnyNumbers { sum &+= Shield.cast(value, orDefault: Int.self) }
      return sum
    },
  ]

  /// The guards G17, G18, G19 and G20 of docs/guards.md.
  static let checks: [Operation] = [
    Operation("G17 try! f(), or") { input in
      var sum = 0
      for place in input.places { sum &+= try! halved(place) }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places { sum &+= try Shield.attempt(or: 0) { try halved(place) } }
      return sum
    },
    Operation("G17 try! f(), orAlways") { input in
      var sum = 0
      for place in input.places { sum &+= try! halved(place) }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places { sum &+= Shield.attempt(orAlways: 0) { try halved(place) } }
      return sum
    },
    Operation("G18 precondition(c)") { input in
      var sum = 0
      for place in input.places {
        precondition(place < 5000, "a place")
        sum &+= place
      }
      return sum
    } guarded: { input in
      var sum = 0
      for place in input.places {
        guard Shield.check(place < 5000, "a place") else { break }
        sum &+= place
      }
      return sum
    },
    // The limit is an absolute number, because the guard loads a weak reference, which calls the runtime.
    Operation("G19 unowned", .atMost(250)) { input in
      let dog = Owned(1)
      unowned let reference = opaque(dog)
      var sum = 0
      for _ in 0..<input.turns { sum &+= reference.number }
      return sum &+ dog.number
    } guarded: { input in
      let dog = Owned(1)
      let reference = ShieldedUnowned(dog)
      var sum = 0
      for _ in 0..<input.turns { sum &+= reference.with(or: 0) { $0.number } }
      return sum &+ dog.number
    },
    // The limit is an absolute number, because the guard uses a lock and a table.
    Operation("G20 context pointer", .atMost(600)) { input in
      let dog = Owned(1)
      let context = opaque(Unmanaged.passUnretained(dog).toOpaque())
      var sum = 0
      for _ in 0..<input.turns { sum &+= Unmanaged<Owned>.fromOpaque(context).takeUnretainedValue().number }
      return sum &+ dog.number
    } guarded: { input in
      let dog = Owned(1)
      let handle = ShieldHandle(dog)
      let context = opaque(handle.context)
      var sum = 0
      for _ in 0..<input.turns { sum &+= ShieldHandle.resolve(context, as: Owned.self)?.number ?? 0 }
      return sum &+ dog.number &+ (handle.context == nil ? 1 : 0)
    },
  ]

  /// The guard G30 of docs/guards.md.
  static let memory: [Operation] = [
    // The limit is an absolute number, because the plain operation does not check bounds in an optimized program.
    Operation("G30 buffer.load", .atMost(20)) { input in
      input.numbers.withUnsafeBytes { bytes in
        var sum = 0
        for place in input.places { sum &+= bytes.loadUnaligned(fromByteOffset: place, as: Int.self) }
        return sum
      }
    } guarded: { input in
      input.numbers.withUnsafeBytes { bytes in
        var sum = 0
        for place in input.places { sum &+= bytes.shieldedLoad(fromByteOffset: place, as: Int.self) ?? 0 }
        return sum
      }
    },
    Operation("G30 Array(buffer)") { input in
      input.numbers.withUnsafeBufferPointer { buffer in
        let buffer = opaque(UnsafeBufferPointer(rebasing: buffer[0..<8]))
        var sum = 0
        for _ in 0..<input.turns { sum &+= Array(buffer).count }
        return sum
      }
    } guarded: { input in
      input.numbers.withUnsafeBufferPointer { buffer in
        let buffer = opaque(UnsafeBufferPointer(rebasing: buffer[0..<8]))
        var sum = 0
        for _ in 0..<input.turns { sum &+= Array(shielded: buffer).count }
        return sum
      }
    },
  ]
}

final class Owned: Sendable {
  let number: Int
  init(_ number: Int) { self.number = number }
}

@inline(never)
private func halved(_ number: Int) throws -> Int {
  if number < 0 { throw Failed() }
  return number / 2
}
