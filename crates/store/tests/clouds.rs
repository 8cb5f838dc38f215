//! Azure's and Google's stores, by emulators: the same rules as for a directory.
#![cfg(feature = "clouds")]

#[path = "support/conformance.rs"]
mod conformance;

use std::{
    collections::HashMap,
    io::{Cursor, Read},
    time::Duration,
};

use harness::{
    clouds::{Emulator, azurite, fake_gcs},
    faulty::{Fault, FaultyStore},
};
use store::{
    Deletion, Error, Name, Put, Store,
    clouds::{Address, Cloud, Settings},
    s3::S3Fault,
};

fn settings(emulator: &Emulator, url: &str, port: u16) -> Settings {
    Settings {
        address: Address::new(url, Some(&emulator.endpoint_at(port))).expect("an address"),
        ca: emulator.ca(),
        credentials: Some(emulator.credentials().expect("credentials")),
        timeout: Duration::from_secs(10),
        give_up: Duration::from_secs(20),
    }
}

fn open(emulator: &Emulator, url: &str) -> Cloud {
    Cloud::open(&settings(emulator, url, emulator.port())).expect("a store")
}

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

fn put(store: &Cloud, text: &str, body: &[u8]) -> Result<Put, Error> {
    store.put_new(&name(text), &mut Cursor::new(body), body.len() as u64)
}

fn read(store: &Cloud, text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    store.get(&name(text), None).expect("got").read_to_end(&mut bytes).expect("read");
    bytes
}

fn fault(result: Result<impl std::fmt::Debug, Error>) -> S3Fault {
    match result {
        Err(Error::S3 { fault, .. }) => fault,
        other => panic!("no fault of a store: {other:?}"),
    }
}

#[test]
fn a_container_of_azure_keeps_objects_as_every_store_does() {
    for is_encrypted in [false, true] {
        let Some(emulator) = azurite(is_encrypted) else { return };
        emulator.create_container("backups").expect("a container");
        for url in ["az://backups", "az://backups/below/a-prefix"] {
            let store = open(&emulator, url);
            conformance::check(&store, true);
            assert!(store.warnings().is_empty());
        }
    }
}

#[test]
fn what_is_wrong_is_named_and_long_listings_are_whole() {
    let Some(emulator) = azurite(false) else { return };
    emulator.create_container("backups").expect("a container");
    let store = open(&emulator, "az://backups/db");
    // A listing without its end has at most 5000.
    std::thread::scope(|scope| {
        for part in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..1300 {
                    assert_eq!(put(store, &format!("many/{part}/{number:04}"), b"x").expect("put"), Put::New);
                }
            });
        }
    });
    assert_eq!(store.list("many/").expect("a listing").len(), 5200);
    let listed = store.list("many/0/").expect("a listing").swap_remove(0);
    assert!(listed.etag.is_some());
    store.delete(&listed.name).expect("deleted");
    assert_eq!(store.put_new(&listed.name, &mut Cursor::new(b"y"), 1).expect("put"), Put::New);
    assert!(matches!(fault(store.get_listed(&listed).map(drop)), S3Fault::Replaced));

    let gone = open(&emulator, "az://nowhere");
    assert!(matches!(fault(put(&gone, "a", b"x")), S3Fault::NoBucket { .. }));
    assert!(matches!(fault(gone.list("")), S3Fault::NoBucket { .. }));
    let mut wrong = settings(&emulator, "az://backups", emulator.port());
    std::fs::write(wrong.credentials.as_ref().expect("a file"), "AZURE_STORAGE_KEY = c2VjcmV0LW1hcmtlcg==\n")
        .expect("written");
    let rejected = fault(Cloud::open(&wrong).expect("a store").list(""));
    // Azurite names a wrong signature as Azure does a missing permission (AuthorizationFailure).
    assert!(matches!(rejected, S3Fault::Rejected { .. } | S3Fault::Denied { .. }), "{rejected:?}");
    wrong.credentials = Some(emulator.credentials().expect("credentials"));
    let port = harness::free_port().expect("a port");
    wrong.address = Address::new("az://backups", Some(&emulator.endpoint_at(port))).expect("an address");
    wrong.give_up = Duration::from_secs(1);
    let silent = fault(Cloud::open(&wrong).expect("a store").list(""));
    assert!(matches!(silent, S3Fault::Unreachable { attempts: 2.., .. }), "{silent:?}");
}

