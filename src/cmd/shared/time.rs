//! The current time, and formatting and parsing of times.

use crate::cmd::Failure;
use crate::model::{Count, Time, parse_time};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp, Zoned};

/// Returns the current time; `BOUGH_NOW` sets it, for tests, in any form in which the agents write
/// times.
pub(crate) fn now() -> Time {
    match std::env::var("BOUGH_NOW").map_or(Time::NONE, |told| parse_time(told.as_bytes())) {
        Time::NONE => Time(Timestamp::now().as_millisecond()),
        told => told,
    }
}

/// Returns how long ago a time is, in one unit: `2m`, `3h`, `5d`; empty if there is no time.
pub(crate) fn age(time: Time, now: Time) -> String {
    if !time.is_some() {
        return String::new();
    }
    let seconds = now.0.saturating_sub(time.0) / 1000;
    if seconds < 0 {
        return "0s".into();
    }
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match seconds {
        0..MINUTE => format!("{seconds}s"),
        MINUTE..HOUR => format!("{}m", seconds / MINUTE),
        HOUR..DAY => format!("{}h", seconds / HOUR),
        // Months only when weeks say little.
        DAY.. if seconds < 14 * DAY => format!("{}d", seconds / DAY),
        DAY.. if seconds < 60 * DAY => format!("{}w", seconds / (7 * DAY)),
        DAY.. if seconds < 730 * DAY => format!("{}mo", seconds / (30 * DAY)),
        _ => format!("{}y", seconds / (365 * DAY)),
    }
}

/// How `--date` prints times.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum DateStyle {
    /// How long ago: `3h`
    #[default]
    Relative,
    /// ISO 8601 in UTC: `2026-03-02T11:58:03Z`
    Iso,
    /// The local date and time: `2026-03-02 11:58`
    Local,
}

impl DateStyle {
    /// Formats a time; empty if there is none.
    pub(crate) fn format(self, time: Time, now: Time) -> String {
        match self {
            DateStyle::Relative => age(time, now),
            DateStyle::Iso => iso(time)
                .map(|text| format!("{}Z", text.split('.').next().unwrap_or(&text)))
                .unwrap_or_default(),
            DateStyle::Local => minute(time),
        }
    }

    /// Formats a time for a column, aligned to the right.
    pub(crate) fn column(self, time: Time, now: Time) -> String {
        format!("{:>width$}", self.format(time, now), width = self.width())
    }

    /// Returns the width of a column of times.
    pub(crate) fn width(self) -> usize {
        match self {
            DateStyle::Relative => 4,
            DateStyle::Iso => "2026-03-02T11:58:03Z".len(),
            DateStyle::Local => "2026-03-02 11:58".len(),
        }
    }
}

/// The option `--date`.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(crate) struct DateArg {
    /// How to print times
    #[arg(long, value_name = "STYLE", default_value = "relative", hide_default_value = true)]
    pub(crate) date: DateStyle,
}

/// Formats how long ago a time is, as the end of a sentence: `, 3 minutes ago`; empty if there is no time.
pub(crate) fn ago(time: Time, now: Time) -> String {
    if !time.is_some() {
        return String::new();
    }
    let seconds = now.0.saturating_sub(time.0).max(0) / 1000;
    let (count, one, several) = match seconds {
        0..5 => return ", just now".into(),
        5..60 => (seconds, "second", "seconds"),
        60..3600 => (seconds / 60, "minute", "minutes"),
        3600..86_400 => (seconds / 3600, "hour", "hours"),
        _ => (seconds / 86_400, "day", "days"),
    };
    format!(", {} ago", Count(one, several, usize::try_from(count).unwrap_or(usize::MAX)))
}

/// Says when an agent deletes a session, if that is within a week: `deleted in 4 days`. One that is old
/// enough is deleted when the agent runs next.
pub(crate) fn deleted_soon(deleted: Time, now: Time) -> Option<String> {
    const DAY: i64 = 24 * 60 * 60 * 1000;
    match deleted.0.saturating_sub(now.0) {
        ..=0 => Some("gone next time".into()),
        1..DAY => Some("gone within a day".into()),
        left if left <= 7 * DAY => {
            let days = usize::try_from(left / DAY).unwrap_or_default();
            Some(format!("gone in {}", Count("day", "days", days)))
        }
        _ => None,
    }
}

/// Formats a time in the user's time zone: `2026-03-02 11:58:03 +0100`; empty if there is none.
pub(crate) fn date(time: Time) -> String {
    local(time, "%Y-%m-%d %H:%M:%S %z")
}

/// Formats a time to the second, for a column: `2026-03-02 11:58:03`; padded if there is none.
pub(crate) fn second(time: Time) -> String {
    format!("{:<19}", local(time, "%Y-%m-%d %H:%M:%S"))
}

/// Formats a time to the minute: `2026-03-02 11:58`.
pub(crate) fn minute(time: Time) -> String {
    local(time, "%Y-%m-%d %H:%M")
}

