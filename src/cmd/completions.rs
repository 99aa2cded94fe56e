//! `bough completions`: the static scripts of shells.

use super::{Cli, Exit};
use crate::ui::Ui;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a shell completion script
///
/// The script completes commands and options. To complete ids, labels and sessions too, let the
/// shell ask bough itself, with a line in its startup file: `source <(COMPLETE=bash bough)`,
/// `source <(COMPLETE=zsh bough)` or `COMPLETE=fish bough | source`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The shell that will read the script
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &Args, ui: &mut Ui) -> anyhow::Result<Exit> {
    ui.out().write_all(&script(args.shell))?;
    Ok(Exit::Done)
}

/// Returns the static script of a shell.
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bough", &mut script);
    match shell {
        Shell::Bash => without_placeholders(&String::from_utf8_lossy(&script)).into_bytes(),
        _ => script,
    }
}

/// Returns the script of bash without the words that stand for arguments, as `[REV]...`: it would offer them.
fn without_placeholders(script: &str) -> String {
    let is_placeholder = |word: &str| word.starts_with(['[', '<']);
    let line = |line: &str| match line
        .trim_start()
        .strip_prefix("opts=\"")
        .and_then(|opts| opts.strip_suffix('"'))
    {
        Some(opts) => {
            let kept: Vec<&str> = opts.split(' ').filter(|word| !is_placeholder(word)).collect();
            let indent = &line[..line.len() - line.trim_start().len()];
            format!("{indent}opts=\"{}\"\n", kept.join(" "))
        }
        None => format!("{line}\n"),
    };
    script.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_offers_no_placeholder() {
        let all = String::from_utf8(script(Shell::Bash)).unwrap();
        let opts: Vec<&str> = all.lines().filter(|line| line.contains("opts=\"")).collect();
        assert!(opts.len() > 20 && opts.iter().all(|opts| !opts.contains(['[', '<'])), "{opts:?}");
        assert!(all.ends_with('\n') && !all.ends_with("\n\n"));
        assert_eq!(without_placeholders("  opts=\"-a [REV]... <A|B> b\"\n[x]\n"), "  opts=\"-a b\"\n[x]\n");
    }
}
