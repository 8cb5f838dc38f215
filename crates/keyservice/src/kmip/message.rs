//! Requests and responses of KMIP.
//!
//! Source: "Key Management Interoperability Protocol Specification Version 1.0" (OASIS), sections 4 (operations), 6 and
//! 7 (messages), 9.1.3 (tags and enumerations); confirmed on PyKMIP.

use std::collections::BTreeSet;

use zeroize::Zeroizing;

use super::{
    KeyState, ObjectInfo,
    ttlv::{Item, Items, Tag, Writer},
};
use crate::error::Fault;

const ATTRIBUTE: Tag = Tag(0x0042_0008);
const ATTRIBUTE_NAME: Tag = Tag(0x0042_000A);
const ATTRIBUTE_VALUE: Tag = Tag(0x0042_000B);
const BATCH_COUNT: Tag = Tag(0x0042_000D);
const BATCH_ITEM: Tag = Tag(0x0042_000F);
const KEY_BLOCK: Tag = Tag(0x0042_0040);
const KEY_FORMAT_TYPE: Tag = Tag(0x0042_0042);
const KEY_MATERIAL: Tag = Tag(0x0042_0043);
const KEY_VALUE: Tag = Tag(0x0042_0045);
const KEY_WRAPPING_DATA: Tag = Tag(0x0042_0046);
/// Only services of KMIP 1.3 and later report it.
const LOCATED_ITEMS: Tag = Tag(0x0042_00D5);
const NAME_VALUE: Tag = Tag(0x0042_0055);
const OPERATION: Tag = Tag(0x0042_005C);
const PROTOCOL_VERSION: Tag = Tag(0x0042_0069);
const PROTOCOL_VERSION_MAJOR: Tag = Tag(0x0042_006A);
const PROTOCOL_VERSION_MINOR: Tag = Tag(0x0042_006B);
const REQUEST_HEADER: Tag = Tag(0x0042_0077);
const REQUEST_MESSAGE: Tag = Tag(0x0042_0078);
const REQUEST_PAYLOAD: Tag = Tag(0x0042_0079);
/// The outermost structure of an answer.
pub(super) const RESPONSE_MESSAGE: Tag = Tag(0x0042_007B);
const RESPONSE_PAYLOAD: Tag = Tag(0x0042_007C);
const RESULT_MESSAGE: Tag = Tag(0x0042_007D);
const RESULT_REASON: Tag = Tag(0x0042_007E);
const RESULT_STATUS: Tag = Tag(0x0042_007F);
const SYMMETRIC_KEY: Tag = Tag(0x0042_008F);
const UNIQUE_IDENTIFIER: Tag = Tag(0x0042_0094);

const LOCATE: u32 = 8;
const GET: u32 = 0x0A;
const GET_ATTRIBUTES: u32 = 0x0B;
const SUCCESS: u32 = 0;
const RAW: u32 = 1;
const OBJECT_TYPE_SYMMETRIC_KEY: u32 = 2;
/// Names of attributes are texts in KMIP 1.
const NAME: &str = "Name";
const OBJECT_GROUP: &str = "Object Group";
const OBJECT_TYPE: &str = "Object Type";
const STATE: &str = "State";

/// The request for the identifiers of all symmetric keys, or of those in a group.
pub(super) fn locate(group: Option<&str>) -> Zeroizing<Vec<u8>> {
    request(LOCATE, |payload| {
        let payload = payload.structure(ATTRIBUTE, |attribute| {
            let named = attribute.text(ATTRIBUTE_NAME, OBJECT_TYPE);
            named.enumeration(ATTRIBUTE_VALUE, OBJECT_TYPE_SYMMETRIC_KEY)
        });
        match group {
            Some(group) => payload.structure(ATTRIBUTE, |attribute| {
                attribute.text(ATTRIBUTE_NAME, OBJECT_GROUP).text(ATTRIBUTE_VALUE, group)
            }),
            None => payload,
        }
    })
}

/// The request for a key.
pub(super) fn get(id: &str) -> Zeroizing<Vec<u8>> {
    request(GET, |payload| payload.text(UNIQUE_IDENTIFIER, id))
}

/// The request for the names and the state of an object.
pub(super) fn get_info(id: &str) -> Zeroizing<Vec<u8>> {
    request(GET_ATTRIBUTES, |payload| {
        payload.text(UNIQUE_IDENTIFIER, id).text(ATTRIBUTE_NAME, NAME).text(ATTRIBUTE_NAME, STATE)
    })
}

