//! The bytes that an operation leaves.

use bough::internals::format::{Ids, Session};
use bough::internals::model::{Piece, Plan, Source, Table, Target};
use bough::internals::ops::migrate::{self, Migration, Options};

/// Applies a plan to the old bytes.
pub fn applied(plan: &Plan, old: &Table) -> Vec<u8> {
    let mut out = Vec::new();
    for target in &plan.targets {
        match target {
            Target::Append { bytes, .. } => out = [&old.0[0][..], bytes].concat(),
            Target::Rewrite { pieces, .. } => {
                for piece in pieces {
                    match piece {
                        Piece::Keep(span) => out.extend(old.bytes(*span).unwrap()),
                        Piece::New(bytes) => out.extend(bytes),
                    }
                }
            }
            Target::Create { .. } | Target::Move { .. } | Target::Remove { .. } => {}
        }
    }
    if plan.is_empty() { old.0[0].clone() } else { out }
}

/// Migrates a session in memory; returns the new bytes, and what was done.
pub fn migrated(old: &[u8], options: Options) -> (Vec<u8>, Migration) {
    let session = Session::read(old).unwrap();
    let source = Table(vec![old.to_vec()]);
    let made = migrate::migrate(&session, &source, options, &mut Ids::seeded("1")).unwrap();
    let new = if made.pieces.is_empty() { old.to_vec() } else { Piece::join(&made.pieces, &source).unwrap() };
    (new, made)
}
