//! Breaks each rule of the header alone; the MAC always matches.

#![allow(clippy::unwrap_used, reason = "in a test a failure is to be seen")]

mod support;

use agefile::{Encryptor, Error, HeaderFault, Identity, MAX_RECIPIENTS};
use support::{VERSION, base64, decrypt, encrypt, file, identity, payload, stanza, with_mac, x25519};

#[track_caller]
fn refused(file: &[u8], line: u64, fault: HeaderFault) {
    let (plain, read) = decrypt(file, &[identity()]);
    let found = match read {
        Err(Error::Header { line, fault }) => (line, fault),
        other => panic!("{other:?}"),
    };
    assert_eq!(found, (line, fault));
    assert!(plain.is_empty());
}

#[track_caller]
fn opened(file: &[u8]) {
    let (plain, read) = decrypt(file, &[identity()]);
    read.unwrap();
    assert_eq!(plain, b"!");
}

fn sample_header() -> String {
    stanza(&identity().recipient())
}

#[test]
fn a_valid_file_is_opened() {
    opened(&file(&sample_header()));
}

#[test]
fn other_files_are_recognised() {
    let of = |bytes: &[u8]| decrypt(bytes, &[identity()]).1.unwrap_err();
    assert!(matches!(of(b""), Error::NotAge));
    assert!(matches!(of(&[0; 100_000]), Error::NotAge));
    assert!(matches!(of(b"-----BEGIN OPENSSH PRIVATE KEY-----\n"), Error::NotAge));
    assert!(matches!(of(b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n"), Error::Armored));
    assert!(matches!(of(b"age-encryption.org/v2\n"), Error::Version));
    assert!(matches!(of(b"age-encryption.org/v1\r\n"), Error::Version));
    assert!(matches!(of(b"age-encryption.org/v1 \n"), Error::Version));
    refused(b"age-encryption.org/v1", 1, HeaderFault::Truncated);
}

#[test]
fn stanzas_of_other_types_are_skipped() {
    let full = base64(&[1; 48]);
    for other in [
        "-> grease\n\n".to_owned(),
        "-> x25519 AAAA\n\n".to_owned(),
        "-> ssh-ed25519 a b c d\nAAAA\n".to_owned(),
        "-> ! ~ -> ---\nAA\n".to_owned(),
        format!("-> many\n{full}\n{full}\n\n"),
        format!("-> long {}\n{full}\nAA\n", "x".repeat(4000)),
    ] {
        opened(&file(&format!("{other}{}", sample_header())));
        opened(&file(&format!("{}{other}", sample_header())));
        let (_, read) = decrypt(&file(&other), &[identity()]);
        assert!(matches!(read, Err(Error::NoMatch)), "{read:?}");
    }
}

#[test]
fn malformed_first_lines_are_refused() {
    for line in ["->  X25519 a", "-> a ", "-> ", "-> a  b", "-> a\tb", "-> a\r", "-> \u{e9}", "-> a\u{7f}", "-> a\0"] {
        refused(&file(&format!("{}{line}\n\n", sample_header())), 4, HeaderFault::Argument);
    }
    for line in ["->a", "->", "", " -> a", "=> a", "--", "age-encryption.org/v1"] {
        refused(&file(&format!("{}{line}\n\n", sample_header())), 4, HeaderFault::Start);
    }
    refused(&file(&format!("-> {}\n\n", "x".repeat(4094))), 2, HeaderFault::LongLine);
}

#[test]
fn malformed_bodies_are_refused() {
    let full = base64(&[1; 48]);
    for body in [
        "A".to_owned(),
        "AB".to_owned(),
        "AAB".to_owned(),
        "AA==".to_owned(),
        "AA A".to_owned(),
        "AAAA\r".to_owned(),
        "_-AA".to_owned(),
        format!("{full}A"),
        format!("{full}AAAA"),
    ] {
        refused(&file(&format!("-> other\n{body}\n{}", sample_header())), 3, HeaderFault::Body);
    }
    // Without a line shorter than 64 columns the next stanza would belong to the body.
    refused(&file(&format!("-> other\n{full}\n{}", sample_header())), 4, HeaderFault::Body);
    refused(&file(&format!("-> other\n{}", sample_header())), 3, HeaderFault::Body);
}

#[test]
fn malformed_x25519_stanzas_are_refused() {
    let (first, body) = x25519(&identity().recipient());
    let with = |first: &str, body: &str| file(&format!("{first}\n{body}\n"));
    let first = first.trim_end();
    let share = first.rsplit_once(' ').unwrap().1;
    let of = |share: &str| format!("-> X25519 {share}");
    refused(&with("-> X25519", &body), 2, HeaderFault::X25519Arguments);
    refused(&with(&format!("{first} {share}"), &body), 2, HeaderFault::X25519Arguments);
    for bytes in [31, 33, 64] {
        refused(&with(&of(&base64(&vec![9; bytes])), &body), 2, HeaderFault::X25519Share);
    }
    refused(&with(&format!("{first}="), &body), 2, HeaderFault::X25519Share);
    // 43 characters encode two bits more than 32 bytes; here those bits are not zero.
    refused(&with(&of(&format!("{}B", "A".repeat(42))), &body), 2, HeaderFault::X25519Share);
    refused(&with(&of(&base64(&[0; 32])), body.trim_end()), 2, HeaderFault::LowOrder);
    for bytes in [0, 16, 31, 33] {
        refused(&file(&format!("{first}\n{}\n", base64(&vec![9; bytes]))), 3, HeaderFault::X25519Body);
    }
    refused(&file(&format!("{first}\n{}\n\n", base64(&[9; 48]))), 4, HeaderFault::X25519Body);
}

#[test]
fn malformed_macs_are_refused() {
    let good = with_mac(&format!("{VERSION}{}", sample_header()));
    let good = std::str::from_utf8(&good).unwrap();
    let (before, mac) = good.rsplit_once("--- ").unwrap();
    let mac = mac.trim_end();
    let with = |last: &str| [format!("{before}{last}\n").as_bytes(), &payload(&[(b"!", true)])].concat();
    opened(&with(&format!("--- {mac}")));
    for last in [
        format!("---{mac}"),
        "---".to_owned(),
        "--- ".to_owned(),
        format!("---  {mac}"),
        format!("--- {mac} "),
        format!("--- {mac}\r"),
        format!("--- {mac}="),
        format!("--- {}", &mac[..42]),
        format!("--- {}B", "A".repeat(42)),
    ] {
        refused(&with(&last), 4, HeaderFault::Mac);
    }
    let (_, read) = decrypt(&with(&format!("--- {}", base64(&[0; 32]))), &[identity()]);
    assert!(matches!(read, Err(Error::Mac)), "{read:?}");
    refused(&[VERSION.as_bytes(), with_mac("").as_slice()].concat(), 2, HeaderFault::NoStanza);
}

#[test]
fn a_passphrase_stanza_must_be_the_only_one() {
    let passphrase = "-> scrypt ajMFur+EJLGaohv/dLRGnw 18\n8SHBz/ldWnjyGFQqfjat6uNBarWqqEMDS7W8X7+Xq5Q\n";
    refused(&file(&format!("{}{passphrase}", sample_header())), 4, HeaderFault::Passphrase);
    refused(&file(&format!("{passphrase}{}", sample_header())), 2, HeaderFault::Passphrase);
    refused(&file(&format!("{passphrase}{passphrase}")), 4, HeaderFault::Passphrase);
    assert!(matches!(decrypt(&file(passphrase), &[identity()]).1, Err(Error::NoMatch)));
}

#[test]
fn an_endless_header_is_refused_at_the_limit() {
    let many = "-> a\n\n".repeat(MAX_RECIPIENTS);
    refused(&file(&format!("{many}{}", sample_header())), 2 * MAX_RECIPIENTS as u64 + 2, HeaderFault::TooManyStanzas);
    opened(&file(&format!("{}{}", &many[6..], sample_header())));
    let body = format!("{}\n", base64(&[0; 48])).repeat(20_000);
    refused(format!("{VERSION}-> a\n{body}").as_bytes(), 16_134, HeaderFault::Long);
    refused(format!("{VERSION}-> {}", "a".repeat(2_000_000)).as_bytes(), 2, HeaderFault::LongLine);
}

#[test]
fn a_header_truncated_anywhere_is_refused() {
    let header = with_mac(&format!("{VERSION}{}", sample_header()));
    for length in 0..header.len() {
        let (_, read) = decrypt(&header[..length], &[identity()]);
        assert!(
            matches!(read, Err(Error::NotAge | Error::Header { fault: HeaderFault::Truncated, .. })),
            "{length}: {read:?}"
        );
    }
}

#[test]
fn any_identity_of_any_recipient_opens_a_file() {
    let all: Vec<Identity> = (0..5).map(|_| Identity::generate().unwrap()).collect();
    let recipients: Vec<_> = all.iter().map(Identity::recipient).collect();
    let file = encrypt(b"for five", &recipients);
    for identity in all {
        let unknown = Identity::generate().unwrap();
        assert_eq!(decrypt(&file, &[unknown, identity]).0, b"for five");
    }
    let (plain, read) = decrypt(&file, &[Identity::generate().unwrap()]);
    assert!(plain.is_empty() && matches!(read, Err(Error::NoMatch)));
    assert!(matches!(decrypt(&file, &[]).1, Err(Error::NoMatch)));
}

#[test]
fn a_file_has_between_one_and_1024_recipients() {
    let recipient = identity().recipient();
    assert!(matches!(Encryptor::new(Vec::new(), &[]), Err(Error::NoRecipient)));
    let many = vec![recipient; MAX_RECIPIENTS + 1];
    assert!(matches!(Encryptor::new(Vec::new(), &many), Err(Error::TooManyRecipients { count: 1025 })));
    let file = encrypt(b"!", &many[1..]);
    assert_eq!(decrypt(&file, &[identity()]).0, b"!");
}