fn request(operation: u32, payload: impl FnOnce(Writer) -> Writer) -> Zeroizing<Vec<u8>> {
    let message = |message: Writer| {
        let header = message.structure(REQUEST_HEADER, |header| {
            let version =
                |version: Writer| version.integer(PROTOCOL_VERSION_MAJOR, 1).integer(PROTOCOL_VERSION_MINOR, 0);
            header.structure(PROTOCOL_VERSION, version).integer(BATCH_COUNT, 1)
        });
        header.structure(BATCH_ITEM, |item| item.enumeration(OPERATION, operation).structure(REQUEST_PAYLOAD, payload))
    };
    Writer::default().structure(REQUEST_MESSAGE, message).into_bytes()
}

/// The identifiers in the answer to [`locate`], each once.
///
/// # Errors
/// [`Fault::PartOfList`] if the service found more objects than it names.
pub(crate) fn identifiers(value: &[u8]) -> Result<Vec<String>, Fault> {
    let Some(payload) = payload(value)? else { return Ok(Vec::new()) };
    let (mut ids, mut known, mut located) = (Vec::new(), BTreeSet::new(), None);
    for item in payload {
        let item = item?;
        match item.tag {
            UNIQUE_IDENTIFIER if known.insert(item.text()?) => ids.push(item.text()?.to_owned()),
            LOCATED_ITEMS => located = Some(item.integer()?),
            _ => {}
        }
    }
    match located.and_then(|located| usize::try_from(located).ok()) {
        Some(located) if located > ids.len() => Err(Fault::PartOfList { named: ids.len(), located }),
        _ => Ok(ids),
    }
}

/// The key in the answer to [`get`] for the object `id`, borrowed from the answer.
pub(crate) fn key<'a>(value: &'a [u8], id: &str) -> Result<&'a [u8], Fault> {
    let payload = payload_about(value, id)?;
    let block = payload.required(SYMMETRIC_KEY)?.items()?.required(KEY_BLOCK)?.items()?;
    if block.find(KEY_WRAPPING_DATA)?.is_some() || block.required(KEY_FORMAT_TYPE)?.enumeration()? != RAW {
        return Err(Fault::NotARawKey);
    }
    block.required(KEY_VALUE)?.items()?.required(KEY_MATERIAL)?.bytes()
}

/// Name and state in the answer to [`get_info`] for the object `id`. Of several names, the first.
pub(crate) fn info(value: &[u8], id: &str) -> Result<ObjectInfo, Fault> {
    let mut info = ObjectInfo::default();
    for item in payload_about(value, id)? {
        let item = item?;
        if item.tag != ATTRIBUTE {
            continue;
        }
        let attribute = item.items()?;
        let value = attribute.required(ATTRIBUTE_VALUE)?;
        match attribute.required(ATTRIBUTE_NAME)?.text()? {
            NAME if info.name.is_none() => {
                info.name = Some(value.items()?.required(NAME_VALUE)?.text()?.to_owned());
            }
            STATE => info.state = state(value)?,
            _ => {}
        }
    }
    Ok(info)
}

/// Source: KMIP 1.0, section 9.1.3.2.17, "State Enumeration".
fn state(value: Item<'_>) -> Result<KeyState, Fault> {
    Ok(match value.enumeration()? {
        4 => KeyState::Compromised,
        5 | 6 => KeyState::Destroyed,
        _ => KeyState::Usable,
    })
}

/// The payload of a successful answer about the object `id`. A service that confuses its clients' requests would give
/// another key under this name.
fn payload_about<'a>(value: &'a [u8], id: &str) -> Result<Items<'a>, Fault> {
    let payload = payload(value)?.ok_or(Fault::NotKmip)?;
    if payload.required(UNIQUE_IDENTIFIER)?.text()? == id { Ok(payload) } else { Err(Fault::OtherObject) }
}

/// The payload of a successful answer. `value` is the value of the response message.
fn payload(value: &[u8]) -> Result<Option<Items<'_>>, Fault> {
    let item = Items::new(value).required(BATCH_ITEM)?.items()?;
    if item.required(RESULT_STATUS)?.enumeration()? != SUCCESS {
        let reason = item.find(RESULT_REASON)?.map(|reason| reason.enumeration()).transpose()?;
        let message = item.find(RESULT_MESSAGE)?.map(|message| message.text()).transpose()?;
        let message = message.unwrap_or_default().chars().take(MAX_MESSAGE).collect();
        return Err(Fault::KmipRefused { reason: reason.unwrap_or_default(), message });
    }
    item.find(RESPONSE_PAYLOAD)?.map(|payload| payload.items()).transpose()
}

