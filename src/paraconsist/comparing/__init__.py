"""When two answers are the same: a registry of comparers, and classes of the answers of a bucket."""
