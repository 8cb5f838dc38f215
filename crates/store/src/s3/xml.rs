//! Parses the XML documents of stores. Only the texts of named elements matter.

use jiff::Timestamp;
use quick_xml::{Reader, events::Event};

use crate::Version;

/// Maximum depth; documents of stores are flatter.
const MAX_DEPTH: usize = 16;

/// One page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The objects.
    pub(super) objects: Vec<Found>,
    /// Beginnings of names up to the delimiter, if one was asked for.
    pub(super) prefixes: Vec<String>,
    /// Token to request the next page; `None` if this is the last.
    pub(super) next: Option<String>,
}

/// An object of a listing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) key: String,
    pub(super) bytes: u64,
    /// When it was put.
    pub(super) modified: Timestamp,
    /// Entity tag, with its quotation marks; not all stores send it.
    pub(super) etag: Option<Box<str>>,
}

/// One page of a list of versions. Markers of deletions are left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Versions {
    /// For each version its key, whether it is the newest, and itself.
    pub(super) found: Vec<(String, bool, Version)>,
    /// Key and version id after which the next page begins; `None` if this is the last.
    pub(super) next: Option<(String, String)>,
}

/// An error document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) message: String,
    /// The bucket's region, if the request went to another one.
    pub(crate) region: Option<String>,
}

/// Parses a listing; `None` if the document is not one.
pub(super) fn page(bytes: &[u8]) -> Option<Page> {
    let (mut page, mut more, mut has_all) = (Page::default(), false, true);
    let (mut key, mut length, mut modified, mut etag) = (None, None, None, None);
    let is_whole = walk(bytes, |path, text| match (path, text) {
        (["ListBucketResult", "Contents", "Key"], Some(text)) => key = Some(text.to_owned()),
        (["ListBucketResult", "Contents", "Size"], Some(text)) => length = text.parse().ok(),
        (["ListBucketResult", "Contents", "LastModified"], Some(text)) => modified = text.parse().ok(),
        (["ListBucketResult", "Contents", "ETag"], Some(text)) => etag = Some(text.into()),
        (["ListBucketResult", "Contents"], None) => {
            let (etag, object) = (etag.take(), key.take().zip(length.take()).zip(modified.take()));
            has_all &= object.is_some();
            page.objects.extend(object.map(|((key, bytes), modified)| Found { key, bytes, modified, etag }));
        }
        (["ListBucketResult", "CommonPrefixes", "Prefix"], Some(text)) => page.prefixes.push(text.to_owned()),
        (["ListBucketResult", "IsTruncated"], Some(text)) => more = text == "true",
        (["ListBucketResult", "NextContinuationToken"], Some(text)) => page.next = Some(text.to_owned()),
        _ => {}
    });
    let is_listing = is_whole? == "ListBucketResult" && has_all && page.next.is_some() >= more;
    page.next = page.next.filter(|_| more);
    is_listing.then_some(page)
}

/// Parses one page of a list of versions; `None` if the document is not one.
pub(super) fn versions(bytes: &[u8]) -> Option<Versions> {
    let (mut page, mut more, mut has_all) = (Versions::default(), false, true);
    let (mut key, mut id, mut length, mut is_newest) = (None, None, None, None);
    let (mut next_key, mut next_id) = (None, None);
    let root = walk(bytes, |path, text| match (path, text) {
        (["ListVersionsResult", "Version", "Key"], Some(text)) => key = Some(text.to_owned()),
        (["ListVersionsResult", "Version", "VersionId"], Some(text)) => id = Some(text.to_owned()),
        (["ListVersionsResult", "Version", "Size"], Some(text)) => length = text.parse().ok(),
        (["ListVersionsResult", "Version", "IsLatest"], Some(text)) => is_newest = Some(text == "true"),
        (["ListVersionsResult", "Version"], None) => {
            let version = key.take().zip(is_newest.take()).zip(id.take().zip(length.take()));
            has_all &= version.is_some();
            page.found.extend(version.map(|((key, is_newest), (id, bytes))| (key, is_newest, Version { id, bytes })));
        }
        (["ListVersionsResult", "IsTruncated"], Some(text)) => more = text == "true",
        (["ListVersionsResult", "NextKeyMarker"], Some(text)) => next_key = Some(text.to_owned()),
        (["ListVersionsResult", "NextVersionIdMarker"], Some(text)) => next_id = Some(text.to_owned()),
        _ => {}
    });
    page.next = next_key.zip(next_id).filter(|_| more);
    (root? == "ListVersionsResult" && has_all && page.next.is_some() == more).then_some(page)
}

/// Parses an error document; the code is empty if it is not one.
pub(crate) fn refusal(bytes: &[u8]) -> Refusal {
    let mut refusal = Refusal::default();
    walk(bytes, |path, text| match (path, text) {
        (["Error", "Code"], Some(text)) => text.clone_into(&mut refusal.code),
        (["Error", "Message"], Some(text)) => text.clone_into(&mut refusal.message),
        (["Error", "Region"], Some(text)) => refusal.region = Some(text.to_owned()),
        _ => {}
    });
    refusal
}

