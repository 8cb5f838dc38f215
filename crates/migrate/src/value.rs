//! Values of the binary log, as texts, as literals for statements, and as fields for `LOAD DATA`.
//!
//! A literal stores the same bits as at the source, in a session with `SET NAMES binary` and `time_zone='+00:00'`.

use std::borrow::Cow;

use binlog::{
    Value,
    value::{Timestamp, WholeDoubles},
};

use crate::{Column, NotWritable, fixed_binary, literal};

/// Whether a column is UNSIGNED.
#[must_use]
pub(crate) fn is_unsigned(column: &Column) -> bool {
    column.column_type.contains("unsigned")
}

/// The text that a server sends for a value of a key; `None` for NULL and for types that keys cannot have.
#[must_use]
pub(crate) fn text(value: &Value<'_>, unsigned: bool) -> Option<Vec<u8>> {
    Some(match value {
        Value::Integer(integer) if unsigned => integer.as_unsigned().to_string().into_bytes(),
        Value::Integer(integer) => integer.as_signed().to_string().into_bytes(),
        Value::Year(year) => year.to_string().into_bytes(),
        Value::Decimal(decimal) => decimal.to_string().into_bytes(),
        Value::Date(date) => date.to_string().into_bytes(),
        Value::Time(time) => time.to_string().into_bytes(),
        Value::DateTime(moment) => moment.to_string().into_bytes(),
        Value::Timestamp(moment) => timestamp(moment).into_bytes(),
        Value::Bit { value, .. } => value.to_be_bytes().to_vec(),
        Value::String(bytes) => bytes.to_vec(),
        _ => return None,
    })
}

/// Appends a value as a literal.
///
/// # Errors
/// [`NotWritable`].
pub(crate) fn write(
    out: &mut Vec<u8>,
    value: Option<&Value<'_>>,
    column: &Column,
    doubles: WholeDoubles,
) -> Result<(), NotWritable> {
    if let (Some(Value::String(bytes)), Some(length)) = (value, fixed_binary::length(column)) {
        out.extend_from_slice(fixed_binary::literal(bytes, length).as_bytes());
        return Ok(());
    }
    let Some(field) = field(value, column, doubles)? else {
        out.extend_from_slice(b"NULL");
        return Ok(());
    };
    match value {
        Some(Value::Bit { value, .. }) => out.extend(value.to_string().into_bytes()),
        Some(
            Value::Integer(_)
            | Value::Year(_)
            | Value::Decimal(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::Enum(_)
            | Value::Set { .. },
        ) => out.extend_from_slice(&field),
        Some(Value::Json(_)) => {
            out.extend_from_slice(b"CONVERT(");
            literal::quote_into(out, &field);
            out.extend_from_slice(b" USING utf8mb4)");
        }
        _ => literal::quote_into(out, &field),
    }
    Ok(())
}

/// A value as the field of a line of `LOAD DATA`, by [`MovedTable::load`](crate::moved_table::MovedTable::load); `None` for NULL.
///
/// # Errors
/// [`NotWritable`].
pub(crate) fn field<'v>(
    value: Option<&'v Value<'_>>,
    column: &Column,
    doubles: WholeDoubles,
) -> Result<Option<Cow<'v, [u8]>>, NotWritable> {
    let value = value.ok_or(NotWritable::Missing)?;
    if let (Value::String(bytes), Some(length)) = (value, fixed_binary::length(column)) {
        return Ok(Some(Cow::Owned(fixed_binary::text(bytes, length, &column.data_type).into_bytes())));
    }
    Ok(Some(match value {
        Value::Null => return Ok(None),
        // Every FLOAT is also a DOUBLE, and the shortest decimal text of a DOUBLE is read back as the same bits.
        Value::Float(float) => Cow::Owned(format!("{:e}", f64::from(*float)).into_bytes()),
        Value::Double(double) => Cow::Owned(format!("{double:e}").into_bytes()),
        // As a text, a single zero would be the year 2000.
        Value::Year(year) => Cow::Owned(format!("{year:04}").into_bytes()),
        Value::Set { value, .. } => Cow::Owned(value.to_string().into_bytes()),
        Value::Enum(index) => Cow::Owned(index.to_string().into_bytes()),
        Value::String(bytes) | Value::Blob(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => {
            Cow::Borrowed(*bytes)
        }
        Value::Json(json) => {
            let text = json.exact_text(doubles).map_err(|_| NotWritable::Type)?;
            Cow::Owned(text.ok_or(NotWritable::JsonScalar)?)
        }
        Value::JsonChanges(_) => return Err(NotWritable::PartialJson),
        other => Cow::Owned(text(other, is_unsigned(column)).ok_or(NotWritable::Type)?),
    }))
}

/// A TIMESTAMP in UTC. Second zero stands for the zero date.
fn timestamp(moment: &Timestamp) -> String {
    let fraction = fraction(moment.microseconds, moment.decimals);
    if moment.seconds == 0 {
        return format!("0000-00-00 00:00:00{fraction}");
    }
    let whole = jiff::Timestamp::from_second(i64::from(moment.seconds)).unwrap_or_default();
    format!("{}{fraction}", whole.strftime("%Y-%m-%d %H:%M:%S"))
}

fn fraction(microseconds: u32, decimals: u8) -> String {
    let digits = format!("{microseconds:06}");
    match digits.get(..usize::from(decimals)) {
        None | Some("") => String::new(),
        Some(digits) => format!(".{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing;

    #[test]
    fn a_field_and_a_literal_are_one_value() {
        let forms = |column: Column, value: &Value<'_>| {
            let mut literal = Vec::new();
            write(&mut literal, Some(value), &column, WholeDoubles::AsIntegers).unwrap();
            let field = field(Some(value), &column, WholeDoubles::AsIntegers).unwrap();
            (String::from_utf8(literal).unwrap(), field.map(Cow::into_owned))
        };
        let both = |literal: &str, field: &[u8]| (literal.to_owned(), Some(field.to_vec()));
        let column = || testing::column("c");
        assert_eq!(forms(column(), &Value::Null), ("NULL".to_owned(), None));
        assert_eq!(forms(column(), &Value::Year(0)), both("0000", b"0000"));
        assert_eq!(forms(column(), &Value::Double(0.5)), both("5e-1", b"5e-1"));
        assert_eq!(forms(column(), &Value::Enum(3)), both("3", b"3"));
        assert_eq!(forms(column(), &Value::String(b"it's")), both("'it\\'s'", b"it's"));
        let missing = field(None, &column(), WholeDoubles::AsIntegers).unwrap_err();
        assert_eq!(missing, NotWritable::Missing);
    }

    #[test]
    fn timestamps_are_in_utc() {
        let at = |seconds, microseconds, decimals| timestamp(&Timestamp { seconds, microseconds, decimals });
        assert_eq!(at(0, 0, 0), "0000-00-00 00:00:00");
        assert_eq!(at(1, 120_000, 2), "1970-01-01 00:00:01.12");
        assert_eq!(at(2_147_483_647, 999_999, 6), "2038-01-19 03:14:07.999999");
        assert_eq!(at(u32::MAX, 0, 0), "2106-02-07 06:28:15");
    }
}
