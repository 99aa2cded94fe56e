//! Points in time: parsing and formatting.

/// A point in time: milliseconds since 1970, UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub i64);

impl Time {
    /// The time of an entry that has no time, or one that can't be parsed.
    pub const NONE: Time = Time(i64::MIN);

    /// Returns whether there is a time.
    pub fn is_some(self) -> bool {
        self != Time::NONE
    }

    /// Returns the time as the agents write it, `2026-03-02T00:00:00.000Z`; empty if there is none.
    pub fn iso(self) -> String {
        if !self.is_some() {
            return String::new();
        }
        let (days, millis) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = date_of(days);
        let (hour, minute) = (millis / 3_600_000, millis / 60_000 % 60);
        let (second, milli) = (millis / 1000 % 60, millis % 1000);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// Parses a time as the formats write it: `2026-03-02T00:00:00.000Z`, with or without an offset,
/// with any number of fractional digits or none.
///
/// Returns [`Time::NONE`] for anything else. Digits beyond milliseconds are cut off.
pub fn parse_time(text: &[u8]) -> Time {
    usual(text).or_else(|| read(text)).unwrap_or(Time::NONE)
}

/// Parses a sequence of times. Most are in the same month as the one before, so the days up to that
/// month are cached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    /// The last year and month, as spelled: `2026-03-`.
    month: [u8; 8],
    /// The number of days from 1970 to the start of that month.
    days: i64,
}

impl Clock {
    /// Parses a time like [`parse_time`].
    #[inline]
    pub fn read(&mut self, text: &[u8]) -> Time {
        match load_words(text) {
            Some(words) if words[0] == self.month => {
                in_month(self.days, words).unwrap_or_else(|| parse_time(text))
            }
            Some(words) => {
                if let Some(days) = days_before(words[0]) {
                    *self = Clock { month: words[0], days };
                }
                parse_time(text)
            }
            None => parse_time(text),
        }
    }
}

/// Parses a time in the usual spelling, `2026-03-02T00:00:00.000Z`; returns `None` for any other
/// spelling, right or wrong.
fn usual(text: &[u8]) -> Option<Time> {
    let words = load_words(text)?;
    in_month(days_before(words[0])?, words)
}

#[inline(always)]
fn load_words(text: &[u8]) -> Option<&[[u8; 8]; 3]> {
    <&[u8; 24]>::try_from(text).ok()?.as_chunks().0.try_into().ok()
}

/// Returns the number of days from 1970 to the start of a month, which is spelled `2026-03-`.
fn days_before(month: [u8; 8]) -> Option<i64> {
    let date = pairs(month, *b"0000-00-", *b"\0\0\0\0\xFF\0\0\xFF")?;
    let (year, month) = (pair(date, 0) * 100 + pair(date, 2), pair(date, 5));
    (1..=12).contains(&month).then(|| days_since_1970(i64::from(year), i64::from(month), 1) - 1)
}

/// Returns a time in a month that starts `days` days after 1970-01-01.
#[inline(always)]
fn in_month(days: i64, words: &[[u8; 8]; 3]) -> Option<Time> {
    let hours = pairs(words[1], *b"00T00:00", *b"\0\0\xFF\0\0\xFF\0\0")?;
    let seconds = pairs(words[2], *b":00.000Z", *b"\xFF\0\0\xFF\0\0\0\xFF")?;
    let (day, hour, minute, second) = (pair(hours, 0), pair(hours, 3), pair(hours, 6), pair(seconds, 1));
    let milli = pair(seconds, 3) * 100 + pair(seconds, 5);
    if day.wrapping_sub(1) > 30 || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = (days + i64::from(day)) * 86_400 + i64::from((hour * 60 + minute) * 60 + second);
    Some(Time(seconds * 1000 + i64::from(milli)))
}

/// Extracts the number of the two digits that begin at a position, from the result of [`pairs`].
#[inline(always)]
fn pair(pairs: u64, place: u32) -> u32 {
    (pairs >> (place * 8) & 0xFF) as u32
}

/// Returns the numbers that each two of eight characters form, if they match the pattern `spelled`:
/// any digit matches a zero, and `signs` selects the bytes that must be equal. Each byte of the
/// result is the number formed by the digits at that position and the next.
#[inline(always)]
fn pairs(word: [u8; 8], spelled: [u8; 8], signs: [u8; 8]) -> Option<u64> {
    const EACH: u64 = u64::MAX / 0xFF;
    // XOR turns each digit into its value and each matching sign into zero.
    let digits = u64::from_le_bytes(word) ^ u64::from_le_bytes(spelled);
    let over = digits | ((digits & (EACH * 0x7F)) + EACH * (0x80 - 10));
    let wrong = over & (EACH * 0x80) | digits & u64::from_le_bytes(signs);
    (wrong == 0).then(|| digits * 10 + (digits >> 8))
}

fn read(text: &[u8]) -> Option<Time> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits
            .iter()
            .try_fold(0, |value, digit| digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0')))
    };
    let is = |at: usize, wanted: &[u8]| text.get(at).is_some_and(|byte| wanted.contains(byte));
    if !(is(4, b"-") && is(7, b"-")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_since_1970(year, month, day);
    if text.len() == 10 {
        return Some(Time(days * 86_400_000));
    }
    if !(is(10, b"Tt ") && is(13, b":")) {
        return None;
    }
    let (hour, minute) = (number(11, 13)?, number(14, 16)?);
    let (mut at, mut second, mut milli) = (16, 0, 0);
    if is(at, b":") {
        second = number(17, 19)?;
        at = 19;
        if is(at, b".,") {
            at += 1;
            let from = at;
            while text.get(at).is_some_and(u8::is_ascii_digit) {
                if at - from < 3 {
                    milli += i64::from(text[at] - b'0') * [100, 10, 1][at - from];
                }
                at += 1;
            }
            if at == from {
                return None;
            }
        }
    }
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let offset = match text.get(at) {
        None => 0, // JavaScript takes local time; the agents always write Z.
        Some(b'Z' | b'z') if text.len() == at + 1 => 0,
        Some(sign @ (b'+' | b'-')) => {
            let hours = number(at + 1, at + 3)?;
            let minutes = if is(at + 3, b":") { number(at + 4, at + 6)? } else { number(at + 3, at + 5)? };
            (hours * 60 + minutes) * if *sign == b'-' { -1 } else { 1 }
        }
        Some(_) => return None,
    };
    Some(Time((((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + milli))
}

/// Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar, for the years 0
/// to 9999.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, and 400 years (one full cycle) are added, so that nothing is negative.
    const BEFORE_MONTH: [u16; 16] = [0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 0, 0, 0];
    let year = (year + if month <= 2 { 399 } else { 400 }) as u32;
    let century = year / 100;
    let day_of_year = u32::from(BEFORE_MONTH[month as usize % 16]) + day as u32 - 1;
    let days = year * 365 + year / 4 - century + century / 4 + day_of_year;
    i64::from(days) - 146_097 - 719_468
}

/// Returns the date in the proleptic Gregorian calendar, given the days since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months are counted from March.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip] // a table
    fn times_are_read_as_the_agents_write_them() {
        let mut clock = Clock::default();
        let mut check = |text: &str, millis: Option<i64>| {
            assert_eq!(parse_time(text.as_bytes()), millis.map_or(Time::NONE, Time), "{text}");
            assert_eq!(clock.read(text.as_bytes()), millis.map_or(Time::NONE, Time), "{text}");
        };
        check("1970-01-01T00:00:00.000Z",          Some(0));
        check("2026-03-02T00:00:00.000Z",          Some(1_772_409_600_000));
        check("2026-03-02T00:00:00Z",              Some(1_772_409_600_000));
        check("2026-03-02T01:00:00.250+01:00",     Some(1_772_409_600_250));
        check("2026-03-02T00:00:00.123456+00:00",  Some(1_772_409_600_123));
        check("2026-03-02",                        Some(1_772_409_600_000));
        check("1969-12-31T23:59:59.999Z",          Some(-1));
        check("2024-02-29T23:59:59.999Z",          Some(1_709_251_199_999));
        check("0000-01-01T00:00:00.000Z",          Some(-62_167_219_200_000));
        check("2026-03-02T00:00:00.00xZ",          None);
        check("2026-03-02T00:00:00.00:Z",          None);
        check("2026-03-02T00:00:00.00\u{7f}Z",      None);
        check("2026-03-02T00:00:00.00éZ",          None);
        check("2026-03-02T00:00:00/000Z",          None);
        check("2026-03-02T00;00:00.000Z",          None);
        check("2026-03-02T24:59:60.999Z",          Some(1_772_499_600_999));
        check("2026-03-02T00:60:00.000Z",          None);
        check("2026-03-32T00:00:00.000Z",          None);
        check("2026-13-02T00:00:00.000Z",          None);
        check("2026-03-02T00:00:00.Z",             None);
        check("yesterday",                         None);
        check("",                                  None);
    }

    #[test]
    fn a_time_that_is_written_is_read_again() {
        let mut clock = Clock::default();
        for days in (-800_000..800_000).step_by(17) {
            let time = Time(days * 86_400_000 + 12_345_678);
            if (0..10_000).contains(&date_of(days).0) {
                assert_eq!(parse_time(time.iso().as_bytes()), time, "{}", time.iso());
                assert_eq!(clock.read(time.iso().as_bytes()), time, "{}", time.iso());
            }
        }
        assert_eq!(Time(1_772_409_600_250).iso(), "2026-03-02T00:00:00.250Z");
        assert_eq!(Time::NONE.iso(), "");
    }
}
