//! The check of what an agent whose sessions are only read would send at HEAD: providers reject a call
//! without its result, and a result without its call.
//!
//! What the agent corrects itself is no finding: Codex, Copilot and OpenCode make up the results of
//! calls that have none, and Codex and Copilot leave out results that no call asked for. Gemini sends
//! both as they are.

use super::Finder;
use crate::context::{Context, Message, Patch};
use crate::format::{Block, Format};
use crate::fsck::table::Check;
use crate::model::Ix;
use std::collections::HashSet;
use std::io;

impl Finder<'_> {
    /// Checks the calls and results that an agent would send at HEAD, if its sessions are only read.
    pub(crate) fn guests(&mut self) -> io::Result<()> {
        let session = self.session;
        if !session.format.is_guest() || session.format.is_document() {
            // A document of OpenCode has each call with its result, in one part.
            return Ok(());
        }
        let context = Context::build(session, self.source, Context::position(session))?;
        let mut pairs = Pairs::new(session.format);
        let mut line = Vec::new();
        for message in context.sent() {
            let said = message.read(session, self.source, &mut line)?;
            pairs.add(message, &said.blocks);
        }
        pairs.close();
        for (entry, id, is_result) in pairs.broken {
            self.entry(Check::BrokenPair, entry, None, |_, _| {
                Ok(match is_result {
                    true => format!("the result of `{id}` is sent without its call before it"),
                    false => format!("the call `{id}` is sent without its result"),
                })
            })?;
        }
        Ok(())
    }
}

/// Calls and results in the order in which they are sent.
struct Pairs {
    /// Whether a result may come any number of messages after its call, and the agent makes sure that
    /// each call has one.
    is_loose: bool,
    /// Whether the same result may be sent again.
    repeats: bool,
    /// The calls that have no result yet.
    open: Vec<(Ix, String)>,
    answered: HashSet<String>,
    /// The entry of each call or result that is sent alone, its id, and whether it is a result.
    broken: Vec<(Ix, String, bool)>,
}

impl Pairs {
    fn new(format: Format) -> Pairs {
        Pairs {
            is_loose: format == Format::Codex,
            repeats: format.stores_again(),
            open: Vec::new(),
            answered: HashSet::new(),
            broken: Vec::new(),
        }
    }

    fn add(&mut self, message: &Message, blocks: &[Block<'_>]) {
        let entry = message.entry;
        for block in blocks {
            let Block::Result { call, .. } = block else { continue };
            match self.open.iter().position(|(_, id)| id == call) {
                Some(at) => {
                    let (_, id) = self.open.swap_remove(at);
                    self.answered.insert(id);
                }
                None if self.repeats && self.answered.contains(&**call) => {}
                None => self.broken.extend(entry.map(|entry| (entry, call.to_string(), true))),
            }
        }
        let has_others = blocks.iter().any(|block| matches!(block, Block::Text(_) | Block::Call { .. }));
        if has_others || blocks.is_empty() {
            self.close();
        }
        for block in blocks {
            if let (Block::Call { id, .. }, Some(entry)) = (block, entry) {
                self.open.push((entry, id.to_string()));
            }
        }
        for patch in &message.patches {
            if let Patch::ResultMadeUp { call, .. } = patch {
                self.open.retain(|(_, id)| id != call);
            }
        }
    }

    /// Ends the reply with the open calls: what comes next is not a result of it.
    fn close(&mut self) {
        if !self.is_loose {
            self.open.sort_by_key(|(entry, _)| *entry);
            self.broken.extend(self.open.drain(..).map(|(entry, id)| (entry, id, false)));
        }
    }
}