/// Formats a time for a sentence: only the hour if it is today, otherwise with the date.
pub(crate) fn lately(time: Time, now: Time) -> String {
    let day = |time: Time| local(time, "%Y-%m-%d");
    if day(time) == day(now) { local(time, "%H:%M") } else { minute(time) }
}

/// Formats a time for scripts, in UTC: `2026-03-02T10:58:03.000Z`; `None` if no calendar contains
/// it.
pub(crate) fn iso(time: Time) -> Option<String> {
    timestamp(time).map(|_| time.iso())
}

fn local(time: Time, form: &str) -> String {
    timestamp(time).map_or(String::new(), |at| at.to_zoned(TimeZone::system()).strftime(form).to_string())
}

fn timestamp(time: Time) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.0).ok().filter(|_| time.is_some())
}

/// Parses a time that a user asks for: an ISO 8601 date or time, `now`, `today`, `yesterday`, a
/// weekday, `last week`, a time of day (`12:05`), or an age (`2h`, `3 days ago`). A date without an
/// hour begins at midnight, in the user's time zone.
pub(crate) fn parse(text: &str, now: Time) -> Result<Time, Failure> {
    read(text.trim(), now, TimeZone::system()).ok_or_else(|| Failure::Usage {
        what: format!("invalid time `{text}`"),
        hint: "use a date (2026-03-02, 2026-03-02T12:00), an age (2h, 3 days), a weekday, a time of day (12:05), `today`, `yesterday` or `last week`".into(),
    })
}

fn read(text: &str, now: Time, zone: TimeZone) -> Option<Time> {
    let now = Timestamp::from_millisecond(now.0).ok()?.to_zoned(zone.clone());
    let since_monday = i64::from(now.weekday().to_monday_zero_offset());
    let midnight = |days: i64| now.start_of_day().ok()?.checked_sub(Span::new().days(days)).ok();
    let at: Zoned = match text.to_lowercase().as_str() {
        "now" => now,
        "today" => midnight(0)?,
        "yesterday" => midnight(1)?,
        "this week" => midnight(since_monday)?,
        "last week" => midnight(since_monday + 7)?,
        "this month" => now.start_of_day().ok()?.first_of_month().ok()?,
        "last month" => {
            now.start_of_day().ok()?.first_of_month().ok()?.checked_sub(Span::new().months(1)).ok()?
        }
        text => {
            // The last such day; on the day itself, today.
            if let Some(day) = weekday(text.strip_prefix("last ").unwrap_or(text)) {
                let back = (since_monday - i64::from(day)).rem_euclid(7);
                let back = if back == 0 && text.starts_with("last ") { 7 } else { back };
                return Some(Time(midnight(back)?.timestamp().as_millisecond()));
            }
            if let Some(hour) = clock_time(text) {
                let at = now.date().to_datetime(hour).to_zoned(zone).ok()?;
                return Some(Time(at.timestamp().as_millisecond()));
            }
            if let Ok(at) = text.to_uppercase().parse::<Timestamp>() {
                at.to_zoned(zone)
            } else if let Ok(at) = text.to_uppercase().parse::<DateTime>() {
                at.to_zoned(zone).ok()?
            } else {
                let span: Span = text.strip_suffix("ago").unwrap_or(text).trim().parse().ok()?;
                // `2h` and `2h ago` mean the same; a future time is given by its date.
                let span = if span.is_negative() { -span } else { span };
                span.total((jiff::Unit::Second, SpanRelativeTo::from(&now))).ok()?;
                now.checked_sub(span).ok()?
            }
        }
    };
    Some(Time(at.timestamp().as_millisecond()))
}

/// Returns the number of a weekday, given its name or the first three letters; Monday is 0.
fn weekday(word: &str) -> Option<i8> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let is_named = |day: &&str| **day == *word || day[..3] == *word;
    DAYS.iter().position(is_named).map(|day| day as i8)
}

/// Parses a time of day: `12:05`, `9:30:15`.
fn clock_time(text: &str) -> Option<jiff::civil::Time> {
    let parts: Vec<i8> =
        text.split(':').map(|part| part.parse().ok().filter(|_| part.len() <= 2)).collect::<Option<_>>()?;
    match parts[..] {
        [hour, minute] => jiff::civil::Time::new(hour, minute, 0, 0).ok(),
        [hour, minute, second] => jiff::civil::Time::new(hour, minute, second, 0).ok(),
        _ => None,
    }
}

/// The options of a command that looks at a part of the time.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Between {
    /// Only entries from this time on: a date, an age such as `2h`, `monday`, `last week`, `12:05`
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,

    /// Only entries up to this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

/// The time from which and up to which entries count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Window {
    since: Option<Time>,
    until: Option<Time>,
}

impl Between {
    /// Reads the times.
    pub(crate) fn window(&self) -> Result<Window, Failure> {
        let time = |word: &Option<String>| word.as_deref().map(|word| parse(word, now())).transpose();
        Ok(Window { since: time(&self.since)?, until: time(&self.until)? })
    }
}

