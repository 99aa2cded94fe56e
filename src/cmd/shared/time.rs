//! The current time, and formatting and parsing of times.

use crate::cmd::Failure;
use crate::model::{Time, parse_time};
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
    at(time).map(|_| time.iso())
}

fn local(time: Time, form: &str) -> String {
    at(time).map_or(String::new(), |at| at.to_zoned(TimeZone::system()).strftime(form).to_string())
}

fn at(time: Time) -> Option<Timestamp> {
    Timestamp::from_millisecond(time.0).ok().filter(|_| time.is_some())
}

/// Reads a time that a user asks for: a date or a time as ISO 8601 has it, `now`, `today`, `yesterday`, or how long ago
/// it was (`2h`, `3 days ago`). A date without an hour begins at midnight, in the user's time zone.
pub(crate) fn parse(text: &str, now: Time) -> Result<Time, Failure> {
    read(text.trim(), now, TimeZone::system()).ok_or_else(|| Failure::Usage {
        what: format!("invalid time `{text}`"),
        hint: "use a date (2026-03-02, 2026-03-02T12:00), an age (2h, 3 days), `today` or `yesterday`".into(),
    })
}

fn read(text: &str, now: Time, zone: TimeZone) -> Option<Time> {
    let now = Timestamp::from_millisecond(now.0).ok()?.to_zoned(zone.clone());
    let midnight = |days: i64| now.start_of_day().ok()?.checked_sub(Span::new().days(days)).ok();
    let at: Zoned = match text.to_lowercase().as_str() {
        "now" => now,
        "today" => midnight(0)?,
        "yesterday" => midnight(1)?,
        text => {
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
        check("soon",                    None);
        check("",                        None);
    }
}
