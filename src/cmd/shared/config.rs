//! The config file, and `bough config`.
//!
//! It never changes the output of `--json`, `--porcelain` and `--raw`.

use super::options::{Global, Origin, When, session_variable};
use super::rows;
use crate::cmd::{Exit, Failure};
use crate::fsck::Check;
use crate::ops::redact::{ExtraRule, Group, Rules};
use crate::ops::stats::{Price, Prices};
use crate::ui::{Ui, set_styles};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The contents of the config file; missing settings have their defaults.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) ui: UiConfig,
    pub(crate) session: SessionConfig,
    pub(crate) fsck: FsckConfig,
    pub(crate) redact: RedactConfig,
    pub(crate) alias: BTreeMap<String, String>,
    pub(crate) prices: BTreeMap<String, PriceConfig>,
    pub(crate) colors: BTreeMap<String, String>,
}

impl Config {
    /// Returns the prices of tokens in the file.
    pub(crate) fn prices(&self) -> Prices {
        let price = |price: &PriceConfig| Price {
            input: price.input,
            output: price.output,
            cache_read: price.cache_read,
            cache_write_5m: price.cache_write_5m,
            cache_write_1h: price.cache_write_1h,
        };
        Prices::new(self.prices.iter().map(|(pattern, row)| (pattern.clone(), price(row))))
    }

    /// Returns the rules by which `groups` are redacted, with those in the file. Fails if one of these is not valid.
    pub(crate) fn redaction(&self, groups: &[Group]) -> Result<Rules, Failure> {
        let mut extra = self.redact.rules.clone();
        if groups.contains(&Group::Paths)
            && let Ok(home) = etcetera::home_dir()
        {
            extra.extend(ExtraRule::of_home(&home));
        }
        Rules::new(groups, &extra, &self.redact.allow).map_err(|bad| Failure::Usage {
            what: format!("in the table `redact` of the config file: {bad}"),
            hint: "`bough help config` describes the file".into(),
        })
    }
}

/// The price of the models that a pattern names: dollars per million tokens.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PriceConfig {
    pub(crate) input: Option<f64>,
    pub(crate) output: Option<f64>,
    pub(crate) cache_read: Option<f64>,
    pub(crate) cache_write_5m: Option<f64>,
    pub(crate) cache_write_1h: Option<f64>,
}

impl PriceConfig {
    /// Returns the configured prices, with their names.
    fn rows(&self) -> impl Iterator<Item = (&'static str, f64)> {
        [
            ("input", self.input),
            ("output", self.output),
            ("cache_read", self.cache_read),
            ("cache_write_5m", self.cache_write_5m),
            ("cache_write_1h", self.cache_write_1h),
        ]
        .into_iter()
        .filter_map(|(name, price)| Some((name, price?)))
    }
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct UiConfig {
    /// `auto`, `always` or `never`.
    pub(crate) color: Option<String>,
    /// The pager, as a command.
    pub(crate) pager: Option<String>,
    /// Whether to draw only with ASCII.
    pub(crate) ascii: Option<bool>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SessionConfig {
    /// Folders with sessions besides the stores of the agents.
    pub(crate) roots: Vec<PathBuf>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FsckConfig {
    /// Checks whose findings are not shown to people.
    pub(crate) skip: Vec<String>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RedactConfig {
    /// Rules beside those that are built in.
    pub(crate) rules: Vec<ExtraRule>,
    /// Regular expressions of what is never redacted.
    pub(crate) allow: Vec<String>,
}

/// Returns the path of the file: `$XDG_CONFIG_HOME/bough/config.toml`.
pub(crate) fn file() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("bough/config.toml"))
}

/// Reads the config file; a missing one is empty.
pub(crate) fn load() -> anyhow::Result<Config> {
    let Some(path) = file() else { return Ok(Config::default()) };
    let text = crate::store::read_file(&path).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
    });
    let text = match text {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Config::default()),
        Err(source) => return Err(crate::store::Error::Io { path, source }.into()),
    };
    let mut config: Config = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        let what = format!("{}:{line}: {}", path.display(), error.message().replace('\n', " "));
        Failure::Usage { what, hint: "`bough help config` describes the file".into() }
    })?;
    check(&config, &path)?;
    config.session.roots.iter_mut().for_each(at_home);
    Ok(config)
}

/// Refuses values that mean nothing.
fn check(config: &Config, path: &Path) -> Result<(), Failure> {
    if let Some(color) =
        config.ui.color.as_deref().filter(|color| !["auto", "always", "never"].contains(color))
    {
        let what = format!("{}: invalid `ui.color` `{color}`", path.display());
        return Err(Failure::Usage { what, hint: "use `auto`, `always` or `never`".into() });
    }
    if let Some(check) = config.fsck.skip.iter().find(|check| Check::from_id(check).is_none()) {
        let what = format!("{}: unknown check `{check}` in `fsck.skip`", path.display());
        return Err(Failure::Usage { what, hint: "`bough fsck --list-checks` lists them".into() });
    }
    if let Some((name, _)) = config.alias.iter().find(|(_, words)| words.trim_start().starts_with('!')) {
        let what = format!("{}: the alias `{name}` can't run another program", path.display());
        return Err(Failure::Usage {
            what,
            hint: "an alias contains words of bough's own command line".into(),
        });
    }
    let priced = config.prices.iter().flat_map(|(model, price)| price.rows().map(move |row| (model, row)));
    if let Some((model, (name, price))) =
        priced.into_iter().find(|(_, (_, price))| !(0.0..1e9).contains(price))
    {
        let what = format!("{}: invalid price `{price}` in `prices.{model}.{name}`", path.display());
        return Err(Failure::Usage { what, hint: "a price is in dollars per million tokens".into() });
    }
    if let Err(why) = set_styles(&config.colors) {
        let what = format!("{}: {why}", path.display());
        return Err(Failure::Usage { what, hint: "`bough help config` lists names and colors".into() });
    }
    Ok(())
}

