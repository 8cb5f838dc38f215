//! Options of the lines in `crypttab` and `fstab`. Sources: `crypttab(5)`, `systemd.mount(5)`.

/// Options of every line in `crypttab`: without the key the host still boots (`nofail`) and asks nobody for a
/// passphrase (`headless`).
pub(crate) const CRYPTTAB: &str = "luks,nofail,headless";
/// The options without which a host can hang while it boots.
pub(super) const CRYPTTAB_NEEDED: [&str; 2] = ["nofail", "headless"];
/// Options to read and write the volume without the work queues of dm-crypt.
pub(super) const NO_QUEUES: &str = "no-read-workqueue,no-write-workqueue";
/// Option to pass freed blocks on to the disk (TRIM).
pub(super) const DISCARD: &str = "discard";
/// Options of the line in `fstab`; the number of seconds follows.
pub(super) const FSTAB: &str = "noatime,nofail,x-systemd.device-timeout=";
/// The option without which a host can hang while it boots.
pub(super) const FSTAB_NEEDED: [&str; 1] = ["nofail"];

/// Whether `boot install` writes these options to `crypttab`, for some volume.
pub(super) fn are_of_crypttab(options: &str) -> bool {
    let rest = options.strip_prefix(CRYPTTAB).map(|rest| without(rest, DISCARD));
    rest.is_some_and(|rest| without(rest, NO_QUEUES).is_empty())
}

/// Removes the options `last` and the comma before them from the end of `options`, if they are there.
fn without<'o>(options: &'o str, last: &str) -> &'o str {
    options.strip_suffix(last).and_then(|rest| rest.strip_suffix(',')).unwrap_or(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_needed_options_are_written() {
        let has = |options: &str, needed: &str| options.split(',').any(|option| option == needed);
        assert!(CRYPTTAB_NEEDED.iter().all(|needed| has(CRYPTTAB, needed)));
        assert!(FSTAB_NEEDED.iter().all(|needed| has(FSTAB, needed)));
    }

    #[test]
    fn only_options_of_an_installation_are_ours() {
        let none = CRYPTTAB.to_owned();
        for ours in [none.clone(), format!("{CRYPTTAB},{NO_QUEUES}"), format!("{CRYPTTAB},{NO_QUEUES},{DISCARD}")] {
            assert!(are_of_crypttab(&ours), "{ours}");
        }
        for other in ["luks,nofail".to_owned(), format!("{none},tries=1"), format!("{none}discard")] {
            assert!(!are_of_crypttab(&other), "{other}");
        }
    }
}
