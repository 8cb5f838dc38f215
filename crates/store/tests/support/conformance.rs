//! Tests that every store must pass before it is trusted with a backup.

use std::{
    io::{Cursor, Read},
    thread,
};

use jiff::{SignedDuration, Timestamp};

use store::{Deletion, Error, Name, Put, Store};

/// Runs the tests on an empty store. `is_atomic`: whether it keeps its promise also to those who put a name at once.
///
/// # Panics
/// If the store breaks a rule.
#[allow(clippy::unwrap_used, reason = "a test")]
pub(crate) fn check(store: &dyn Store, is_atomic: bool) {
    let name = |text: &str| text.parse::<Name>().unwrap();
    let read = |text: &str, range| {
        let mut bytes = Vec::new();
        store.get(&name(text), range).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let put = |text: &str, body: &[u8], bytes| store.put_new(&name(text), &mut Cursor::new(body), bytes);
    assert!(store.list("").unwrap().is_empty());
    assert!(matches!(store.get(&name("a/one"), None), Err(Error::Missing { .. })));
    assert_eq!(store.head(&name("a/one")).unwrap(), None);

    assert_eq!(put("a/one", b"first", 5).unwrap(), Put::New);
    assert_eq!(put("a/one", b"other", 5).unwrap(), Put::Exists);
    assert_eq!(read("a/one", None), b"first");
    assert_eq!(read("a/one", Some(1..3)), b"ir");
    assert_eq!(read("a/one", Some(3..30)), b"st");
    assert_eq!(store.head(&name("a/one")).unwrap(), Some(5));

    for bytes in [4, 6] {
        assert!(matches!(put("a/two", b"first", bytes), Err(Error::Length { .. })), "{bytes}");
    }
    assert_eq!(store.head(&name("a/two")).unwrap(), None);
    assert_eq!(put("b/c/empty", b"", 0).unwrap(), Put::New);

    let names = |prefix| store.list(prefix).unwrap().into_iter().map(|of| of.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(""), ["a/one", "b/c/empty"]);
    assert_eq!(names("b/"), ["b/c/empty"]);
    assert_eq!(names("c/"), Vec::<String>::new());
    let mut visited = Vec::new();
    store.visit("b/", &mut |listed| visited.push((listed.name.to_string(), listed.bytes))).unwrap();
    assert_eq!(visited, [("b/c/empty".to_owned(), 0)]);
    assert_eq!(store.children("").unwrap(), ["a", "b"]);
    assert_eq!(store.children("b/").unwrap(), ["c"]);
    assert_eq!(store.children("b/c/").unwrap(), Vec::<String>::new());

    let winners = thread::scope(|scope| {
        let race = |number: u8| {
            scope.spawn(move || store.put_new(&name("race"), &mut Cursor::new([number; 1000]), 1000).unwrap())
        };
        let racing: Vec<_> = (0..8).map(race).collect();
        racing.into_iter().map(|one| one.join().unwrap()).filter(|put| *put == Put::New).count()
    });
    assert!(winners == 1 || winners > 1 && !is_atomic, "of those that put the same name at once, {winners} did");
    let won = read("race", None);
    assert!(won.len() == 1000 && won.iter().all(|byte| *byte == won[0]));

    let age = Timestamp::now().duration_since(store.list("a/").unwrap()[0].modified);
    assert!(age.abs() < SignedDuration::from_mins(10), "the store's clock, or time of an object: {age}");
    for _ in 0..2 {
        assert_eq!(store.delete(&name("a/one")).unwrap(), Deletion::Done);
        assert_eq!(store.head(&name("a/one")).unwrap(), None);
    }
    assert_eq!(names(""), ["b/c/empty", "race"]);
    assert_eq!(put("a/one", b"again", 5).unwrap(), Put::New);
    assert_eq!(read("a/one", None), b"again");
}
