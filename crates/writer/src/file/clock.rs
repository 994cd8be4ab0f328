//! The date of what is written.

use std::time::{SystemTime, UNIX_EPOCH};

use arrowroot_format::container::Datime;

const DAY_SECONDS: u64 = 86_400;

/// The present date and time, UTC: local time is not known without reading a database of time zones.
pub(super) fn now() -> Datime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    datime(since.as_secs())
}

/// The date of so many seconds after 1970.
fn datime(seconds: u64) -> Datime {
    let [mut days, second] = [seconds / DAY_SECONDS, seconds % DAY_SECONDS];
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days_of_year = |year: u64| if is_leap(year) { 366 } else { 365 };
    let mut year = 1970;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let mut month = 1;
    for n_days in [31, days_of_year(year) - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < n_days {
            break;
        }
        days -= n_days;
        month += 1;
    }
    let fields = [year, month, days + 1, second / 3600, second / 60 % 60, second % 60];
    Datime::from_fields(fields.map(|field| u32::try_from(field).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        for (seconds, date) in [
            (1_709_251_198, "2024-02-29 23:59:58"),
            (1_709_251_200, "2024-03-01 00:00:00"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_767_225_599, "2025-12-31 23:59:59"),
            (2_777_068_800, "2058-01-01 00:00:00"),
        ] {
            assert_eq!(datime(seconds).to_string(), date);
        }
    }
}
