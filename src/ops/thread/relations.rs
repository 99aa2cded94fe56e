//! How the sessions of a project are related.

use super::Reading;
use super::line_facts::{Look, forked_from};
use super::text::on_object;
use crate::format::{Layout, OtherKind, Session};
use crate::model::{Ix, Key, Source};
use std::collections::HashMap;
use std::io;

/// How a session came from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// It continues from an entry of the other, whose entries it may repeat.
    Continues,
    /// It claims to be a fork: a copy of the other conversation, continued.
    Forks,
    /// The other session says that it continues in this one.
    TakesOver,
}

impl How {
    /// Returns the name of the relation.
    pub fn name(self) -> &'static str {
        match self {
            How::Continues => "continues",
            How::Forks => "forks",
            How::TakesOver => "takes over",
        }
    }
}

/// The origin of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The other session's main file.
    pub file: u16,
    /// The relation.
    pub how: How,
    /// The entry of the other at which this one leaves it, if known.
    pub at: Option<Ix>,
}

/// A session among others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kin {
    /// Its main file.
    pub file: u16,
    /// Its origin; `None` if it began by itself.
    pub origin: Option<Origin>,
    /// How many of its entries are in older sessions, too.
    pub repeated: u32,
}

/// Returns the origin of each session of a layout. No session comes from itself, directly or
/// through others.
pub fn family(
    session: &Session,
    source: &dyn Source,
    layout: &Layout,
    reading: &Reading,
) -> io::Result<Vec<Kin>> {
    let look = Look::new(session, source);
    let entries = &session.entries;
    let names: HashMap<&str, u16> =
        (0..layout.mains).map(|file| (layout.files[file].stem(), file as u16)).collect();
    let mut kin: Vec<Kin> =
        (0..layout.mains as u16).map(|file| Kin { file, origin: None, repeated: 0 }).collect();
    for (file, count, _) in &reading.repeats {
        if let Some(kin) = kin.get_mut(usize::from(*file)) {
            kin.repeated = *count;
        }
    }
    // Strands of one file that are attached to another file.
    for strand in &reading.strands {
        if let Some((_, at)) = strand.above
            && let Some(kin) = kin.get_mut(usize::from(strand.file)).filter(|kin| kin.origin.is_none())
        {
            let file = entries.file(at);
            if file != strand.file && usize::from(file) < layout.mains {
                kin.origin = Some(Origin { file, how: How::Continues, at: Some(at) });
            }
        }
    }
    for (file, _, other) in &reading.repeats {
        if let Some(kin) = kin.get_mut(usize::from(*file))
            && kin.origin.is_none()
            && usize::from(*other) < layout.mains
        {
            // All its entries belong to the other: it leaves that one where it ends.
            let last = entries.of_file(*file).rev().find(|ix| reading.strand_of(Ix(*ix)).is_none());
            let at = last.map(|ix| reading.stand_in(Ix(ix)));
            kin.origin = Some(Origin { file: *other, how: How::Continues, at });
        }
    }
    let mut unknown: HashMap<Key, Vec<u16>> = HashMap::new();
    for kin in &mut kin {
        let Some(first) = entries.of_file(kin.file).next() else { continue };
        let Some((other, _)) = look.line(Ix(first), forked_from)? else { continue };
        if let Some(origin) = &mut kin.origin {
            origin.how = How::Forks;
        } else if let Some(other) = names.get(other.as_str()).filter(|other| **other != kin.file) {
            kin.origin = Some(Origin { file: *other, how: How::Forks, at: None });
            if let Some(uuid) = last_copied(&look, kin.file)? {
                unknown.entry(Key::hash(uuid.as_bytes())).or_default().push(kin.file);
            }
        }
    }
    if !unknown.is_empty() {
        for ix in entries.all() {
            for file in unknown.get(&entries.key(ix)).into_iter().flatten() {
                let origin = kin[usize::from(*file)].origin.as_mut().expect("it is a fork");
                if entries.file(ix) == origin.file {
                    origin.at = Some(reading.stand_in(ix));
                }
            }
        }
    }
    for (file, other) in handed_over(&look, layout, &names)? {
        let kin = &mut kin[usize::from(other)];
        if kin.origin.is_none() {
            let at = entries.of_file(file).next_back().map(|ix| reading.stand_in(Ix(ix)));
            kin.origin = Some(Origin { file, how: How::TakesOver, at });
        }
    }
    cut_circles(&mut kin);
    Ok(kin)
}

/// Returns the entry of the other session that the last copied line of a fork is a copy of.
///
/// Copied lines come before the fork's own lines.
fn last_copied(look: &Look<'_>, file: u16) -> io::Result<Option<String>> {
    let range = look.session.entries.of_file(file);
    let (mut from, mut to) = (range.start, range.end);
    let mut last = None;
    while from < to {
        let middle = from + (to - from) / 2;
        match look.line(Ix(middle), forked_from)? {
            Some((_, uuid)) => {
                last = Some(uuid);
                from = middle + 1;
            }
            None => to = middle,
        }
    }
    Ok(last)
}

/// Returns the sessions that say near their end in which other session they continue.
fn handed_over(look: &Look<'_>, layout: &Layout, names: &HashMap<&str, u16>) -> io::Result<Vec<(u16, u16)>> {
    const NEAR_THE_END: usize = 32;
    let others = &look.session.others;
    let mut out = Vec::new();
    for file in 0..layout.mains as u16 {
        let end = others.partition_point(|other| other.span.file <= file);
        let of_file = others[..end].iter().rev().take_while(|other| other.span.file == file);
        for other in of_file.take(NEAR_THE_END).filter(|other| other.kind == OtherKind::Note) {
            if other.span.len > 4096 {
                continue;
            }
            let next = look.span(other.span, |line| {
                on_object(line, |line| {
                    line.text("type").filter(|ty| ty == "continued-in")?;
                    Some(line.text("continuedInSessionId")?.into_owned())
                })
            })?;
            if let Some(next) =
                next.and_then(|next| names.get(next.as_str()).copied()).filter(|next| *next != file)
            {
                out.push((file, next));
                break;
            }
        }
    }
    Ok(out)
}

/// Removes the origin of a session that, through others, came from itself.
fn cut_circles(kin: &mut [Kin]) {
    let mut walk = vec![u32::MAX; kin.len()];
    for from in 0..kin.len() {
        let mut at = from;
        while walk[at] == u32::MAX {
            walk[at] = from as u32;
            match kin[at].origin {
                Some(origin) => at = usize::from(origin.file),
                None => break,
            }
        }
        if kin[at].origin.is_some() && walk[at] == from as u32 {
            kin[at].origin = None;
        }
    }
}