/// Maximum number of characters of a service's message that are shown.
const MAX_MESSAGE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a response message.
    fn response(status: u32, fill: impl FnOnce(Writer) -> Writer) -> Vec<u8> {
        let item = Writer::default().structure(BATCH_ITEM, |item| fill(item.enumeration(RESULT_STATUS, status)));
        item.into_bytes().to_vec()
    }

    fn located(more: impl FnOnce(Writer) -> Writer) -> Vec<u8> {
        response(SUCCESS, |item| {
            item.structure(RESPONSE_PAYLOAD, |payload| {
                let ids = payload.text(UNIQUE_IDENTIFIER, "1").text(UNIQUE_IDENTIFIER, "a-2");
                more(ids.text(UNIQUE_IDENTIFIER, "1"))
            })
        })
    }

    #[test]
    fn every_identifier_is_found_once() {
        assert_eq!(identifiers(&located(|payload| payload)).unwrap(), ["1", "a-2"]);
        assert!(identifiers(&response(SUCCESS, |item| item)).unwrap().is_empty());
        assert_eq!(identifiers(&located(|payload| payload.integer(LOCATED_ITEMS, 2))).unwrap(), ["1", "a-2"]);
        let part = identifiers(&located(|payload| payload.integer(LOCATED_ITEMS, 3)));
        assert_eq!(part, Err(Fault::PartOfList { named: 2, located: 3 }));
    }

    /// The answer about the object "1", with a name and, if not 0, a state.
    fn described(state: u32) -> Vec<u8> {
        let name = |value: Writer| value.text(NAME_VALUE, "INNODBKey-u-1");
        response(SUCCESS, |item| {
            item.structure(RESPONSE_PAYLOAD, |payload| {
                let payload = payload.text(UNIQUE_IDENTIFIER, "1").structure(ATTRIBUTE, |attribute| {
                    attribute.text(ATTRIBUTE_NAME, NAME).structure(ATTRIBUTE_VALUE, name)
                });
                match state {
                    0 => payload,
                    state => payload.structure(ATTRIBUTE, |attribute| {
                        attribute.text(ATTRIBUTE_NAME, STATE).enumeration(ATTRIBUTE_VALUE, state)
                    }),
                }
            })
        })
    }

    #[test]
    fn the_state_of_a_key_is_known() {
        let states = [
            (0, KeyState::Usable),
            (1, KeyState::Usable),
            (2, KeyState::Usable),
            (3, KeyState::Usable),
            (4, KeyState::Compromised),
            (5, KeyState::Destroyed),
            (6, KeyState::Destroyed),
        ];
        for (number, state) in states {
            let expected = ObjectInfo { name: Some("INNODBKey-u-1".to_owned()), state };
            assert_eq!(info(&described(number), "1"), Ok(expected), "{number}");
        }
        assert_eq!(info(&located(|payload| payload), "1"), Ok(ObjectInfo::default()));
    }

    /// The answer with a raw key, for the object "1".
    fn with_key(bytes: &[u8]) -> Vec<u8> {
        let key = |block: Writer| {
            let value = |value: Writer| value.bytes(KEY_MATERIAL, bytes);
            block.enumeration(KEY_FORMAT_TYPE, RAW).structure(KEY_VALUE, value)
        };
        response(SUCCESS, |item| {
            item.structure(RESPONSE_PAYLOAD, |payload| {
                let payload = payload.text(UNIQUE_IDENTIFIER, "1");
                payload.structure(SYMMETRIC_KEY, |object| object.structure(KEY_BLOCK, key))
            })
        })
    }

    #[test]
    fn an_answer_about_another_object_is_refused() {
        assert_eq!(key(&with_key(&[7; 32]), "1").unwrap(), [7; 32]);
        assert_eq!(key(&with_key(&[7; 32]), "2"), Err(Fault::OtherObject));
        assert_eq!(info(&described(2), "2"), Err(Fault::OtherObject));
        assert_eq!(key(&located(|payload| payload), "1"), Err(Fault::NotKmip));
    }

    #[test]
    fn a_refusal_is_reported_with_the_words_of_the_service() {
        let refused = response(1, |item| item.enumeration(RESULT_REASON, 12).text(RESULT_MESSAGE, "no permission"));
        let expected = Fault::KmipRefused { reason: 12, message: "no permission".to_owned() };
        assert_eq!(identifiers(&refused), Err(expected.clone()));
        assert_eq!(expected.to_string(), "the service refuses it: no permission (reason 12)");
        assert_eq!(identifiers(b""), Err(Fault::NotKmip));
        let silent = identifiers(&response(2, |item| item)).unwrap_err();
        assert_eq!(silent.to_string(), "the service refuses it (reason 0)");
    }
}
