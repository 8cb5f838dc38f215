//! Prints doubles as MySQL does.
//!
//! Source: `my_gcvt` in `dtoa.cc` of MySQL, with the width that JSON uses: the shortest digits that give the same
//! double, with an exponent below 10⁻¹⁵ and from 10¹⁵ on, unless there are fractional digits.

use super::document::WholeDoubles;

/// Number of integer digits, and of zeros after the point, up to which no exponent is used.
const MAX_PLAIN: i32 = 15;

/// The text of a double.
pub(super) fn text(number: f64, whole: WholeDoubles) -> String {
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if number.is_sign_negative() { "-" } else { "" };
    // The point precedes the digit with this number.
    let point = exponent.saturating_add(1);
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let plain = point > -MAX_PLAIN && (point <= MAX_PLAIN || count > point);
    let body = if plain { plainly(&digits, point) } else { with_exponent(&digits, exponent) };
    let has_point = whole == WholeDoubles::AsIntegers || body.contains(['.', 'e']);
    let fraction = if has_point { "" } else { ".0" };
    format!("{sign}{body}{fraction}")
}

fn plainly(digits: &str, point: i32) -> String {
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if point <= 0 {
        return format!("0.{}{digits}", zeros(point.saturating_neg()));
    }
    let whole_digits = usize::try_from(point).unwrap_or(0);
    match digits.split_at_checked(whole_digits) {
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => {
            let missing = whole_digits.saturating_sub(digits.len());
            format!("{digits}{}", "0".repeat(missing))
        }
    }
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}e{exponent}"),
        _ => format!("{digits}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_printed_like_the_server_does() {
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (0.1, "0.1"),
            (1e15, "1e15"),
            (123_456_789_012_345.0, "123456789012345.0"),
            (1e14, "100000000000000.0"),
            (1e-14, "0.00000000000001"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(text(number, WholeDoubles::WithPoint), expected);
        }
    }

    #[test]
    fn whole_doubles_are_printed_like_5_7_does() {
        for (number, expected) in [(1.0, "1"), (-12.0, "-12"), (1.5, "1.5"), (1e15, "1e15"), (1e14, "100000000000000")]
        {
            assert_eq!(text(number, WholeDoubles::AsIntegers), expected);
        }
    }
}
