//! What several commands share: options, arguments that name sessions and files, output, and the
//! write itself.

pub(crate) mod after_move;
pub(crate) mod archived_session;
pub(crate) mod config;
pub(crate) mod entry_json;
pub(crate) mod exit;
pub(crate) mod file_args;
pub(crate) mod options;
pub(crate) mod parallel;
pub(crate) mod render;
pub(crate) mod rows;
pub(crate) mod scope;
pub(crate) mod session_arg;
pub(crate) mod stored_results;
pub(crate) mod summary_facts;
pub(crate) mod table;
pub(crate) mod template;
pub(crate) mod thread_arg;
pub(crate) mod time;
pub(crate) mod utf8_path;
pub(crate) mod verified;
pub(crate) mod words;
pub(crate) mod write;
pub(crate) mod write_json;
