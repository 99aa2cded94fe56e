//! Translates entries between pi and oh-my-pi, which spell some common entries differently.

use super::Why;
use crate::format::Format;
use crate::json::{Edits, each_item, member, place_in, string};

/// Types that only oh-my-pi has.
const OMP: &[&str] = &[
    "service_tier_change",
    "mode_change",
    "ttsr_injection",
    "session_init",
    "mcp_tool_selection",
    "reset_boundary",
];
/// Roles that only oh-my-pi has.
const OMP_ROLES: &[&[u8]] = &[b"\"developer\"", b"\"fileMention\"", b"\"pythonExecution\""];
/// Types that only pi has.
const PI: &[&str] = &["context_edit", "active_tools_change"];

/// Returns whether entries have to be translated from one format to another.
pub(crate) fn differ(from: Format, into: Format) -> bool {
    (from == Format::Omp) != (into == Format::Omp) && from != Format::Claude && from != Format::Chimera
}

/// Returns why the other agent does not know an entry, or `None` if it does.
pub(crate) fn unknown(into: Format, ty: &str, line: &[u8]) -> Option<Why> {
    let role = crate::json::member_at(line, &["message", "role"]).unwrap_or_default();
    let unknown = if into == Format::Omp {
        PI.contains(&ty) || role == b"\"system\""
    } else {
        // pi ignores a model of any role except the usual one.
        let other_role = ty == "model_change"
            && crate::json::member_at(line, &["role"]).is_some_and(|role| role != b"\"default\"");
        OMP.contains(&ty) || OMP_ROLES.contains(&role) || other_role
    };
    unknown.then_some(Why::Unknown)
}

/// Spells a line as the other agent does; returns `None` if both spell it the same.
pub(crate) fn translate(
    into: Format,
    line: &[u8],
    blob: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Why> {
    let Some(mut edits) = Edits::begin(line) else { return Err(Why::Unreadable) };
    let ty = edits.value("type").and_then(string).unwrap_or_default();
    match (into == Format::Omp, &*ty) {
        (true, "model_change") => {
            let text = |key: &str| edits.value(key).and_then(string).unwrap_or_default();
            let model = format!("{}/{}", text("provider"), text("modelId"));
            if edits.value_range("modelId").is_some() {
                edits.remove("provider");
                edits.remove("modelId");
                edits.set("model", &into.quoted(&model));
            }
        }
        (false, "model_change") => {
            let model = edits.value("model").and_then(string).unwrap_or_default().into_owned();
            if let Some((provider, model)) = model.split_once('/') {
                for key in ["model", "role", "resolvedModelIsFallback"] {
                    edits.remove(key);
                }
                edits.set("provider", &into.quoted(provider));
                edits.set("modelId", &into.quoted(model));
            }
        }
        (false, "thinking_level_change") => {
            edits.remove("configured");
            if edits.value("thinkingLevel") == Some(b"null") {
                edits.set("thinkingLevel", b"\"off\"");
            }
        }
        (true, "compaction" | "branch_summary") => edits.rename("fromHook", "fromExtension"),
        (false, "compaction" | "branch_summary") => edits.rename("fromExtension", "fromHook"),
        (false, "message" | "custom_message") => {
            role(&mut edits);
            for at in blobs(line) {
                let hash = &line[at.start + BLOB.len() + 1..at.end - 1];
                let bytes = std::str::from_utf8(hash).ok().and_then(blob).ok_or(Why::Blob)?;
                edits.replace(at, &into.quoted(&base64(&bytes)));
            }
        }
        _ => {}
    }
    Ok(if edits.is_empty() { None } else { Some(edits.apply()) })
}

/// Renames a role that oh-my-pi still reads under its old name.
fn role(edits: &mut Edits<'_>) {
    let (Some(message), Some(at)) = (edits.value("message"), edits.value_range("message")) else { return };
    if let Some(role) = member(message, "role").filter(|role| *role == b"\"hookMessage\"") {
        let place = place_in(message, role);
        edits.replace(at.start + place.start..at.start + place.end, b"\"custom\"");
    }
}

/// The text in place of the bytes of an image that is kept outside the session.
const BLOB: &[u8] = b"blob:sha256:";

/// Returns the ranges at which images are named instead of included.
fn blobs(line: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    let contents =
        [crate::json::member_at(line, &["message", "content"]), crate::json::member_at(line, &["content"])];
    for block in contents.into_iter().flatten().flat_map(each_item) {
        if let Some(value) = member(block, "data")
            && value.len() > BLOB.len() + 2
            && value[1..].starts_with(BLOB)
        {
            out.push(place_in(line, value));
        }
    }
    out
}

/// Returns base64, with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn entries_are_spelled_as_the_other_agent_does() {
        let check = |into, line: &str, wanted: &str| {
            let blob = |hash: &str| (hash == "ab").then(|| b"hello".to_vec());
            let made = translate(into, line.as_bytes(), &blob).unwrap().unwrap_or_else(|| line.as_bytes().to_vec());
            assert_eq!(String::from_utf8(made).unwrap(), wanted);
        };
        check(Format::Omp, r#"{"type":"model_change","provider":"a","modelId":"b/c"}"#, r#"{"type":"model_change","model":"a/b/c"}"#);
        check(Format::Pi,  r#"{"type":"model_change","model":"a/b/c","role":"default"}"#, r#"{"type":"model_change","provider":"a","modelId":"b/c"}"#);
        check(Format::Omp, r#"{"type":"compaction","fromHook":true,"summary":"s"}"#, r#"{"type":"compaction","fromExtension":true,"summary":"s"}"#);
        check(Format::Pi,  r#"{"type":"branch_summary","fromExtension":true}"#, r#"{"type":"branch_summary","fromHook":true}"#);
        check(Format::Pi,  r#"{"type":"thinking_level_change","thinkingLevel":null,"configured":"auto"}"#, r#"{"type":"thinking_level_change","thinkingLevel":"off"}"#);
        check(Format::Pi,  r#"{"type":"message","message":{"role":"user","content":[{"type":"image","data":"blob:sha256:ab"}]}}"#, r#"{"type":"message","message":{"role":"user","content":[{"type":"image","data":"aGVsbG8="}]}}"#);
        check(Format::Pi,  r#"{"type":"message","message":{"role":"hookMessage","content":"x"}}"#, r#"{"type":"message","message":{"role":"custom","content":"x"}}"#);
        check(Format::Omp, r#"{"type":"message","message":{"role":"user","content":"x"}}"#, r#"{"type":"message","message":{"role":"user","content":"x"}}"#);
        let none = |_: &str| None;
        let line = br#"{"type":"message","message":{"role":"user","content":[{"data":"blob:sha256:ab"}]}}"#;
        assert_eq!(translate(Format::Pi, line, &none), Err(Why::Blob));
    }
}
