//! The content of a line of Claude Code.

use super::pi::label;
use super::summary::{landmark, or_if_blank};
use super::{Block, Content};
use crate::json::Members;
use std::borrow::Cow;

impl<'l> Content<'l> {
    pub(super) fn claude(&mut self, fields: &Members<'l>, message: &Members<'l>) {
        let text = |key| fields.text(key);
        match &*self.ty {
            "user" | "assistant" => {
                self.role = message.text("role");
                self.model = message.string("model");
                self.ended = message.string("stop_reason");
                self.usage = message.get("usage");
                self.take(message.get("content").unwrap_or_default());
                self.text_of_blocks();
            }
            "system" if &*text("subtype") == "compact_boundary" => {
                self.role = Cow::Borrowed("system");
                self.text = landmark(&Members::new(fields.get("compactMetadata").unwrap_or_default())).into();
            }
            "system" => {
                self.role = Cow::Borrowed("system");
                self.text = or_if_blank(text("content"), &text("subtype").replace('_', " "));
                if let (true, Some(ms)) = (text("content").is_empty(), fields.get("durationMs")) {
                    let ms = String::from_utf8_lossy(ms).into_owned();
                    self.text.to_mut().push_str(&format!(" {ms} ms"));
                }
            }
            "attachment" => self.attachment(&Members::new(fields.get("attachment").unwrap_or_default())),
            "progress" => {
                let data = Members::new(fields.get("data").unwrap_or_default());
                let ty = data.text("type").replace('_', " ");
                let what = or_if_blank(
                    or_if_blank(data.text("command"), &data.text("hookName")),
                    &data.text("query"),
                );
                self.text = format!("{ty} {what}").trim_end().to_owned().into();
            }
            "summary" | "task-summary" => self.text = text("summary"),
            "custom-title" => self.text = format!("title {}", text("customTitle")).into(),
            "ai-title" => self.text = format!("title {}", text("aiTitle")).into(),
            "last-prompt" => self.text = text("lastPrompt"),
            "bough-label" => self.text = label(text("targetUuid"), text("label")),
            "queue-operation" => {
                self.text = format!("{} {}", text("operation"), text("content")).trim_end().to_owned().into();
            }
            _ => {}
        }
    }

    fn attachment(&mut self, attachment: &Members<'l>) {
        if &*attachment.text("type") == "queued_command"
            && &*attachment.text("commandMode") != "task-notification"
        {
            // A prompt that was typed while the agent was working.
            self.take(attachment.get("prompt").unwrap_or_default());
            self.text_of_blocks();
            if !self.text.trim().is_empty() {
                return;
            }
        }
        let ty = attachment.text("type").replace('_', " ");
        let mut inside = Content::default();
        for key in ["prompt", "content", "text", "stdout", "snippet"] {
            inside.take(attachment.get(key).unwrap_or_default());
            inside.text_of_blocks();
            if !inside.text.trim().is_empty() {
                break;
            }
        }
        let what = or_if_blank(
            or_if_blank(or_if_blank(inside.text, &attachment.text("filename")), &attachment.text("path")),
            "",
        );
        let what = or_if_blank(or_if_blank(what, &attachment.text("command")), &attachment.text("hookName"));
        self.text = format!("{ty}: {what}").trim_end_matches([':', ' ']).to_owned().into();
        self.blocks.push(Block::Other(attachment.text("type")));
    }
}
