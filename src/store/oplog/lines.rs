//! The format of the operation log: its lines, and how they spell paths.

use super::{Operation, Progress, State, Step};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::path::PathBuf;

/// A line of the log.
#[derive(Serialize, Deserialize)]
#[serde(tag = "schema")]
pub(crate) enum Line<'a> {
    /// A complete operation, as older versions wrote it: the last line of an operation counts.
    #[serde(rename = "bough.op/1")]
    Whole(Cow<'a, Operation>),
    /// An operation begins.
    #[serde(rename = "bough.op/2")]
    Begun(Cow<'a, Operation>),
    /// A step follows. A later line with the same number replaces the step; one without a step
    /// removes it.
    #[serde(rename = "bough.log-step/1")]
    Step {
        op_id: Cow<'a, str>,
        at: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<Cow<'a, Step>>,
    },
    /// Files may be left in a folder if the program is killed now.
    #[serde(rename = "bough.log-folder/1")]
    Folder {
        op_id: Cow<'a, str>,
        #[serde(with = "path")]
        folder: PathBuf,
    },
    /// An operation ended.
    #[serde(rename = "bough.log-end/1")]
    Ended {
        op_id: Cow<'a, str>,
        state: Progress,
        /// The file after the last step, if the step does not contain it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Cow<'a, State>>,
    },
}

impl Line<'_> {
    /// Returns the id of the operation.
    pub(super) fn op_id(&self) -> &str {
        match self {
            Line::Whole(operation) | Line::Begun(operation) => &operation.op_id,
            Line::Step { op_id, .. } | Line::Folder { op_id, .. } | Line::Ended { op_id, .. } => op_id,
        }
    }
}

/// A path as a JSON string. A path that is not UTF-8 is spelled as a NUL, which no path contains,
/// followed by its bytes as hex digits.
pub(in crate::store) mod path {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    pub(in crate::store) fn text_of(path: &Path) -> String {
        match path.to_str() {
            Some(text) => text.to_owned(),
            None => format!("\0{}", super::super::hex(path.as_os_str().as_bytes())),
        }
    }

    pub(in crate::store) fn path_of(text: String) -> PathBuf {
        let bytes = text.strip_prefix('\0').and_then(|digits| {
            let pairs = digits.as_bytes().chunks(2);
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            pairs.map(byte).collect::<Option<Vec<u8>>>()
        });
        bytes.map_or_else(|| text.into(), |bytes| OsString::from_vec(bytes).into())
    }

    pub(in crate::store) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text_of(path))
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        String::deserialize(from).map(path_of)
    }
}

/// The same for several paths.
pub(super) mod paths {
    use super::path;
    use serde::{Deserialize, Deserializer, Serializer};
    use std::path::PathBuf;

    pub(in crate::store) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|each| path::text_of(each)))
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<String>::deserialize(from)?.into_iter().map(path::path_of).collect())
    }
}

/// The same for a path that may be missing.
pub(super) mod maybe_path {
    use super::path;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::path::PathBuf;

    pub(in crate::store) fn serialize<S: Serializer>(it: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        it.as_ref().map(|it| path::text_of(it)).serialize(to)
    }

    pub(in crate::store) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(path::path_of))
    }
}
