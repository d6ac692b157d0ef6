// The commit that the programs were built from.
#pragma once

/// The commit's first eight digits; empty outside of git, and in builds that do not say it (docs/decisions/0132).
const char *cs_build_commit(void);
