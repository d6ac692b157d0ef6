// A Swift program that does not link the shield. scripts/check/preload builds it with a static Swift library.
@inline(never) func price(_ prices: [Int], at index: Int) -> Int { prices[index] }

if CommandLine.arguments.last == "empty" { fatalError("the price list is empty") }
print(price([1], at: CommandLine.arguments.count + 3))
