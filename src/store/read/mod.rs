//! Reading session files: as a whole, from the end, at both ends, in parallel, only the lines that a
//! search wants, or only what was appended.

pub(crate) mod end;
pub(crate) mod ends;
pub(crate) mod growing;
pub(crate) mod parallel;
pub(crate) mod search;
pub(crate) mod tail;
pub(crate) mod whole;
