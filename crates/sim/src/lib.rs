//! A simulator of many cores that runs the very scheduler that production runs.
