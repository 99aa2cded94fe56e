//! The content of a line of pi, of its relatives, and of Chimera.

use super::summary::{instructions, or_if_blank};
use super::{Block, Content, PromptForm, compact, list, scalar};
use crate::json::{Members, each_item, member};
use std::borrow::Cow;

impl<'l> Content<'l> {
    pub(super) fn pi(&mut self, fields: &Members<'l>, message: &Members<'l>) {
        let text = |key| fields.text(key);
        match &*self.ty {
            "message" => self.pi_message(message, fields.get("message").unwrap_or_default()),
            "custom_message" => {
                self.take(fields.get("content").unwrap_or_default());
                self.text_of_blocks();
            }
            "compaction" | "branch_summary" | "stack_summary" | "stack_pop" => self.text = text("summary"),
            "label" => self.text = label(text("targetId"), text("label")),
            "model_change" => {
                let (provider, model) = (text("provider"), text("modelId"));
                let model = match (provider.is_empty(), model.is_empty()) {
                    (false, false) => Cow::Owned(format!("{provider}/{model}")),
                    (true, false) => model,
                    _ => text("model"),
                };
                self.text = format!("model {model}").into();
                self.model = Some(model);
            }
            "thinking_level_change" => {
                self.text = format!("thinking {}", or_if_blank(text("thinkingLevel"), "off")).into()
            }
            "session_info" => self.text = format!("name {}", or_if_blank(text("name"), "removed")).into(),
            "title_change" | "title" => self.text = format!("title {}", text("title")).into(),
            "mode_change" => self.text = format!("mode {}", text("mode")).into(),
            "usage" | "model_usage" => {
                self.model = fields.string("model");
                self.usage = fields.get("usage");
                let what = or_if_blank(or_if_blank(text("note"), &text("kind")), &text("purpose"));
                self.text = format!("usage {what}").trim_end().to_owned().into();
            }
            "context_edit" => {
                let gone = matches!(fields.get("replacement"), None | Some(b"null"));
                let what = if gone { "left out" } else { "replaced" };
                self.text = format!("{what}: {}", text("targetId")).into();
            }
            "session_init" => self.text = or_if_blank(text("task"), "session began"),
            "service_tier_change" => {
                let tier = fields.get("serviceTier").map(compact).unwrap_or_default();
                self.text = format!("service tier {tier}").into();
            }
            "ttsr_injection" => self.text = format!("rules {}", list(fields.get("injectedRules"))).into(),
            "active_tools_change" => {
                self.text = format!("tools {}", list(fields.get("activeToolNames"))).into()
            }
            "mcp_tool_selection" => {
                self.text = format!("tools {}", list(fields.get("selectedToolNames"))).into()
            }
            "credential_pin" => self.text = format!("credentials of {}", text("provider")).into(),
            "reset_boundary" => self.text = Cow::Borrowed("the context was cleared"),
            "leaf" => {
                self.text = format!("leaf {}", or_if_blank(text("targetId"), "before the first entry")).into()
            }
            "custom" => self.text = custom(&text("customType"), fields.get("data")),
            "session" => self.text = format!("session {}", text("id")).into(),
            "event" => {
                let event = Members::new(fields.get("event").unwrap_or_default());
                self.text = format!("event {}", event.text("type")).into();
            }
            _ => {}
        }
    }

    fn pi_message(&mut self, message: &Members<'l>, object: &'l [u8]) {
        let text = |key| message.text(key);
        self.role = text("role");
        self.model = message.string("model");
        self.ended = message.string("stopReason");
        self.usage = message.get("usage");
        let content = message.get("content").unwrap_or_default();
        match &*self.role {
            "toolResult" => {
                self.tool = message.string("toolName");
                self.result(text("toolCallId"), message.get("isError") == Some(b"true"), content);
            }
            "bashExecution" | "pythonExecution" => {
                let command = or_if_blank(text("command"), &text("code"));
                self.sort = PromptForm::Command;
                self.blocks.push(Block::Text(format!("{command}\n{}", text("output")).into()));
            }
            "fileMention" => {
                let files = message.get("files").unwrap_or_default();
                let paths: Vec<_> = each_item(files).map(|file| Members::new(file).text("path")).collect();
                self.blocks.push(Block::Text(paths.join(", ").into()));
            }
            _ => self.take(content),
        }
        self.text_of_blocks();
        if self.role == "system" && self.text.trim().is_empty() {
            self.text = instructions(object).into();
        }
        if self.text.is_empty()
            && let Some(error) = message.string("errorMessage")
        {
            self.text = error;
        }
    }

    pub(super) fn chimera(&mut self, fields: &Members<'l>, message: &Members<'l>) {
        let text = |key| fields.text(key);
        match &*self.ty {
            "message" => {
                self.role = message.text("role");
                let content = message.get("content").unwrap_or_default();
                if self.role == "tool" {
                    self.result(message.text("call_id"), false, content);
                } else {
                    self.take(content);
                }
                for call in each_item(message.get("tool_calls").unwrap_or_default()) {
                    let call = Members::new(call);
                    let arguments = call.get("arguments").unwrap_or_default().into();
                    self.blocks.push(Block::Call { id: call.text("id"), name: call.text("name"), arguments });
                }
                // A reply that only calls tools has an empty string as its content.
                if self.blocks.len() > 1 && self.blocks[0] == Block::Text(Cow::Borrowed("")) {
                    self.blocks.remove(0);
                }
                self.text_of_blocks();
            }
            "compaction" => self.text = text("summary"),
            "label" => self.text = label(text("target_id"), text("label")),
            "state_change" => self.text = format!("{} {}", text("kind"), scalar(fields.get("value"))).into(),
            "header" => self.text = format!("session in {}", text("cwd")).into(),
            "custom" => {
                let data = fields.get("data");
                let is_source = data.and_then(|data| member(data, "bough")) == Some(b"\"source\"");
                self.text = custom(if is_source { "bough.source" } else { "" }, data);
            }
            _ => {
                if let Some(data) = fields.get("data") {
                    self.text = format!("{} {}", self.ty, compact(data)).into();
                }
            }
        }
    }
}

pub(super) fn label<'l>(target: Cow<'l, str>, label: Cow<'l, str>) -> Cow<'l, str> {
    if label.is_empty() {
        format!("label cleared: {target}").into()
    } else {
        format!("label {label}: {target}").into()
    }
}

fn custom<'l>(ty: &str, data: Option<&'l [u8]>) -> Cow<'l, str> {
    if ty == "bough.source" {
        // Another session, which is not what this one says.
        return "the session that this one was converted from".into();
    }
    let data = data.map(compact).unwrap_or_default();
    format!("{ty} {data}").trim().to_owned().into()
}