/// Expands a `~` at the start of a path, as a shell does.
fn at_home(path: &mut PathBuf) {
    if let Ok(below) = path.strip_prefix("~")
        && let Ok(home) = etcetera::home_dir()
    {
        *path = home.join(below);
    }
}

/// Show the current settings
///
/// Settings come from, in order of precedence: command-line options, the environment, the config
/// file ($XDG_CONFIG_HOME/bough/config.toml), the defaults.
///
/// The file has the tables `ui` (`color` = "auto", "always" or "never"; `pager`; `ascii`),
/// `session` (`roots`, a list of additional stores), `fsck` (`skip`, a list of checks to hide),
/// `prices` ("model*" = { input, output, cache_read, cache_write_5m, cache_write_1h }, in dollars
/// per million tokens), `colors` (`id` = "bold cyan"), `redact` (`allow`, a list of regular
/// expressions for text that is never redacted; `rules`, a list of tables with `id`, `regex`,
/// `keywords` and `entropy`) and `alias` (`name` = "command with options"). It never changes the
/// output of --json, --porcelain and --raw. `bough help config` describes each setting.
#[derive(clap::Args, Debug)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// List the current settings, one per line
    List {
        /// Show the source of each setting
        #[arg(long)]
        origin: bool,
    },
    /// Print the path of the config file
    Path,
}

impl Args {
    /// Returns whether the command is useful even if the file can't be read.
    pub(crate) fn wants_no_file(&self) -> bool {
        matches!(self.action, Action::Path)
    }
}

/// A setting in force: config list.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "schema", rename = "bough.setting/1")]
pub(crate) struct SettingRow {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
    /// Where it comes from: `option`, `variable NAME`, the config file, `default`.
    origin: String,
}

struct Setting {
    name: String,
    value: String,
    origin: String,
}

pub(crate) fn run(args: &Args, global: &Global, config: &Config, ui: &mut Ui) -> anyhow::Result<Exit> {
    let path = file().map(|path| path.display().to_string()).unwrap_or_default();
    match args.action {
        Action::Path => writeln!(ui.out(), "{path}")?,
        Action::List { origin } => {
            let commands = <crate::cmd::Cli as clap::CommandFactory>::command();
            for name in config.alias.keys().filter(|name| commands.find_subcommand(name).is_some()) {
                ui.note(format_args!(
                    "warning: {path}: the alias `{}` is not used, because a command has that name",
                    crate::ui::text::one_line(name)
                ));
            }
            for setting in settings(global, config, &path) {
                if ui.look.json {
                    let Setting { name, value, origin } = setting;
                    rows::print(&SettingRow { name, value, origin }, ui)?;
                } else if origin {
                    writeln!(ui.out(), "{}\t{}={}", setting.origin, setting.name, setting.value)?;
                } else {
                    writeln!(ui.out(), "{}={}", setting.name, setting.value)?;
                }
            }
        }
    }
    Ok(Exit::Done)
}

fn settings(global: &Global, config: &Config, path: &str) -> Vec<Setting> {
    let setting = |name: &str, value: &str, origin: Origin| {
        let origin = match origin {
            Origin::Option => "option".to_owned(),
            Origin::Variable(name) => format!("variable {name}"),
            Origin::File => path.to_owned(),
            Origin::Default => "default".to_owned(),
        };
        Setting { name: name.to_owned(), value: value.to_owned(), origin }
    };
    let (color, of_color) = global.color_in_force(config);
    let color = match color {
        When::Auto => "auto",
        When::Always => "always",
        When::Never => "never",
    };
    let (pager, of_pager) = global.pager_in_force(config);
    let (ascii, of_ascii) = global.ascii_in_force(config);
    let (session, of_session) = match (&global.session, session_variable()) {
        (Some(session), _) => (session.clone(), Origin::Option),
        (None, Some(session)) => (session, Origin::Variable("BOUGH_SESSION")),
        (None, None) => ("latest".into(), Origin::Default),
    };
    let mut out = vec![
        setting("ui.color", color, of_color),
        setting("ui.pager", &pager, of_pager),
        setting("ui.ascii", &ascii.to_string(), of_ascii),
        setting("session", &session, of_session),
    ];
    let from_file = |name: String, value: String| setting(&name, &value, Origin::File);
    for root in &config.session.roots {
        out.push(from_file("session.roots".into(), root.display().to_string()));
    }
    for check in &config.fsck.skip {
        out.push(from_file("fsck.skip".into(), check.clone()));
    }
    for (name, words) in &config.colors {
        out.push(from_file(format!("colors.{name}"), words.clone()));
    }
    for (model, price) in &config.prices {
        for (name, price) in price.rows() {
            out.push(from_file(format!("prices.{model}.{name}"), price.to_string()));
        }
    }
    for allowed in &config.redact.allow {
        out.push(from_file("redact.allow".into(), allowed.clone()));
    }
    for rule in &config.redact.rules {
        out.push(from_file(format!("redact.rules.{}", rule.id), rule.regex.clone()));
    }
    for (name, words) in &config.alias {
        out.push(from_file(format!("alias.{name}"), words.clone()));
    }
    out
}
