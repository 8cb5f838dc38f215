//! Requests to a store in parallel, because each takes the time of a round trip.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

/// Number of requests at a time.
const REQUESTS: usize = 32;

/// Calls `request` for each item, in several threads, and `done` in this one with the item's index and the result, in
/// the order in which they end.
///
/// # Errors
/// The first error of `done`; the rest is left.
pub(crate) fn each<I: Sync, T: Send, E>(
    items: &[I],
    request: &(dyn Fn(&I) -> T + Sync),
    done: &mut dyn FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let (next, (sender, receiver)) = (AtomicUsize::new(0), mpsc::channel());
    thread::scope(|scope| {
        for _ in 0..REQUESTS.min(items.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    // After an error, nobody receives.
                    if sender.send((index, request(item))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        receiver.into_iter().try_for_each(|(index, result)| done(index, result))
    })
}

/// Calls `request` for each item, in several threads; returns the results in the order of the items.
pub(crate) fn all<I: Sync, T: Send>(items: &[I], request: &(dyn Fn(&I) -> T + Sync)) -> Vec<T> {
    let mut results = BTreeMap::new();
    let Ok(()) = each::<_, _, Infallible>(items, request, &mut |index, result| {
        results.insert(index, result);
        Ok(())
    });
    results.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_requested_once_and_an_error_ends_it() {
        let items: Vec<usize> = (0..1000).collect();
        let requested = AtomicUsize::new(0);
        let request = |item: &usize| {
            requested.fetch_add(1, Ordering::Relaxed);
            item * 2
        };
        assert_eq!(all(&items, &request), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert_eq!(requested.load(Ordering::Relaxed), items.len());

        let mut done = 0;
        let ended = each(&items, &request, &mut |_, _| {
            done += 1;
            Err("gone")
        });
        assert_eq!((ended, done), (Err("gone"), 1));
        assert!(all(&[] as &[usize], &request).is_empty());
    }
}
