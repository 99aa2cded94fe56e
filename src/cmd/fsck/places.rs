//! `bough fsck --places`: checks where sessions are, and not what is in them.

use super::Args;
use super::report::FindingRow;
use crate::cmd::shared::options::Global;
use crate::cmd::shared::{rows, scope, session_arg};
use crate::cmd::{Exit, Failure};
use crate::model::Count;
use crate::store::locate::{self, Store};
use crate::store::project_folder::{folder_for, home_of};
use crate::store::remains;
use crate::ui::{Ui, text};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A finding about the place of a session.
struct Finding {
    file: PathBuf,
    check: &'static str,
    message: String,
    /// The command that would help, if one is known.
    helps: Option<String>,
}

/// Checks the sessions of all stores, or of the stores that were named.
pub(super) fn run(args: &Args, global: &Global, ui: &mut Ui) -> anyhow::Result<Exit> {
    let known = locate::writable_stores(&global.roots);
    let stores = match args.files.is_empty() {
        true => known,
        false => args.files.iter().map(|word| store_at(Path::new(word), &known)).collect(),
    };
    if args.scope.project && !args.files.is_empty() {
        let what = "`--project` chooses the sessions, so that no store can be named".into();
        return Err(Failure::Usage { what, hint: String::new() }.into());
    }
    let project = args.scope.project.then(|| Project::current(global));
    let mut findings = Vec::new();
    let mut seen = 0;
    for store in &stores {
        check(store, project.as_ref(), &mut seen, &mut findings);
    }
    if project.is_some() && seen == 0 && findings.is_empty() {
        return Ok(scope::none_found(ui));
    }
    for finding in &findings {
        print(finding, ui)?;
    }
    if !ui.look.quiet && !ui.look.json {
        let count = Count("session", "sessions", seen);
        ui.note(format_args!("{} in {count}", Count("warning", "warnings", findings.len())));
    }
    Ok(if args.strict && !findings.is_empty() { Exit::No } else { Exit::Done })
}

/// The project of `--project`.
struct Project {
    /// The current folder.
    cwd: Option<PathBuf>,
    /// The folders of the stores in which its sessions are.
    folders: HashSet<PathBuf>,
}

impl Project {
    fn current(global: &Global) -> Project {
        let found = session_arg::of_project(global, locate::Worktrees::Listed);
        let folders = found.iter().filter_map(|found| Some(found.path.parent()?.to_owned())).collect();
        Project { cwd: session_arg::folders_above().into_iter().next(), folders }
    }

    /// Returns whether a session belongs to it: by its working directory, or because it is among the others.
    fn has(&self, file: &Path, cwd: Option<&str>) -> bool {
        let is_among = file.parent().is_some_and(|folder| self.folders.contains(folder));
        is_among || cwd.is_some_and(|cwd| self.cwd.as_deref() == Some(Path::new(cwd)))
    }
}

fn store_at(root: &Path, known: &[Store]) -> Store {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let store = known.iter().find(|store| store.root.canonicalize().is_ok_and(|it| it == real));
    let agent = match () {
        () if real.ends_with("projects") => "claude",
        () if real.components().any(|part| part.as_os_str() == ".omp") => "omp",
        () => "pi",
    };
    store.cloned().unwrap_or(Store { agent, root: root.to_owned() })
}

fn check(store: &Store, project: Option<&Project>, seen: &mut usize, findings: &mut Vec<Finding>) {
    let files: Vec<PathBuf> = match store.agent {
        "claude" => locate::in_folder(&store.root),
        _ => locate::sessions(store).into_iter().map(|found| found.path).collect(),
    };
    let agent = if store.agent.is_empty() { "pi" } else { store.agent };
    for file in files {
        let home = home_of(agent, &file);
        if project.is_some_and(|project| !project.has(&file, home.as_ref().map(|home| &*home.cwd))) {
            continue;
        }
        *seen += 1;
        let Some(home) = home else { continue };
        let folder = file.parent().unwrap_or(Path::new(""));
        let is_deep = store.agent == "claude" && folder.parent() != Some(&store.root);
        let cwd = text::shell_word(&home.cwd);
        if !home.fits || is_deep {
            let wanted = folder_for(store, &home.cwd, None);
            findings.push(Finding {
                message: format!(
                    "the session belongs to {}, and the agent looks for it in {}",
                    home.cwd,
                    wanted.display()
                ),
                check: "misplaced-session",
                helps: Some(format!("bough move {cwd} {cwd}")),
                file,
            });
        } else if !Path::new(&home.cwd).is_dir() {
            findings.push(Finding {
                message: format!("its working directory {} does not exist", home.cwd),
                check: "missing-directory",
                helps: Some(format!("bough move {cwd} NEW")),
                file,
            });
        }
    }
    add_remains(store, project, findings);
}

/// Adds what is left of sessions that are gone.
fn add_remains(store: &Store, project: Option<&Project>, findings: &mut Vec<Finding>) {
    let is_wanted = |main: &Path| project.is_none_or(|project| project.has(main, None));
    for left in remains::remains(&store.root).into_iter().filter(|left| is_wanted(&left.main)) {
        let start = format!("{}: ", left.main.display());
        let words = left.sentence();
        findings.push(Finding {
            message: words.strip_prefix(&start).unwrap_or(&words).to_owned(),
            check: "missing-session",
            helps: None,
            file: left.main,
        });
    }
}

fn print(finding: &Finding, ui: &mut Ui) -> std::io::Result<()> {
    let file = finding.file.display().to_string();
    if ui.look.json {
        let row = FindingRow {
            file: &file,
            level: "warning",
            check: finding.check,
            message: &finding.message,
            repairable: finding.helps.is_some(),
            line: None,
            offset: None,
            id: None,
        };
        return rows::print(&row, ui);
    }
    let helps = finding.helps.as_ref().map_or(String::new(), |helps| format!("; `{helps}` helps"));
    let line = format!("{file}: warning: {}: {}{helps}", finding.check, finding.message);
    writeln!(ui.out(), "{}", text::one_line(&line))
}
