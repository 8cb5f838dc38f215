//! A store that fails: everything ends by repetition, or with one clear error, and nothing is lost.

use std::{
    collections::HashMap,
    io::{Cursor, Read},
    net::Ipv6Addr,
    time::Duration,
};

use harness::{
    faulty::{Fault, FaultyStore},
    print_skipped,
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

/// Over a slow connection, an attempt may take longer than failures are tolerated.
#[test]
fn an_upload_that_fails_late_is_repeated() {
    let Some(server) = s3_server(false) else { return };
    server.create_bucket("backups", false).expect("a bucket");
    let mut puts = 0;
    let proxy = FaultyStore::start(server.port(), move |seen| {
        puts += usize::from(seen.method == "PUT");
        if seen.method != "PUT" || puts > 1 {
            return Fault::None;
        }
        std::thread::sleep(Duration::from_millis(1500));
        Fault::Answer(503, "SlowDown")
    });
    let proxy = proxy.expect("a proxy");
    let put = open(&server, &proxy.endpoint(), 1).put_new(&name("a/0"), &mut Cursor::new(b"body"), 4);
    assert_eq!((put.expect("put"), proxy.faults()), (Put::New, 1));
}

/// A listing whose page is followed by itself would be read for ever.
#[test]
fn a_list_that_does_not_end_is_refused() {
    const PAGE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated>\
                        <NextContinuationToken>again</NextContinuationToken></ListBucketResult>";
    let Some(server) = s3_server(false) else { return };
    let proxy = FaultyStore::start(server.port(), |_| Fault::Says(PAGE)).expect("a proxy");
    let listed = open(&server, &proxy.endpoint(), 5).list("");
    let Err(Error::S3 { fault: S3Fault::Answer(what), .. }) = listed else { panic!("{listed:?}") };
    assert!(what.contains("does not end"), "{what}");
    assert_eq!(proxy.faults(), 2);
}

/// After a store has asked to slow down, bodies are read by as many at a time as requests are made. Who reads several
/// objects at once does not wait for himself.
#[test]
fn downloads_of_a_busy_store_go_on_one_by_one() {
    const BYTES: usize = 300_000;
    let Some(server) = s3_server(false) else { return };
    server.create_bucket("backups", false).expect("a bucket");
    let mut is_busy = true;
    let proxy = FaultyStore::start(server.port(), move |_| {
        if std::mem::take(&mut is_busy) { Fault::Answer(503, "SlowDown") } else { Fault::None }
    });
    let store = open(&server, &proxy.expect("a proxy").endpoint(), 60);
    let names: Vec<Name> = (0..4).map(|number| name(&format!("a/{number}"))).collect();
    for name in &names {
        let put = store.put_new(name, &mut Cursor::new(vec![7_u8; BYTES]), BYTES as u64);
        assert_eq!(put.expect("put"), Put::New);
    }
    assert!(store.warnings().iter().any(|warning| warning.contains("slow down")), "one request at a time");
    let read = || {
        let mut readers: Vec<_> = names.iter().map(|name| store.get(name, None).expect("got")).collect();
        let (mut room, mut read) = ([0; 10_000], vec![0; names.len()]);
        loop {
            let before = read.clone();
            for (reader, read) in readers.iter_mut().zip(&mut read) {
                *read += reader.read(&mut room).expect("read");
            }
            if read == before {
                return read;
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        for thread in threads {
            assert_eq!(thread.join().expect("it ends"), vec![BYTES; names.len()]);
        }
    });
}

#[test]
fn a_store_is_reached_at_an_address_of_version_6() {
    let Some(server) = s3_server(false) else { return };
    server.create_bucket("backups", false).expect("a bucket");
    let Ok(proxy) = FaultyStore::start_at(Ipv6Addr::LOCALHOST.into(), server.port(), |_| Fault::None) else {
        print_skipped("this machine has no IPv6");
        return;
    };
    assert!(proxy.endpoint().starts_with("http://[::1]:"), "{}", proxy.endpoint());
    let store = open(&server, &proxy.endpoint(), 10);
    assert_eq!(store.put_new(&name("a/b"), &mut Cursor::new(b"body"), 4).expect("put"), Put::New);
    let mut read = Vec::new();
    store.get(&name("a/b"), Some(1..3)).expect("got").read_to_end(&mut read).expect("read");
    assert_eq!((read.as_slice(), store.list("a/").expect("a listing").len()), (b"od".as_slice(), 1));
}
