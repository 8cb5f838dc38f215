//! Names of objects in a repository, the same in a directory and in a bucket.

use jiff::Timestamp;

use crate::Digest;

/// Name of the object that marks a repository.
pub const REPOSITORY: &str = "sealant-repo.json";
/// Prefix of the objects of hosts.
pub const HOSTS: &str = "hosts/";
/// Maximum length of a host's name.
const MAX_HOST_BYTES: usize = 64;
/// Maximum length of the name of a server or of a log.
const MAX_LOG_BYTES: usize = 255;
const AGE: &str = ".age";
/// Ending of the name of a receipt, and of the declaration of a prune.
pub const RECEIPT: &str = ".json";
/// Ending of the name of a receipt's signature.
pub const SIGNATURE: &str = ".json.sig";

/// Number of a backup: counted from 1 for each host.
pub type Number = u64;

/// Whether `name` is valid for a host: letters, digits, `.`, `_` and `-`, beginning with a letter, a digit or `_`.
/// These characters have no special meaning in access policies or patterns.
#[must_use]
pub fn is_host(name: &str) -> bool {
    is_part(name, MAX_HOST_BYTES)
}

/// Prefix of a host's objects.
#[must_use]
pub fn of_host(host: &str) -> String {
    format!("{HOSTS}{host}/")
}

/// Prefix of a host's packs.
#[must_use]
pub fn packs(host: &str) -> String {
    format!("{HOSTS}{host}/packs/")
}

/// The digest in the name of a pack of this host; `None` if `name` is not the name of a pack.
#[must_use]
pub fn pack_digest(host: &str, name: &str) -> Option<Digest> {
    let (_, digits) = name.strip_prefix(&packs(host))?.strip_suffix(AGE)?.split_once('/')?;
    digits.parse().ok().filter(|digest| pack(host, digest) == name)
}

/// Name of a pack.
#[must_use]
pub fn pack(host: &str, digest: &Digest) -> String {
    let digits = digest.to_string();
    let front = digits.get(..2).unwrap_or_default();
    format!("{}{front}/{digits}.age", packs(host))
}

/// Prefix of a host's manifests.
#[must_use]
pub fn manifests(host: &str) -> String {
    format!("{HOSTS}{host}/manifests/")
}

/// Name of a manifest.
#[must_use]
pub fn manifest(host: &str, number: Number) -> String {
    format!("{}{number:06}{AGE}", manifests(host))
}

/// Number of the backup whose manifest has this name; `None` for other names.
#[must_use]
pub fn manifest_number(host: &str, name: &str) -> Option<Number> {
    digits(name.strip_prefix(&manifests(host))?.strip_suffix(AGE)?)
}

/// Whether a name is that of a manifest of any host.
#[must_use]
pub fn is_manifest(name: &str) -> bool {
    host(name).and_then(|host| manifest_number(host, name)).is_some()
}

/// Name of the object with the keys of a backup's files.
#[must_use]
pub fn keys(host: &str, number: Number) -> String {
    format!("{}{number:06}{AGE}", all_keys(host))
}

/// Prefix of a host's receipts.
#[must_use]
pub fn receipts(host: &str) -> String {
    format!("{HOSTS}{host}/receipts/")
}

/// Name of a receipt.
#[must_use]
pub fn receipt(host: &str, number: Number) -> String {
    format!("{}{number:06}{RECEIPT}", receipts(host))
}

/// Name of a receipt's signature.
#[must_use]
pub fn signature(host: &str, number: Number) -> String {
    format!("{}{number:06}{SIGNATURE}", receipts(host))
}

/// The number of the backup whose receipt or signature has this name, and whether it is the receipt.
#[must_use]
pub fn receipt_number(host: &str, name: &str) -> Option<(Number, bool)> {
    let file = name.strip_prefix(&receipts(host))?;
    let (digits, is_receipt) = match file.strip_suffix(SIGNATURE) {
        Some(digits) => (digits, false),
        None => (file.strip_suffix(RECEIPT)?, true),
    };
    Some((self::digits(digits)?, is_receipt))
}

/// Whether a name is that of a receipt of any host.
#[must_use]
pub fn is_receipt(name: &str) -> bool {
    host(name).and_then(|host| receipt_number(host, name)).is_some_and(|(_, is_receipt)| is_receipt)
}

/// Prefix of the declarations of prunes.
pub const PRUNES: &str = "prunes/";

