// The commit that the programs were built from.
#pragma once

/// The first eight digits of the commit. Empty if the build is not from a git repository, or does not set the commit
/// (docs/decisions/0132).
const char *cs_build_commit(void);
