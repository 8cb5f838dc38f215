//! A store that fails: everything ends by repetition, or with one clear error, and nothing is lost.

use std::{
    collections::HashMap,
    io::{Cursor, Read},
    time::Duration,
};

use harness::{
    faulty::{Fault, FaultyStore},
    s3::{S3Server, s3_server},
};
use store::{
    Error, Name, Put, S3, Store,
    s3::{Address, S3Fault, Settings},
};

fn open(server: &S3Server, endpoint: &str, give_up: u64) -> S3 {
    let settings = Settings {
        address: Address::new("s3://backups/db", Some(endpoint), None, None).expect("an address"),
        ca: None,
        credentials: Some(server.root().expect("root").file),
        lock: None,
        timeout: Duration::from_secs(2),
        give_up: Duration::from_secs(give_up),
    };
    S3::open(&settings).expect("a store")
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

/// Whatever happens to the first attempts of a request, the last one ends it.
#[test]
fn a_failing_store_is_asked_again_until_it_is_done() {
    let Some(server) = s3_server(false) else { return };
    server.create_bucket("backups", false).expect("a bucket");
    let puts = [
        Fault::Answer(500, "InternalError"),
        Fault::Answer(503, "SlowDown"),
        Fault::LostBefore,
        Fault::LostAfter,
        Fault::Truncated,
        Fault::Hanging,
        Fault::Answer(409, "ConditionalRequestConflict"),
        Fault::Answer(400, "BadDigest"),
        Fault::Answer(400, "ExpiredToken"),
    ];
    // Each object meets its fault once for each method, and once when a part of it is read.
    let mut met: HashMap<(String, String, bool), usize> = HashMap::new();
    let proxy = FaultyStore::start(server.port(), move |seen| {
        let number = seen.target.rsplit('/').next().and_then(|name| name.parse::<usize>().ok());
        let Some(number) = number else { return Fault::None };
        let count = met.entry((seen.method.clone(), seen.target.clone(), seen.has_range)).or_default();
        *count += 1;
        if *count == 1 { puts[number % puts.len()] } else { Fault::None }
    });
    let proxy = proxy.expect("a proxy");
    let store = open(&server, &proxy.endpoint(), 60);
    let body = |number: usize| vec![u8::try_from(number).expect("a byte"); 300_000 + number];
    for (number, fault) in puts.iter().enumerate() {
        let bytes = body(number);
        let put = store.put_new(&name(&format!("a/{number}")), &mut Cursor::new(&bytes), bytes.len() as u64);
        // After a lost answer nobody knows whose object it is.
        let is_unclear = matches!(fault, Fault::LostAfter | Fault::Truncated);
        let expected = if is_unclear { Put::Unclear } else { Put::New };
        assert_eq!(put.expect("put"), expected, "{fault:?}");
    }
    for (number, fault) in puts.iter().enumerate() {
        // 400 is no answer to a download.
        if matches!(fault, Fault::Answer(400 | 409, _)) {
            continue;
        }
        for range in [None, Some(5..250_000)] {
            let mut read = Vec::new();
            let got = store.get(&name(&format!("a/{number}")), range.clone());
            got.expect("got").read_to_end(&mut read).expect("read");
            let whole = body(number);
            let expected = if range.is_some() { &whole[5..250_000] } else { &whole };
            assert!(read == expected, "{fault:?}, {range:?}");
        }
    }
    for (number, fault) in puts.iter().enumerate().filter(|(_, fault)| !matches!(fault, Fault::Answer(409, _))) {
        let found = store.head(&name(&format!("a/{number}"))).expect("a length");
        assert_eq!(found, Some(body(number).len() as u64), "{fault:?}");
    }
    assert!(proxy.faults() > puts.len());
    assert!(store.warnings().iter().any(|warning| warning.contains("slow down")), "{:?}", store.warnings());
    // Nothing is there but what was put.
    assert_eq!(open(&server, &server.endpoint(), 10).list("").expect("a listing").len(), puts.len());
}

/// A store that never recovers ends in one error that says so, and leaves nothing behind.
#[test]
fn a_store_that_stays_broken_is_given_up_with_a_reason() {
    let Some(server) = s3_server(false) else { return };
    server.create_bucket("backups", false).expect("a bucket");
    for (fault, is_expected) in [
        (
            Fault::Answer(503, "SlowDown"),
            (|fault| matches!(fault, S3Fault::Busy { status: 503, attempts: 2.., .. })) as fn(&S3Fault) -> bool,
        ),
        (Fault::Answer(507, "InsufficientStorage"), |fault| matches!(fault, S3Fault::Full { .. })),
        (Fault::LostBefore, |fault| matches!(fault, S3Fault::Unreachable { attempts: 2.., .. })),
        (Fault::Hanging, |fault| matches!(fault, S3Fault::Unreachable { .. })),
        (Fault::Answer(403, "InvalidAccessKeyId"), |fault| matches!(fault, S3Fault::Rejected { .. })),
        (Fault::Answer(400, "ExpiredToken"), |fault| matches!(fault, S3Fault::Expired)),
        (Fault::Answer(400, "BadDigest"), |fault| matches!(fault, S3Fault::Garbled)),
    ] {
        let proxy = FaultyStore::start(server.port(), move |_| fault).expect("a proxy");
        let store = open(&server, &proxy.endpoint(), 1);
        let put = store.put_new(&name("a/0"), &mut Cursor::new(b"body"), 4);
        let Err(Error::S3 { fault: found, .. }) = put else { panic!("{fault:?}: {put:?}") };
        assert!(is_expected(&found), "{fault:?}: {found:?}");
    }
    assert!(open(&server, &server.endpoint(), 10).list("").expect("a listing").is_empty());
}