/// Name of the declaration of a prune at this time, to the second; `attempt` distinguishes declarations of the same
/// second.
#[must_use]
pub fn prune(at: Timestamp, attempt: u32) -> String {
    format!("{PRUNES}{}-{attempt}{RECEIPT}", at.strftime("%Y%m%dT%H%M%SZ"))
}

/// Name of the signature of a declaration; `None` if `declaration` is not the name of one.
#[must_use]
pub fn prune_signature(declaration: &str) -> Option<String> {
    let name = declaration.strip_prefix(PRUNES)?.strip_suffix(RECEIPT)?;
    Some(format!("{PRUNES}{name}{SIGNATURE}"))
}

/// Prefix of the objects with the keys of a host's files.
#[must_use]
pub fn all_keys(host: &str) -> String {
    format!("{HOSTS}{host}/keys/")
}

/// Number of the backup whose keys have this name; `None` for other names.
#[must_use]
pub fn keys_number(host: &str, name: &str) -> Option<Number> {
    digits(name.strip_prefix(&all_keys(host))?.strip_suffix(AGE)?)
}

/// Whether `name` is valid for a server in the archive of binary logs (the `server_uuid` of MySQL, the `server_id` of
/// MariaDB), or for one of its logs: the characters of a host's name.
#[must_use]
pub fn is_log_name(name: &str) -> bool {
    is_part(name, MAX_LOG_BYTES)
}

/// Whether a text may be a part of an object's name between slashes.
fn is_part(text: &str, max_bytes: usize) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    !text.is_empty() && text.len() <= max_bytes && text.bytes().all(sound) && !text.starts_with(['.', '-'])
}

/// Prefix of a host's archive of binary logs.
#[must_use]
pub fn binlogs(host: &str) -> String {
    format!("{HOSTS}{host}/binlogs/")
}

/// Prefix of all objects in the archive of one server's binary logs.
#[must_use]
pub fn binlogs_of(host: &str, server: &str) -> String {
    format!("{}{server}/", binlogs(host))
}

/// Name of a part of a binary log: its start and end in the log, and the first digits of its SHA-256. Because of these,
/// a part that is stored again after an interruption gets another name.
#[must_use]
pub fn segment(host: &str, server: &str, file: &str, (start, end): (u64, u64), sha256: &Digest) -> String {
    let digits = sha256.to_string();
    let front = digits.get(..16).unwrap_or_default();
    format!("{}{file}/{start:010}-{end:010}-{front}{AGE}", binlogs_of(host, server))
}

/// The server in the name of a part of a binary log; `None` if it is not the name of a part.
#[must_use]
pub fn segment_server<'n>(host: &str, name: &'n str) -> Option<&'n str> {
    let mut names = name.strip_prefix(&binlogs(host))?.split('/');
    let (server, file, part) = (names.next()?, names.next()?, names.next()?);
    let mut numbers = part.strip_suffix(AGE)?.split('-');
    let (start, end, front) = (digits(numbers.next()?)?, digits(numbers.next()?)?, numbers.next()?);
    let is_hash = front.len() == 16 && front.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_part = names.next().is_none() && numbers.next().is_none() && is_hash && start <= end;
    (is_part && is_log_name(server) && is_log_name(file)).then_some(server)
}

/// Prefix of the receipts of the binary logs of a server.
#[must_use]
pub fn binlog_receipts(host: &str, server: &str) -> String {
    format!("{}receipts/", binlogs_of(host, server))
}

/// Name of a receipt of binary logs.
#[must_use]
pub fn binlog_receipt(host: &str, server: &str, number: Number) -> String {
    format!("{}{number:08}{RECEIPT}", binlog_receipts(host, server))
}

/// Name of the signature of a receipt of binary logs.
#[must_use]
pub fn binlog_signature(host: &str, server: &str, number: Number) -> String {
    format!("{}{number:08}{SIGNATURE}", binlog_receipts(host, server))
}

/// The server and the number in the name of a receipt of binary logs.
#[must_use]
pub fn binlog_receipt_number<'n>(host: &str, name: &'n str) -> Option<(&'n str, Number)> {
    let (server, file) = name.strip_prefix(&binlogs(host))?.split_once("/receipts/")?;
    let number = digits(file.strip_suffix(RECEIPT)?)?;
    (is_log_name(server) && binlog_receipt(host, server, number) == name).then_some((server, number))
}

/// The server and the number in the name of the signature of a receipt of binary logs.
#[must_use]
pub fn binlog_signature_number<'n>(host: &str, name: &'n str) -> Option<(&'n str, Number)> {
    let (server, file) = name.strip_prefix(&binlogs(host))?.split_once("/receipts/")?;
    let number = digits(file.strip_suffix(SIGNATURE)?)?;
    (is_log_name(server) && binlog_signature(host, server, number) == name).then_some((server, number))
}

