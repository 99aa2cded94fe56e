//! Checks of a session, and repairs that prove themselves.
