//! What the verbs do, apart from how they are asked and shown: pure functions over a session and the
//! bytes of its lines. A verb that changes something gives a [`crate::model::Plan`].