/// Whatever happens to the first attempts of a request, the last one ends it.
#[test]
fn a_failing_store_is_asked_again_until_it_is_done() {
    const FAULTS: [Fault; 5] = [
        Fault::Answer(500, "InternalError"),
        Fault::Answer(503, "ServerBusy"),
        Fault::LostBefore,
        Fault::LostAfter,
        Fault::Truncated,
    ];
    let Some(emulator) = azurite(false) else { return };
    emulator.create_container("backups").expect("a container");
    let mut met: HashMap<(String, String), usize> = HashMap::new();
    let proxy = FaultyStore::start(emulator.port(), move |seen| {
        let number = seen.target.rsplit('/').next().and_then(|name| name.parse::<usize>().ok());
        let Some(number) = number else { return Fault::None };
        let count = met.entry((seen.method.clone(), seen.target.clone())).or_default();
        *count += 1;
        if *count == 1 { FAULTS[number % FAULTS.len()] } else { Fault::None }
    });
    let proxy = proxy.expect("a proxy");
    let port = proxy.endpoint().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let store = Cloud::open(&settings(&emulator, "az://backups", port)).expect("a store");
    let body = |number: usize| vec![u8::try_from(number).expect("a byte"); 3_000_000 + number];
    for (number, fault) in FAULTS.iter().enumerate() {
        // After a lost answer nobody knows whose object it is.
        let is_unclear = matches!(fault, Fault::LostAfter | Fault::Truncated);
        let expected = if is_unclear { Put::Unclear } else { Put::New };
        assert_eq!(put(&store, &format!("a/{number}"), &body(number)).expect("put"), expected, "{fault:?}");
    }
    for (number, fault) in FAULTS.iter().enumerate() {
        assert!(read(&store, &format!("a/{number}")) == body(number), "{fault:?}");
    }
    assert!(proxy.faults() >= 2 * FAULTS.len(), "{}", proxy.faults());
    assert!(store.warnings().iter().any(|warning| warning.contains("slow down")), "{:?}", store.warnings());
}

/// The emulator of Google's store does not know the condition of a put, so nothing is said of that.
#[test]
fn a_bucket_of_google_is_read_listed_and_deleted() {
    let Some(emulator) = fake_gcs() else { return };
    emulator.create_container("backups").expect("a bucket");
    let store = open(&emulator, "gs://backups/db");
    assert!(store.list("").expect("a listing").is_empty());
    assert!(matches!(store.get(&name("a/one"), None).map(drop), Err(Error::Missing { .. })));
    assert_eq!(store.head(&name("a/one")).expect("answered"), None);
    for object in ["a/one", "b/c/two"] {
        assert_eq!(put(&store, object, b"first").expect("put"), Put::New);
    }
    assert_eq!(store.head(&name("a/one")).expect("answered"), Some(5));
    assert_eq!(read(&store, "a/one"), b"first");
    let mut part = Vec::new();
    store.get(&name("a/one"), Some(1..3)).expect("got").read_to_end(&mut part).expect("read");
    assert_eq!(part, b"ir");
    let names: Vec<String> = store.list("").expect("a listing").iter().map(|listed| listed.name.to_string()).collect();
    assert_eq!(names, ["a/one", "b/c/two"]);
    assert_eq!(store.children("").expect("children"), ["a", "b"]);
    for _ in 0..2 {
        assert_eq!(store.delete(&name("a/one")).expect("deleted"), Deletion::Done);
        assert_eq!(store.head(&name("a/one")).expect("answered"), None);
    }
}