impl Window {
    /// Whether every time is in it, and what has none.
    pub(crate) fn is_open(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }

    /// Whether a time is in it; what has no time is in an open one only.
    pub(crate) fn has(&self, time: Time) -> bool {
        self.is_open()
            || time.is_some()
                && self.since.is_none_or(|since| time >= since)
                && self.until.is_none_or(|until| time <= until)
    }
}

/// Returns when a file was last written.
pub(crate) fn of_file(path: &std::path::Path) -> Time {
    let written = path.metadata().and_then(|facts| facts.modified()).ok();
    let since = written.and_then(|at| at.duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).map_or(Time::NONE, Time)
}

/// Returns the Monday of a time's week, as a date in the user's time zone.
pub(crate) fn monday(time: Time) -> Option<String> {
    let day = timestamp(time)?.to_zoned(TimeZone::system()).date();
    let back = i64::from(day.weekday().to_monday_zero_offset());
    Some(day.checked_sub(Span::new().days(back)).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_772_452_800_000); // 2026-03-02T12:00:00Z

    #[test]
    #[rustfmt::skip] // a table
    fn ages_have_one_unit() {
        let check = |seconds: i64, wanted: &str| assert_eq!(age(Time(NOW.0 - seconds * 1000), NOW), wanted);
        check(-5, "0s");
        check(0, "0s");
        check(59, "59s");
        check(60, "1m");
        check(3_599, "59m");
        check(7_200, "2h");
        check(86_400, "1d");
        check(86_400 * 13, "13d");
        check(86_400 * 14, "2w");
        check(86_400 * 60, "2mo");
        check(86_400 * 800, "2y");
        assert_eq!(age(Time::NONE, NOW), "");
    }

    #[test]
    fn a_time_that_no_calendar_has_is_not_made_up() {
        for time in [Time::NONE, Time(i64::MAX), Time(i64::MIN + 1)] {
            assert_eq!(date(time), "");
            assert_eq!(second(time), " ".repeat(19));
            assert_eq!(minute(time), "");
            assert_eq!(lately(time, NOW), "");
            assert_eq!(iso(time), None);
        }
        assert_eq!(second(NOW).len(), 19);
        assert_eq!(lately(NOW, NOW), minute(NOW)[11..]);
        assert_eq!(lately(Time(0), NOW), minute(Time(0)));
        assert_eq!(iso(NOW).unwrap(), "2026-03-02T12:00:00.000Z");
    }

    #[test]
    #[rustfmt::skip] // a table
    fn times_are_asked_for_in_words_and_dates() {
        let check = |text: &str, wanted: Option<&str>| {
            let wanted = wanted.map(|at| Time(at.parse::<Timestamp>().unwrap().as_millisecond()));
            assert_eq!(read(text, NOW, TimeZone::UTC), wanted, "{text}");
        };
        check("2026-03-01",              Some("2026-03-01T00:00:00Z"));
        check("2026-03-01T10:30",        Some("2026-03-01T10:30:00Z"));
        check("2026-03-01 10:30",        Some("2026-03-01T10:30:00Z"));
        check("2026-03-01T10:30:00Z",    Some("2026-03-01T10:30:00Z"));
        check("2026-03-01T10:30:00+02:00", Some("2026-03-01T08:30:00Z"));
        check("2h",                      Some("2026-03-02T10:00:00Z"));
        check("2h ago",                  Some("2026-03-02T10:00:00Z"));
        check("3 days",                  Some("2026-02-27T12:00:00Z"));
        check("1 week ago",              Some("2026-02-23T12:00:00Z"));
        check("90m",                     Some("2026-03-02T10:30:00Z"));
        check("yesterday",               Some("2026-03-01T00:00:00Z"));
        check("today",                   Some("2026-03-02T00:00:00Z"));
        check("now",                     Some("2026-03-02T12:00:00Z"));
        // The current day is a Monday.
        check("monday",                  Some("2026-03-02T00:00:00Z"));
        check("last monday",             Some("2026-02-23T00:00:00Z"));
        check("Sunday",                  Some("2026-03-01T00:00:00Z"));
        check("tue",                     Some("2026-02-24T00:00:00Z"));
        check("last friday",             Some("2026-02-27T00:00:00Z"));
        check("this week",               Some("2026-03-02T00:00:00Z"));
        check("last week",               Some("2026-02-23T00:00:00Z"));
        check("this month",              Some("2026-03-01T00:00:00Z"));
        check("last month",              Some("2026-02-01T00:00:00Z"));
        check("11:05",                   Some("2026-03-02T11:05:00Z"));
        check("9:30:15",                 Some("2026-03-02T09:30:15Z"));
        check("25:00",                   None);
        check("12:5x",                   None);
        check("soon",                    None);
        check("",                        None);
    }
}