/// Calls `visit` at the end of each element: first with its text, if any, then without. Returns the name of the root,
/// `None` if the document is not well-formed.
fn walk(bytes: &[u8], mut visit: impl FnMut(&[&str], Option<&str>)) -> Option<String> {
    let mut reader = Reader::from_str(std::str::from_utf8(bytes).ok()?);
    let (mut names, mut text, mut root): (Vec<String>, String, _) = (Vec::new(), String::new(), None);
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                let name = start.local_name().as_ref().to_owned();
                root.get_or_insert_with(|| name.clone());
                names.push(name);
                text.clear();
                if names.len() > MAX_DEPTH {
                    return None;
                }
            }
            Event::Text(part) => text.push_str(&part.xml10_content()),
            Event::CData(part) => text.push_str(&part.xml10_content()),
            Event::GeneralRef(reference) => text.push(character(&reference)?),
            Event::End(_) => {
                let path: Vec<&str> = names.iter().map(String::as_str).collect();
                let found = text.trim();
                if !found.is_empty() {
                    visit(&path, Some(found));
                }
                visit(&path, None);
                names.pop();
                text.clear();
            }
            Event::DocType(_) => return None,
            Event::Eof => return root.filter(|_| names.is_empty()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

/// The character of a character reference or predefined entity. Stores define no entities of their own.
fn character(reference: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    if let Some(character) = reference.resolve_char_ref().ok()? {
        return Some(character);
    }
    match reference.xml10_content().as_ref() {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name><Prefix/>\n\
        <NextContinuationToken>1ueG&amp;cXC&#x3D;</NextContinuationToken><KeyCount>2</KeyCount>\
        <IsTruncated>true</IsTruncated><Contents><Key>a/one.age</Key><Size>5</Size>\
        <LastModified>2025-11-26T12:00:01.000Z</LastModified><ETag>&quot;5d41&quot;</ETag><Owner><ID>x</ID></Owner></Contents>\
        <Contents><Size>0</Size><Key>a/two.age</Key><LastModified>2025-11-26T12:00:02Z</LastModified></Contents>\
        </ListBucketResult>";

    #[test]
    fn a_listing_has_keys_lengths_and_a_continuation() {
        let time = |second: i64| Timestamp::from_second(1_764_158_400 + second).unwrap();
        let read = page(LISTING.as_bytes()).unwrap();
        let found = |key: &str, bytes, second, etag: Option<&str>| {
            let (key, etag) = (key.to_owned(), etag.map(Box::from));
            Found { key, bytes, modified: time(second), etag }
        };
        assert_eq!(read.objects, [found("a/one.age", 5, 1, Some("\"5d41\"")), found("a/two.age", 0, 2, None)]);
        assert_eq!(read.next.as_deref(), Some("1ueG&cXC="));
        for element in ["Key", "Size", "LastModified"] {
            let without = LISTING.replace(&format!("<{element}>"), "<X>").replace(&format!("</{element}>"), "</X>");
            assert_eq!(page(without.as_bytes()), None, "an object without {element} would be missing");
        }
        let last = LISTING.replace("true", "false");
        assert_eq!(page(last.as_bytes()).unwrap().next, None);
        let cut = LISTING.replace("<NextContinuationToken>1ueG&amp;cXC&#x3D;</NextContinuationToken>", "");
        assert_eq!(page(cut.as_bytes()), None, "the rest would be missing");
    }

    #[test]
    fn versions_have_keys_and_ids() {
        let version = |newest: &str, id: &str| {
            format!(
                "<Version><Key>a/one.age</Key><VersionId>{id}</VersionId><IsLatest>{newest}</IsLatest>\
                 <Size>5</Size></Version>"
            )
        };
        let list =
            |inside: &str| format!("<ListVersionsResult><IsTruncated>false</IsTruncated>{inside}</ListVersionsResult>");
        let marker =
            "<DeleteMarker><Key>a/one.age</Key><VersionId>m</VersionId><IsLatest>true</IsLatest></DeleteMarker>";
        let both = list(&format!("{}{marker}{}", version("true", "v2"), version("false", "v1")));
        let expected =
            |is_newest, id: &str| ("a/one.age".to_owned(), is_newest, Version { id: id.to_owned(), bytes: 5 });
        let found = versions(both.as_bytes()).unwrap();
        assert_eq!((found.found, found.next), (vec![expected(true, "v2"), expected(false, "v1")], None));
        assert_eq!(versions(list("").as_bytes()), Some(Versions::default()));
        let first = both.replace("<IsTruncated>false", "<IsTruncated>true");
        assert_eq!(versions(first.as_bytes()), None, "the rest would be missing");
        let next = "<NextKeyMarker>a/one.age</NextKeyMarker><NextVersionIdMarker>v1</NextVersionIdMarker>";
        let first = first.replace("<IsTruncated>", &format!("{next}<IsTruncated>"));
        assert_eq!(versions(first.as_bytes()).unwrap().next, Some(("a/one.age".to_owned(), "v1".to_owned())));
        assert_eq!(versions(both.replace("<Size>5</Size>", "").as_bytes()), None);
        assert_eq!(versions(LISTING.as_bytes()), None);
    }

    #[test]
    fn an_error_has_code_message_and_region() {
        let text = "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region &apos;x&apos; is wrong</Message>\
            <Region>eu-west-1</Region></Error>";
        let expected = Refusal {
            code: "AuthorizationHeaderMalformed".to_owned(),
            message: "the region 'x' is wrong".to_owned(),
            region: Some("eu-west-1".to_owned()),
        };
        assert_eq!(refusal(text.as_bytes()), expected);
        assert_eq!(refusal(b"<html><body>502 Bad Gateway</body></html>"), Refusal::default());
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let deep = "<a>".repeat(20);
        let entity = "<!DOCTYPE x [<!ENTITY e \"eee\">]><ListBucketResult>&e;</ListBucketResult>";
        for text in ["", "<ListBucketResult>", "<Error></Error>", "no XML", &deep, entity, "<a></b>"] {
            assert_eq!(page(text.as_bytes()), None, "{text}");
        }
        assert_eq!(page(&[0xff, 0xfe]), None);
    }
}