/// Parses a number in a name.
fn digits(text: &str) -> Option<Number> {
    text.parse().ok().filter(|_| text.len() >= 6 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The host that an object belongs to, by the name of the object; `None` if it belongs to no host.
#[must_use]
pub fn host(name: &str) -> Option<&str> {
    let (host, _) = name.strip_prefix(HOSTS)?.split_once('/')?;
    is_host(host).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_documented() {
        let digest = Digest::compute(b"");
        assert_eq!(pack("db1", &digest), format!("hosts/db1/packs/e3/{digest}.age"));
        assert_eq!(pack_digest("db1", &pack("db1", &digest)), Some(digest));
        assert_eq!(pack_digest("db2", &pack("db1", &digest)), None);
        assert_eq!(manifest("db1", 123), "hosts/db1/manifests/000123.age");
        assert_eq!(receipt("db1", 123), "hosts/db1/receipts/000123.json");
        assert_eq!(signature("db1", 1_234_567), "hosts/db1/receipts/1234567.json.sig");
        assert_eq!(receipt_number("db1", &receipt("db1", 7)), Some((7, true)));
        assert_eq!(receipt_number("db1", &signature("db1", 7)), Some((7, false)));
        assert!(is_manifest(&manifest("db1", 7)) && !is_manifest(&receipt("db1", 7)));
        assert!(is_receipt(&receipt("db1", 7)) && !is_receipt(&signature("db1", 7)) && !is_receipt("000007.json"));
        assert_eq!(manifest_number("db1", &manifest("db1", 7)), Some(7));
        assert_eq!(host(&pack("db1", &digest)), Some("db1"));
        assert_eq!(keys_number("db1", &keys("db1", 7)), Some(7));
        let at: Timestamp = "2026-11-23T20:15:00.5Z".parse().unwrap();
        assert_eq!(prune(at, 1), "prunes/20261123T201500Z-1.json");
        assert_eq!(prune_signature(&prune(at, 1)).unwrap(), "prunes/20261123T201500Z-1.json.sig");
        assert_eq!(prune_signature("prunes/20261123T201500Z-1.json.sig"), None);
        for bad in ["hosts/db1/receipts/7.json", "hosts/db1/receipts/+00007.json", "hosts/db2/receipts/000007.json"] {
            assert_eq!(receipt_number("db1", bad), None, "{bad}");
        }
    }

    #[test]
    fn parts_of_binary_logs_have_names_in_their_order() {
        let digest = Digest::compute(b"");
        let name = segment("db1", "7", "binlog.000017", (4, 931_204), &digest);
        assert_eq!(name, "hosts/db1/binlogs/7/binlog.000017/0000000004-0000931204-e3b0c44298fc1c14.age");
        assert_eq!((segment_server("db1", &name), segment_server("db2", &name)), (Some("7"), None));
        for other in [name.replace(".age", ".json"), name.replace("/7/", "/../"), name.replace("e3b0", "x")] {
            assert_eq!(segment_server("db1", &other), None, "{other}");
        }
        assert_eq!(binlog_receipt("db1", "7", 42), "hosts/db1/binlogs/7/receipts/00000042.json");
        assert_eq!(binlog_receipt_number("db1", &binlog_receipt("db1", "7", 42)), Some(("7", 42)));
        let signature = binlog_signature("db1", "7", 42);
        assert_eq!(binlog_signature_number("db1", &signature), Some(("7", 42)));
        assert_eq!(binlog_signature_number("db1", &binlog_receipt("db1", "7", 42)), None);
        for other in [signature, name, binlog_receipt("db2", "7", 42)] {
            assert_eq!(binlog_receipt_number("db1", &other), None, "{other}");
        }
        assert!(is_log_name("db1-bin.000001") && !is_log_name("../x") && !is_log_name("a/b") && !is_log_name(""));
        assert!(!is_log_name("db@1-bin.000001") && !is_host("db@1") && !is_host("-db1") && is_host("_db1"));
    }

    #[test]
    fn a_host_name_cannot_contain_a_path() {
        for bad in ["", ".", "..", "a/b", "-x", "a b", "ä", &"a".repeat(65)] {
            assert!(!is_host(bad), "{bad}");
        }
        assert!(is_host("db1.example.com") && is_host("a_b-c"));
    }
}
