// Successful casts of all kinds of types. Each result must be the same with and without the hook of CrashShieldCasts.
// swift-format-ignore-file: NeverForceUnwrap
import Foundation

/// Returns the result of each cast as a string.
public func castsThatWork() -> [String] {
  values() + optionals() + existentials() + collections() + foundations() + functions() + conditional()
}

private func values() -> [String] {
  [
    "\(opaque(7 as Any) as! Int)", "\(opaque("a" as Any) as! String)", "\(opaque(2.5 as Any) as! Double)",
    "\(opaque(Point() as Any) as! Point)", "\(opaque((1, "b") as Any) as! (Int, String))",
    "\(opaque(Derived() as Any) as! Derived)", "\((opaque(Derived() as Any) as! Counted) is Derived)",
    "\(opaque(Derived() as AnyObject) as! Derived)", "\(opaque(Counted() as Any) as! Counted is Derived)",
    "\(opaque(ShopError.there(3) as any Error) as! ShopError)", "\(opaque(Box(value: 1) as Any) as! Box<Int>)",
    "\(generic(opaque(7), to: Int.self))", "\(generic(opaque(Point()), to: (any Encodable).self))",
    "\(generic(opaque("x"), to: Any.self))", "\(generic(opaque(Int?.some(3)), to: Int.self))",
  ]
}

private func optionals() -> [String] {
  let nested: Int?? = .some(nil)
  return [
    "\(String(describing: opaque(Int?.some(3) as Any) as! Int?))", "\(opaque(Int?.some(3) as Any) as! Int)",
    "\(String(describing: opaque(Int?.none as Any) as! Int?))",
    "\(String(describing: opaque(nested as Any) as! Int??))", "\(String(describing: opaque(nested as Any) as! Int?))",
    "\(String(describing: opaque(7 as Any) as! Int??))", "\(String(describing: opaque(Int?.none) as Any))",
    "\(String(describing: generic(opaque(Int?.none), to: Int?.self)))",
    "\(String(describing: generic(opaque(Int?.none), to: String?.self)))",
  ]
}

private func existentials() -> [String] {
  let named = opaque(Box(value: 2.5) as Any) as! any Named
  let sized = opaque(Box(value: "s") as Any) as! any Sized<Int>
  let hashable = opaque(Point() as Any) as! AnyHashable
  let both = opaque(Derived() as Any) as! any Named & CustomStringConvertible
  let object = opaque(Derived() as Any) as! any Counted & Named
  return [
    named.name, "\(sized.size)", "\(hashable == AnyHashable(Point()))", "\(both.name) \(both)", object.name,
    "\(opaque(hashable as Any) as! Point)", "\(opaque(AnyHashable(Int8(3)) as Any) as! Int8)",
    "\(opaque(AnyHashable("k")) as! String)", "\((opaque(ShopError.here as Any) as! any Error) as! ShopError)",
    "\(opaque(Int.self as Any) as! Int.Type)", "\(opaque(Derived.self as Any) as! Counted.Type)",
    "\(opaque(Box<Int>.self as Any) as! any Named.Type)", "\(opaque(Derived.self as Any.Type) as! AnyClass)",
    "\(opaque(7 as any Sendable) as! any Hashable)", "\(opaque(7 as any BinaryInteger) as! Int)",
    "\(opaque([1] as any Collection) as! [Int])",
  ]
}

private func collections() -> [String] {
  let names: [AnyHashable: Any] = ["a": 1, "b": 2]
  let few = opaque(Set<AnyHashable>([1, 2])) as! Set<Int>
  return [
    "\(opaque([1, 2] as [Any]) as! [Int])", "\(opaque([1, "b"] as Any) as! [Any])",
    "\(opaque(["a": 1] as [String: Any]) as! [String: Int])",
    "\((opaque(names) as! [String: Int]).sorted { $0.key < $1.key })",
    "\(few.sorted())", "\((opaque([Derived()] as Any) as! [Counted]).count)",
    "\((opaque([Derived()] as [Counted]) as! [Derived]).count)", "\(opaque([[1], [2]] as Any) as! [[Int]])",
    "\(opaque([1, nil] as Any) as! [Int?])", "\(opaque([Int]() as Any) as! [String])",
    "\(opaque([1, 2][...] as Any) as! ArraySlice<Int>)",
    "\(opaque(ContiguousArray([1]) as Any) as! ContiguousArray<Int>)",
    "\((opaque([Point()] as Any) as! [any Hashable]).count)", "\(opaque([String: Int]() as Any) as! [Int: String])",
  ]
}

private func foundations() -> [String] {
  let list = opaque(reply("list")) as! [Any]
  return [
    "\(opaque(reply("number")) as! Int)", "\(opaque(reply("number")) as! Double)",
    "\(opaque(reply("number")) as! NSNumber)",
    "\(opaque(reply("truth")) as! Bool)", "\(opaque(reply("text")) as! String)", "\(opaque(reply("null")) as! NSNull)",
    "\(list.count)", "\(opaque("a" as Any) as! NSString)", "\(opaque([1, 2] as Any) as! NSArray)",
    "\(opaque(["a": 1] as Any) as! NSDictionary)", "\(opaque(NSArray(array: [1, 2]) as Any) as! [Int])",
    "\(opaque(NSString(string: "n") as Any) as! String)", "\(opaque(5 as Any) as! NSNumber)",
    "\(opaque(Date(timeIntervalSince1970: 0) as Any) as! NSDate)", "\(opaque(NSNumber(value: 3) as Any) as! UInt8)",
    "\(opaque(URL(fileURLWithPath: "/a") as Any) as! URL)", "\(opaque(Data([1]) as Any) as! NSData)",
    "\((opaque(NSError(domain: "d", code: 4) as Any) as! any Error)._code)",
  ]
}

private func functions() -> [String] {
  let path = opaque(\Point.y as AnyKeyPath) as! KeyPath<Point, Double>
  let writable = opaque(\Point.y as Any) as! WritableKeyPath<Point, Double>
  let twice = opaque({ (number: Int) in number * 2 } as Any) as! (Int) -> Int
  var point = Point()
  point[keyPath: writable] = 9
  return ["\(Point()[keyPath: path])", "\(point.y)", "\(twice(4))"]
}

private func conditional() -> [String] {
  let number = opaque(reply("number"))
  return [
    "\(String(describing: number as? String))", "\(String(describing: reply("null") as? Int))",
    "\(String(describing: reply("text") as? Int))", "\(String(describing: opaque(Point() as Any) as? any Named))",
    "\(String(describing: opaque(Counted() as Any) as? Derived))", "\(String(describing: reply("list") as? [Int]))",
    "\(String(describing: opaque(Int?.none as Any) as? Int))", "\(opaque(7 as Any) is String)",
    "\(String(describing: opaque(NSNumber(value: 3.5) as Any) as? Int))", "\(caught())",
  ]
}

private func caught() -> String {
  do { throw opaque(ShopError.there(1) as any Error) } catch let error as OtherError {
    return "\(error)"
  } catch ShopError.there(let number) { return "there \(number)" } catch { return "\(error)" }
}

@inline(never)
private func generic<Value, Target>(_ value: Value, to: Target.Type) -> Target { value as! Target }
