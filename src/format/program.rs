//! Programs whose session files resemble those of pi, Chimera or Claude Code but differ from them;
//! nothing is ever written to them.

/// A program that derives its session files from those of another agent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Program {
    /// OpenClaw: pi's version 3 with entries beside the conversation, and its own `leaf` lines.
    /// Read-only.
    OpenClaw,
    /// Prime Agent: pi's version 3 with its own types. Read-only.
    Prime,
    /// Tau: pi's types with `parent_id`.
    Tau,
    /// Kit: pi's header, then `parent_id`, and `role` and `parts` on the entry.
    Kit,
    /// Qwen Code: the links of Claude Code, and `parts` in the message.
    Qwen,
    /// Codex. Read-only.
    Codex,
    /// The Gemini CLI. Read-only.
    Gemini,
    /// The Copilot CLI. Read-only.
    Copilot,
    /// OpenCode. Read-only.
    OpenCode,
}

impl Program {
    /// All programs.
    pub const ALL: [Program; 9] = [
        Program::OpenClaw,
        Program::Prime,
        Program::Tau,
        Program::Kit,
        Program::Qwen,
        Program::Codex,
        Program::Gemini,
        Program::Copilot,
        Program::OpenCode,
    ];

    /// Returns the name of the program, as it spells it.
    pub fn name(self) -> &'static str {
        match self {
            Program::OpenClaw => "OpenClaw",
            Program::Prime => "Prime Agent",
            Program::Tau => "Tau",
            Program::Kit => "Kit",
            Program::Qwen => "Qwen Code",
            Program::Codex => "Codex",
            Program::Gemini => "Gemini CLI",
            Program::Copilot => "GitHub Copilot CLI",
            Program::OpenCode => "OpenCode",
        }
    }

    /// Returns why nothing is written to its sessions.
    pub fn why_read_only(self) -> &'static str {
        match self {
            Program::OpenClaw => "it is a session of OpenClaw, which bough only reads",
            Program::Prime => "it is a session of Prime Agent, which bough only reads",
            Program::Tau => "it is a session of Tau, which bough only reads",
            Program::Kit => "it is a session of Kit, which bough only reads",
            Program::Qwen => "it is a session of Qwen Code, which bough only reads",
            Program::Codex => "it is a session of Codex, which bough only reads",
            Program::Gemini => "it is a session of Gemini CLI, which bough only reads",
            Program::Copilot => "it is a session of GitHub Copilot CLI, which bough only reads",
            Program::OpenCode => "it is an export of OpenCode, which bough only reads",
        }
    }
}
