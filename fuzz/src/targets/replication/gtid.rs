//! Any two lines as GTIDs of either family: they survive being written, and comparisons agree with each other.

use replication::gtid::Executed;

pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (one, other) = text.split_once('\n').unwrap_or((text, ""));
    let Ok(one) = one.parse::<Executed>() else { return };
    assert_eq!(one.to_string().parse::<Executed>().as_ref(), Ok(&one));
    assert!(one.includes(&one) && one.follows(&one) && one.is_recovery_of(&one));
    let Ok(other) = other.parse::<Executed>() else { return };
    if one.includes(&other) && other.includes(&one) {
        assert_eq!(one.is_empty(), other.is_empty());
    }
}
