//! Images of the user are stored once. The item for the model contains the data, and the event after it names the place
//! in that item.

use codex_protocol::{ContentItem, EventMsg, ResponseItem, RolloutItem, UserMessageEvent};

/// The name of an image in an event: this, and the number of the image in the message.
const NAME: &str = "message-image:";

/// Shorter URLs are stored twice: they are links.
const NAMED_FROM: usize = 256;

/// An event with names in place of the images that the message before it contains; none if there are none.
#[must_use]
pub fn name_images(event: &UserMessageEvent, message: &ResponseItem) -> Option<UserMessageEvent> {
    let place = |image: &String| {
        let place = images_of(message).position(|own| own == image);
        place.filter(|_| image.len() >= NAMED_FROM)
    };
    let images = event.images.as_ref()?;
    let places: Vec<_> = images.iter().map(place).collect();
    if places.iter().all(Option::is_none) {
        return None;
    }
    let name = |(place, image): (Option<usize>, &String)| match place {
        Some(place) => format!("{NAME}{place}"),
        None => image.clone(),
    };
    let names = places.into_iter().zip(images).map(name).collect();
    Some(UserMessageEvent {
        images: Some(names),
        ..event.clone()
    })
}

/// Gives the events among all items of a thread the images that they name.
pub(crate) fn restore_all(items: &mut [RolloutItem]) {
    for at in 0..items.len() {
        let (before, rest) = items.split_at_mut(at);
        let Some(event) = rest.first_mut().and_then(naming) else {
            continue;
        };
        let message = before.iter().rev().find_map(|item| match item {
            RolloutItem::ResponseItem(message) => has_images(message).then_some(message),
            _ => None,
        });
        if let Some(message) = message {
            restore_from(event, message);
        }
    }
}

/// The event, if it names images.
pub(crate) fn naming(item: &mut RolloutItem) -> Option<&mut UserMessageEvent> {
    let RolloutItem::EventMsg(EventMsg::UserMessage(event)) = item else {
        return None;
    };
    let mut images = event.images.iter().flatten();
    images
        .any(|image| place_of(image).is_some())
        .then_some(event)
}

pub(crate) fn restore_from(event: &mut UserMessageEvent, message: &ResponseItem) {
    for image in event.images.iter_mut().flatten() {
        let own = place_of(image).and_then(|place| images_of(message).nth(place));
        if let Some(own) = own {
            own.clone_into(image);
        }
    }
}

fn place_of(image: &str) -> Option<usize> {
    image.strip_prefix(NAME)?.parse().ok()
}

pub(crate) fn has_images(message: &ResponseItem) -> bool {
    images_of(message).next().is_some()
}

fn images_of(message: &ResponseItem) -> impl Iterator<Item = &str> {
    let content = match message {
        ResponseItem::Message { content, .. } => content.as_slice(),
        _ => &[],
    };
    content.iter().filter_map(|part| match part {
        ContentItem::InputImage { image_url, .. } => Some(image_url.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(images: &[&str]) -> ResponseItem {
        let images: Vec<_> = images
            .iter()
            .map(|url| serde_json::json!({ "type": "input_image", "image_url": url }))
            .collect();
        let message = serde_json::json!({ "type": "message", "role": "user", "content": images });
        serde_json::from_value(message).unwrap()
    }

    fn event(images: &[&str]) -> UserMessageEvent {
        UserMessageEvent {
            images: Some(images.iter().map(|&url| url.to_owned()).collect()),
            ..UserMessageEvent::default()
        }
    }

    #[test]
    fn only_long_urls_that_the_message_has_are_named() {
        let (one, two) = ("1".repeat(NAMED_FROM), "2".repeat(NAMED_FROM));
        let given = event(&[&two, "link", &one, &two]);
        let recorded = message(&[&one, "link", &two]);
        let named = name_images(&given, &recorded).unwrap();
        assert_eq!(
            named,
            event(&[
                "message-image:2",
                "link",
                "message-image:0",
                "message-image:2"
            ])
        );
        assert_eq!(name_images(&event(&["link"]), &recorded), None);
        // The model gets another image, for example a smaller one.
        assert_eq!(name_images(&event(&[&two]), &message(&[&one])), None);
        let mut items = [
            RolloutItem::ResponseItem(recorded),
            RolloutItem::ResponseItem(message(&[])),
            RolloutItem::EventMsg(EventMsg::UserMessage(named)),
        ];
        restore_all(&mut items);
        assert_eq!(
            items[2],
            RolloutItem::EventMsg(EventMsg::UserMessage(given))
        );
    }

    #[test]
    fn a_name_without_its_message_stays() {
        let named = event(&["message-image:0"]);
        let mut items = [RolloutItem::EventMsg(EventMsg::UserMessage(named.clone()))];
        restore_all(&mut items);
        assert_eq!(
            items[0],
            RolloutItem::EventMsg(EventMsg::UserMessage(named))
        );
    }
}
