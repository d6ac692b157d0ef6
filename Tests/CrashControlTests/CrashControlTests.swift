// Filled by the commit that follows.
