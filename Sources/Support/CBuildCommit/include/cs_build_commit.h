// The commit that the programs were built from.
#pragma once

/// The first eight digits of the commit. Empty outside git, and in builds that do not set it (docs/decisions/0132).
const char *cs_build_commit(void);
