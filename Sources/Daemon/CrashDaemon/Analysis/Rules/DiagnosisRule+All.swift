extension DiagnosisRule {
  /// In the order in which they are asked: what was stated before what is inferred.
  static let all: [DiagnosisRule] =
    pages + danglingStated + stated + runtimes + cxxRuntime + wordless + dangling + memory + instructions
}
